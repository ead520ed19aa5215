"""What people type and copy is found: codes, phrases, figures with units, names, every script."""

from __future__ import annotations

import pytest

from services.search import search

from .conftest import Library

TEXTS = {
    "wells": "Well ZX-4417-B gave 63.8 mg/l nitrate in March 2024.",
    "wells2": "Well ZX-4417-A gave 36.8 mg/l nitrate in March 2023, and 63 in all.",
    "code": "Call `foo_bar.baz(limit=3)` before HALO_CACHE_DIR is read; see CVE-2024-3094.",
    "code2": "The baz of foo and the bar have a limit. The cache of the halo is a directory.",
    "weight": "The crate weighs 25 kg and is 1,250 mm long; the tank holds 3.5 m³ at 20 °C.",
    "weight2": "The crate has 52 parts; a kg costs 20 euros, and 1 250 people came.",
    "phrase": "To be or not to be, that is the question.",
    "phrase2": "Whether that question is to be asked or not is not for us to be sure of.",
    "german": "Die Krankenversicherungsbeiträge für Häuser in der Straße der Übergänge steigen.",
    "german2": "Die Beitrage des Hauses und der Kranke haben nichts miteinander zu tun.",
    "chinese": "东京都的人口在2023年增加了百分之二。",
    "japanese": "大阪の地下水の硝酸塩濃度は低い。",
    "korean": "서울의 지하수 질산염 농도는 낮다.",
    "hash": "Commit 3f786850e387550fdab836ed7e6dc881de23001b3f786850e387550fdab836ed fixed it.",
}


@pytest.fixture
def found(library: Library) -> Library:
    library.add(**TEXTS)
    return library


QUERIES = [
    ("ZX-4417-B", "wells"),
    ("zx-4417-a", "wells2"),
    ("nitrate of ZX‑4417‑B", "wells"),  # non-breaking hyphens, as copied from a page
    ("63.8 mg/l", "wells"),
    ("36.8mg/l", "wells2"),
    ("63,8 mg/l", "wells"),
    ("foo_bar.baz", "code"),
    ("HALO_CACHE_DIR", "code"),
    ("CVE-2024-3094", "code"),
    ("25 kg", "weight"),
    ("25kg", "weight"),
    ("1,250 mm", "weight"),
    ("20 °C", "weight"),
    ('"to be or not to be"', "phrase"),
    ("„that is the question“", "phrase"),
    ("Krankenversicherungsbeitrag", "german"),
    ("Krankenversicherung", "german"),
    ("STRASSE der ÜBERGÄNGE", "german"),
    ("人口增加", "chinese"),
    ("硝酸塩", "japanese"),
    ("질산염", "korean"),
    ("3f786850e387550fdab836ed7e6dc881de23001b3f786850e387550fdab836ed", "hash"),
]


def test_each_is_found_first(found: Library) -> None:
    first = {
        query: next(iter(search(found.workspace, query, k=3).hits), None) for query, _ in QUERIES
    }
    names = {
        query: hit.source_name.removesuffix(".md") if hit else "" for query, hit in first.items()
    }
    assert names == dict(QUERIES)


def test_each_is_found_by_its_words_alone(found: Library) -> None:
    """But for a part of a compound, which the vectors and the second stage find."""
    asked = {query: name for query, name in QUERIES if query != "Krankenversicherung"}
    first = {query: search(found.workspace, query, k=1, mode="text").hits for query in asked}
    names = {
        query: [hit.source_name.removesuffix(".md") for hit in hits]
        for query, hits in first.items()
    }
    assert names == {query: [name] for query, name in asked.items()}
