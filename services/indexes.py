"""Which indexes a table has, how they are made, and how the vector index is asked.

Text, revisions and chunk ids are indexed from the first row on. Vectors are compared one by one up
to ``EXACT_SCAN_ROWS``; above, an IVF_RQ index narrows the choice and exact distances decide
(decision 9 has the measurements). The index's name says for how many vectors it was made: when
there are many more, a new one is made beside it and takes its place, and searches never wait.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

EXACT_SCAN_ROWS = 20_000
"""Up to this many vectors, or rows that a filter leaves, vectors are compared one by one."""
GROWN = 4
"""A vector index is made anew for so many times the vectors it was made for."""
PROBES = 40
"""Groups of near vectors that are looked into,"""
REFINE = 3
"""and how many times the wanted number is compared exactly."""
_VECTOR = "vector_"


@dataclass(frozen=True)
class Making:
    """An index to be made: its column, configuration and name."""

    column: str
    config: Any
    name: str


def missing(table: Any) -> Iterator[Making]:
    """The indexes every table has and this one lacks."""
    from lancedb.index import FTS, BTree

    have = {index.name for index in table.list_indices()}
    text = FTS(
        base_tokenizer="icu/split",
        language="English",
        stem=True,
        remove_stop_words=False,
        ascii_folding=True,
        with_position=True,
        max_token_length=100,
    )
    for column, config in (("search_text", text), ("revision", BTree()), ("chunk_id", BTree())):
        if (name := f"{column}_idx") not in have:
            yield Making(column, config, name)


def outgrown(table: Any) -> Making | None:
    """The vector index that pays now, where there is none or one for far fewer vectors."""
    sizes = [name.removeprefix(_VECTOR) for name in vector_names(table)]
    made_for = max((int(size) for size in sizes if size.isdigit()), default=0)
    if table.count_rows() <= max(EXACT_SCAN_ROWS, GROWN * made_for):
        return None
    vectors = table.count_rows("vector IS NOT NULL")
    if vectors <= max(EXACT_SCAN_ROWS, GROWN * made_for):
        return None
    from lancedb.index import IvfRq

    config = IvfRq(distance_type="cosine", num_partitions=round(math.sqrt(vectors)))
    return Making("vector", config, f"{_VECTOR}{vectors}")


def vector_names(table: Any) -> list[str]:
    """Names of the vector indexes; two while one takes the place of the other."""
    return [index.name for index in table.list_indices() if index.columns == ["vector"]]


def outside(table: Any) -> int:
    """Rows that are not in the text index yet: found all the same, but slowly."""
    counts = [i.num_unindexed_rows for i in table.list_indices() if i.columns == ["search_text"]]
    return int(counts[0] or 0) if counts else 0


def tuned(query: Any, rows: int | None) -> Any:
    """A vector query with the effort that its filter needs; ``rows``: how many the filter leaves,
    None without one.

    Few rows are compared one by one: an index that was built for all of them finds too few of
    those that are left.
    """
    if rows is not None and rows <= EXACT_SCAN_ROWS:
        return query.bypass_vector_index()
    return query.nprobes(PROBES).refine_factor(REFINE)
