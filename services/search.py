"""Search in the committed passages of a notebook.

The scope is settled before the query: which revisions sources.json names for the included sources.
Rows of other revisions (half written, replaced, deleted) may still lie in the table; they are
dropped and the search is topped up. When the committed set changed while the search ran it is
repeated once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from services.committed import Committed, committed
from services.embeddings import Embedder, Identity, get_embedder, prepared
from services.errors import EmbedderError, EmptyQuestionError, StorageError
from services.lance import Row, Scope, VectorTable, open_table
from services.mentions import raise_named
from services.models import Finding, Hit, SearchResult, Source
from services.ranking import (
    Ranked,
    exact_terms,
    fuse,
    holds,
    spellings,
    with_other_figures,
    without_stop_words,
)
from services.rerank import rerank
from services.rerank.light import reorder
from services.spread import only_in, spread
from services.workspace import Workspace

Mode = Literal["hybrid", "vector", "text"]
CANDIDATES = 10
"""How many candidates a search ranks per passage asked for."""
COMPARED = (50, 200)
"""So many candidates, ten for each passage asked for within these bounds, reach the second stage
(but never fewer than were asked for)."""
LONGEST_QUERY = 2_000
"""Characters of a query that are looked at; a pasted page is not a question."""


def search(
    workspace: Workspace,
    query: str,
    *,
    k: int = 10,
    mode: Mode = "hybrid",
    source_ids: Sequence[str] | None = None,
    every_source: bool = False,
) -> SearchResult:
    """The best ``k`` passages for ``query`` among the answerable sources (None: all of them).

    A query may confine itself to sources by their names ("only in X", "@X"). With ``every_source``
    each one's best passage goes before another's second (services/spread.py).

    Raises EmptyQuestionError, StorageError. A dead embedder is no error: the full text answers
    and ``notices`` says so.
    """
    whole = " ".join(query.encode("utf-8", "ignore").decode().split())
    words = whole[:LONGEST_QUERY]
    if not words:
        raise EmptyQuestionError("The question is empty.", step="Type what to look for.")
    for attempt in (1, 2):
        everything = committed(workspace)
        included = everything if source_ids is None else everything.some(source_ids)
        named, asked = only_in(words, included.sources)
        if named:
            included = included.some(source.id for source in named)
        result, found = _search_once(workspace, asked or words, k, mode, included, everything)
        now_committed = committed(workspace).revisions
        if attempt == 2 or all(item.row.revision in now_committed for item in found):
            break
    if len(whole) > LONGEST_QUERY:
        result.notices.append(
            Finding(
                code="question_cut",
                message=f"Only the first {LONGEST_QUERY:,} characters of the question were used.",
                params={"n": LONGEST_QUERY},
            )
        )
    if named:
        names = ", ".join(source.name for source in named)
        result.notices.append(
            Finding(code="only_in", message=f"Looked only in: {names}.", params={"names": names})
        )
    live = [item for item in found if item.row.revision in now_committed]
    live = spread(live, k, every_source=every_source)
    result.hits = [_hit(item, included.by_id[item.row.source_id]) for item in live]
    return result


def _search_once(
    workspace: Workspace,
    words: str,
    k: int,
    mode: Mode,
    included: Committed,
    everything: Committed,
) -> tuple[SearchResult, list[Ranked]]:
    result = SearchResult(query=words, mode=mode)
    found: list[Ranked] = []
    missing = 0
    for name, inside in included.by_table.items():
        table = open_table(workspace.vector_uri, name)
        in_table = (
            []
            if table is None
            else _search_table(
                table, words, k, inside, everything.by_table[name].scope(inside), result
            )
        )
        missing += table is None or not (in_table or table.count())
        found += in_table
    if missing and missing == len(included.by_table):
        raise StorageError(
            "The index of these sources is missing, so nothing could be looked at.",
            code="index_missing",
            step="Run “halo doctor --repair”; it builds the index again from the stored sources.",
        )
    if missing:
        result.notices.append(
            Finding(
                code="index_missing",
                message="The index of some sources is missing. Run “halo doctor --repair”.",
            )
        )
    found = raise_named(found, included.sources)
    if mode == "hybrid":
        depth = _compared(k)
        first = rerank(words, found[:depth], included.by_id, result.notices)
        found = [*first, *found[depth:]]
    return result, found


def _search_table(
    table: VectorTable,
    words: str,
    k: int,
    inside: Committed,
    scope: Scope,
    result: SearchResult,
) -> list[Ranked]:
    live = inside.revisions
    pool = max(k * CANDIDATES, 50)
    embedder = _usable_embedder(table.identity, inside, result)
    if embedder is None:
        result.mode = "text"
    asked = with_other_figures(without_stop_words(words))
    by_text: list[Row] = []
    by_vector: list[Row] = []
    vector = None
    if embedder is not None:
        try:
            vector = embedder.embed_query(words)
        except EmbedderError as error:
            result.mode = "text"
            result.notices.append(_text_only(str(error)))
    if vector is not None and result.mode == "hybrid":
        by_text, by_vector = table.search_both(asked, vector, pool, scope)
        if _short_of(by_text, live, pool) or _short_of(by_vector, live, pool):
            by_text = _topped_up(lambda n: table.search_text(asked, n, scope), live, pool)
            by_vector = _topped_up(lambda n: table.search_vector(vector, n, scope), live, pool)
    elif vector is not None:
        by_vector = _topped_up(lambda n: table.search_vector(vector, n, scope), live, pool)
    else:
        by_text = _topped_up(lambda n: table.search_text(asked, n, scope), live, pool)
    exact = _exact(table, words, pool, scope) if result.mode != "vector" else []
    ranked = fuse(
        [row for row in by_text if row.revision in live],
        [row for row in by_vector if row.revision in live],
        [row for row in exact if row.revision in live],
        table.identity,
        without_vector=inside.without_vectors,
    )
    if result.mode != "hybrid":
        return ranked
    return reorder(words, ranked, _compared(k), table.identity)


def _compared(k: int) -> int:
    """How many candidates the second stage looks at when ``k`` passages are asked for."""
    least, most = COMPARED
    return max(k, min(max(k * CANDIDATES, least), most))


def _short_of(rows: list[Row], live: frozenset[str], wanted: int) -> bool:
    """True when dead rows took places of a full answer."""
    return len(rows) >= wanted and sum(row.revision in live for row in rows) < wanted // 2


def _topped_up(fetch: Callable[[int], list[Row]], live: frozenset[str], wanted: int) -> list[Row]:
    """Rows of live revisions: asks for more while dead rows fill half of the answer."""
    for limit in (wanted, wanted * 4, wanted * 16, wanted * 64):
        rows = fetch(limit)
        alive = [row for row in rows if row.revision in live]
        if len(rows) < limit or len(alive) >= wanted // 2:
            break
    return alive


def _exact(table: VectorTable, words: str, pool: int, scope: Scope) -> list[Row]:
    """Passages that hold the query's identifiers and quoted phrases verbatim.

    Those that hold all of them, or where there are none, those that hold the longest.
    """
    terms = exact_terms(words)
    if not terms:
        return []
    found: dict[str, tuple[Row, int]] = {}
    for term in terms[:5]:
        for spelling in spellings(term):
            for row in table.search_text(spelling, pool, scope, phrase=True):
                if row.chunk_id not in found:
                    found[row.chunk_id] = (row, sum(holds(row, other) for other in terms))
    most = max((count for _, count in found.values()), default=0)
    return [row for row, count in found.values() if count == most and count > 0]


def _usable_embedder(
    identity: Identity, inside: Committed, result: SearchResult
) -> Embedder | None:
    if result.mode == "text" or not inside.has_vectors:
        return None
    if identity.provider == "local" and not prepared():
        result.notices.append(_text_only("The local embedder is still being prepared."))
        return None
    try:
        return get_embedder(identity)
    except EmbedderError as error:
        result.notices.append(_text_only(str(error)))
        return None


def _text_only(reason: str) -> Finding:
    return Finding(
        code="text_only",
        message=f"Searched by full text only. {reason}",
        params={"reason": reason},
    )


def _hit(item: Ranked, source: Source) -> Hit:
    row = item.row
    return Hit(
        source_id=row.source_id,
        source_name=source.name,
        revision=row.revision,
        chunk_id=row.chunk_id,
        score=round(item.score, 6),
        cosine=item.cosine,
        text_score=item.text_score,
        exact=item.exact,
        chunk=row.chunk,
    )
