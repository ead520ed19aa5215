"""The benchmarks of scale and of peers run from end to end, on very little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import peer_runs, peers, scale, varied

DIMENSION = 24


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HALO_EMBEDDING_MODEL", f"hash-{DIMENSION}")
    monkeypatch.setattr("services.embeddings.prepare", lambda: None)
    monkeypatch.setattr("benchmarks.varied.prepare", lambda: None)
    made = tmp_path / "wells"
    made.mkdir()
    texts = [
        f"Well {n} gave nitrate. It lies at {n * 7} metres. Pump {n % 5} is old." for n in range(40)
    ]
    rows: dict[str, list[dict[str, Any]]] = {
        "corpus": [{"id": f"d{n}", "title": f"Well {n}", "text": t} for n, t in enumerate(texts)],
        "queries": [{"id": f"q{n}", "text": f"How deep  is well {n}?"} for n in range(5)],
    }
    for name, lines in rows.items():
        (made / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    judged = "".join(f"q{n}\td{n}\t1\n" for n in range(5))
    (made / "qrels.tsv").write_text(f"query_id\tdoc_id\tscore\n{judged}", encoding="utf-8")
    return made


def test_varied_passages_are_the_same_on_every_run_and_near_their_real_ones(folder: Path) -> None:
    real = varied.base(folder)
    (texts, vectors), *rest = varied.batches(real, 25, 10)
    assert [len(some) for some, _ in rest] == [10, 5]
    assert len(set(texts)) == 10
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert np.all((vectors @ real.vectors.T).max(axis=1) > 0.8)
    again, same = next(iter(varied.batches(real, 25, 10)))
    assert again == texts
    assert np.array_equal(same, vectors)


def test_scale_measures_the_products_search(folder: Path) -> None:
    found = scale.one_size(600, folder)
    assert found["loaded"]["passages"] == 600
    rows = {(row["sources"], row["mode"]): row for row in found["rows"]}
    assert set(rows) == {(sources, mode) for sources in ("all", 5) for mode in scale.MODES}
    assert rows["all", "vector"]["recall10"] == rows[5, "vector"]["recall10"] == 1.0
    assert rows["all", "text"]["recall10"] is None


def test_a_peer_gets_the_same_passages_and_is_asked_the_same(folder: Path, tmp_path: Path) -> None:
    kept = peers.given(folder, 30)
    assert peers.given(folder, 30) == kept
    found = peer_runs.measured(peers.Halo(), kept)
    assert found["passages"] == 30
    assert set(found["found"]) == {f"q{n}" for n in range(5)}
    plain = peer_runs.measured(peer_runs.Lancedb(tmp_path / "plain"), kept)
    assert plain["passages"] == 30
    assert all(plain["found"].values())
