"""A cross-encoder from a folder, run for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.errors import RerankerError
from services.rerank.cross_encoder import CrossEncoder

from .conftest import cross_encoder

TEXTS = ["rain", "nitrate in a well", "the pump and the pump", "nothing"]


@pytest.mark.parametrize("types", [True, False])
@pytest.mark.parametrize("outputs", [1, 2])
def test_scores_are_the_models_in_the_order_given(
    tmp_path: Path, outputs: int, types: bool
) -> None:
    judge = CrossEncoder(str(cross_encoder(tmp_path / "model", outputs=outputs, types=types)))
    assert judge.scores("rain", TEXTS) == [0, 1, 10, 0]
    assert judge.scores("rain", TEXTS[:1]) == [0]
    assert not judge.hosted


def test_the_layout_of_exporters_is_found(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model")
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert CrossEncoder(str(folder)).scores("rain", ["pump"]) == [5]
    (folder / "onnx" / "model.onnx").rename(folder / "model_quantized.onnx")
    assert CrossEncoder(str(folder)).scores("rain", ["pump"]) == [5]


def test_long_texts_and_long_questions_are_cut(tmp_path: Path) -> None:
    judge = CrossEncoder(str(cross_encoder(tmp_path / "model")))
    assert judge.scores("rain", ["pump " * 2000, "pump"])[1] == 5
    assert judge.scores("rain " * 2000, ["pump"]) == [5]


def test_what_is_missing_or_broken_is_a_sentence(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "model")
    cases = {
        "nowhere": tmp_path / "nowhere",
        "no model": cross_encoder(tmp_path / "no-model"),
        "no graph": cross_encoder(tmp_path / "no-graph"),
    }
    (cases["no model"] / "model.onnx").unlink()
    (cases["no graph"] / "model.onnx").write_bytes(b"not a graph")
    for place in cases.values():
        with pytest.raises(RerankerError, match="cannot be used") as caught:
            CrossEncoder(str(place)).scores("rain", TEXTS)
        assert caught.value.code == "reranker_unusable"
        assert caught.value.params["folder"] == str(place)
    assert CrossEncoder(str(folder)).scores("rain", ["pump"]) == [5]
