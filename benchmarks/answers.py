"""How good the answers without a model are: gold inside the quotes, right places, right refusals.

    python -m benchmarks.answers DIR... [--sample N] [--embedder local|hash|none] [--data DIR]

Each DIR is a folder as benchmarks/collection.py describes; questions may also have ``answers`` and
``unanswerable`` or ``answerability``. Everything goes through the product: chunking, the index in a
data folder of its own, search, ``extractive_answer``. Questions that lean on a conversation are
left out. Columns, each a share of the questions it applies to:

- ``gold``: a gold answer stands inside the cited quotes, the first five of at most 600 characters;
- ``lead``: a gold answer stands in the first sentence of the answer;
- ``place``: a cited quote is from a judged document (page);
- ``wrong_refusals``: answerable questions that were refused;
- ``adversarial``: questions written to look answerable, refused;
- ``off_corpus``: questions of the other DIRs asked of this corpus, refused (needs two DIRs).

squad2 and the xquad sets share articles: never take one of them as the other's off-corpus set.

The constants in services/evidence.py and services/confidence.py were learned on squad2, xquad-de
and tatqa-dev (300, 250, 90 questions) and their pairs, 80 of xquad-de on xquad-en and the reverse
(two languages). Other questions of these sets, financebench and mtrag-un took no part.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.collection import Collection, load
from services import embeddings
from services.answers import extractive_answer
from services.embeddings import Embedder, get_embedder
from services.models import Answer
from services.search import Mode, search

PASSAGES = 12
QUOTES, QUOTE_CHARS = 5, 600


def ask(held: Collection, query: dict[str, Any], embedder: Embedder | None) -> tuple[Answer, float]:
    """The answer from ``held`` and the milliseconds that answering took, search apart."""
    mode: Mode = "hybrid" if embedder else "text"
    result = search(
        held.workspace, query["text"], k=PASSAGES, mode=mode, source_ids=held.scope(query)
    )
    began = time.perf_counter()
    answer = extractive_answer(query["text"], result, embedder)
    return answer, (time.perf_counter() - began) * 1000


def normal(text: str) -> str:
    return " ".join(re.sub(r"[^\w%$€.,]+", " ", text.lower()).split()).strip(" .,")


def holds_gold(answer: Answer, golds: Iterable[str]) -> bool:
    quotes = [normal(c.quote[:QUOTE_CHARS]) for c in answer.citations[:QUOTES]]
    return any(gold and gold in quote for gold in map(normal, golds) for quote in quotes)


def leads_with_gold(answer: Answer, golds: Iterable[str]) -> bool:
    first = normal(answer.claims[0].text) if answer.claims else ""
    return any(gold and gold in first for gold in map(normal, golds))


def cites_place(held: Collection, answer: Answer, judged: dict[str, int]) -> bool:
    for citation in answer.citations[:QUOTES]:
        name = held.places[citation.source_id]
        pages = range(citation.page or 0, (citation.page_end or citation.page or 0) + 1)
        if name in judged or any(f"{name}#p{page}" in judged for page in pages):
            return True
    return False


def is_unanswerable(query: dict[str, Any]) -> bool:
    return bool(query.get("unanswerable")) or query.get("answerability") == "UNANSWERABLE"


def measure(
    held: Collection, others: list[Collection], sample: int, embedder: Embedder | None
) -> dict[str, Any]:
    """One row of the table."""
    chosen = random.Random(7)
    alone = [q for q in held.queries if not q.get("history")]
    good = [q for q in alone if held.grades.get(q["id"]) and not is_unanswerable(q)]
    traps = [q for q in alone if is_unanswerable(q)]
    strange = [
        {"text": q["text"]}
        for other in others
        for q in other.queries
        if not is_unanswerable(q) and not q.get("history")
    ]
    for questions in (good, traps, strange):
        chosen.shuffle(questions)
    answers = [(q, *ask(held, q, embedder)) for q in good[:sample]]
    refused = [not answer.grounded for _, answer, _ in answers]
    gold = [holds_gold(answer, q["answers"]) for q, answer, _ in answers if q.get("answers")]
    lead = [leads_with_gold(answer, q["answers"]) for q, answer, _ in answers if q.get("answers")]
    place = [cites_place(held, answer, held.grades[q["id"]]) for q, answer, _ in answers]
    trapped = [not ask(held, q, embedder)[0].grounded for q in traps[:sample]]
    off = [not ask(held, q, embedder)[0].grounded for q in strange[:sample]]
    given = [answer for _, answer, _ in answers if answer.grounded]
    times = sorted(taken for _, _, taken in answers)
    return {
        "set": held.name,
        "questions": len(answers),
        "gold": share(gold),
        "lead": share(lead),
        "place": share(place),
        "wrong_refusals": share(refused),
        "adversarial": share(trapped),
        "off_corpus": share(off),
        "sentences": share([len(answer.claims) for answer in given]),
        "quotes": share([len(answer.citations) for answer in given]),
        "quoted_chars": share([sum(len(c.quote) for c in a.citations) for a in given]),
        "ms_p50": statistics.median(times) if times else None,
        "ms_p95": times[int(0.95 * (len(times) - 1))] if times else None,
    }


def share(values: list[bool] | list[int]) -> float | None:
    return round(statistics.fmean(values), 3) if values else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--sample", type=int, default=200, help="questions of each kind a set")
    parser.add_argument("--embedder", choices=("local", "hash", "none"), default="local")
    parser.add_argument("--data", type=Path, help="keep the indexed sets in this folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ["HALO_EMBEDDER"] = "local" if options.embedder == "local" else "hash"
    with report.data_folder(options.data):
        if options.embedder == "local":
            embeddings.prepare()
        embedder = None if options.embedder == "none" else get_embedder()
        sets = []
        for folder in options.folders:
            sets.append(load(folder))
            print(f"{folder.name}: indexed", file=sys.stderr, flush=True)
        rows = []
        for held in sets:
            others = [other for other in sets if other is not held]
            rows.append(measure(held, others, options.sample, embedder))
            print(f"{held.name}: asked", file=sys.stderr, flush=True)
    report.table("Answers without a language model", rows, as_json=options.json)


if __name__ == "__main__":
    main()
