"""What becomes of a folder of real files, held against what people found in them.

    python -m benchmarks.cases DIR [--json]

``DIR`` holds ``expected.json``: for each file an outcome (``outcomes`` in that file says what each
means) and what must and must not be found in it, and where. Each file goes through the reader that
the product uses. The table counts outcomes by kind of file; files that are not right are named
below it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import report
from services.errors import HaloError, PasswordNeededError, UnsupportedKindError
from services.models import Block, Document
from services.reading import Reader

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PLACES = ("page", "slide", "sheet")
_SECONDS = 2.0
"""How far the time of a spoken passage may be off."""
_COUNTED = ("files", "right", "read", "locked", "refused", "unsupported")


@dataclass
class Outcome:
    """What reading a file came to: its document and those inside it, or the error."""

    document: Document | None = None
    inside: list[Document] = field(default_factory=list)
    error: HaloError | None = None

    @property
    def name(self) -> str:
        """In one word: read, locked, unsupported or refused."""
        if self.document is not None:
            return "read"
        if isinstance(self.error, PasswordNeededError):
            return "locked"
        return "unsupported" if isinstance(self.error, UnsupportedKindError) else "refused"


def cases(folder: Path) -> list[dict[str, Any]]:
    """The cases of a folder, as ``expected.json`` lists them."""
    listed: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = listed["files"]
    return found


def read(reader: Reader, path: Path, password: str | None = None, name: str = "") -> Outcome:
    """Read a file and the files inside it, as adding it would."""
    with tempfile.TemporaryDirectory() as place:
        unpacked = Path(place) / "unpacked"
        unpacked.mkdir()
        outcome = Outcome()
        try:
            outcome.document = reader.read(
                path, name or path.name, out=Path(place) / "out", password=password
            )
        except HaloError as error:
            outcome.error = error
        if outcome.document is None or not outcome.document.report.attachments:
            return outcome
        try:
            found = reader.extract(path, path.name, folder=unpacked, password=password)
        except HaloError:
            return outcome
        for one in found:
            inner = read(reader, unpacked / one["file"], name=one["name"]) if one["file"] else None
            if inner and inner.document:
                outcome.inside += [inner.document, *inner.inside]
        return outcome


def faults(case: dict[str, Any], folder: Path, reader: Reader) -> tuple[Outcome, list[str]]:
    """How a case came out and what is wrong with that; nothing in the best case."""
    path, wanted = folder / case["file"], case["expect"]
    outcome = read(reader, path)
    expected = wanted["outcome"]
    if expected == "needs_password":
        if outcome.name != "locked":
            return outcome, [f"{outcome.name}, not locked"]
        if not case.get("password"):
            return outcome, []
        opened = read(reader, path, case["password"])
        return outcome, _wrong(opened, wanted)
    if expected in ("unreadable", "empty", "no_speech"):
        return outcome, [] if _told(outcome) else [f"{outcome.name}, not refused in words"]
    may_refuse = expected in ("text_or_refuse", "unreadable_or_partial", "no_crash")
    if outcome.name != "read" and may_refuse:
        return outcome, [] if _told(outcome) else ["refused without a sentence"]
    return outcome, _wrong(outcome, wanted)


def _told(outcome: Outcome) -> bool:
    return outcome.error is not None and outcome.error.code not in ("parser_crashed", "error")


def _wrong(outcome: Outcome, wanted: dict[str, Any]) -> list[str]:
    if outcome.document is None:
        return [f"{outcome.name}: {outcome.error}"]
    return list(_misses(_Found(outcome, spoken="casefold" in wanted.get("compare", "")), wanted))


class _Found:
    """The text that was read, whole and by place, in the form in which it is compared."""

    def __init__(self, outcome: Outcome, *, spoken: bool) -> None:
        assert outcome.document is not None
        self.document = outcome.document
        self.blocks = [b for one in (outcome.document, *outcome.inside) for b in one.blocks]
        self.spoken = spoken
        self.raw = unicodedata.normalize("NFKC", self._joined(self.blocks))
        self.text = self.plain(self.raw)

    def plain(self, text: object) -> str:
        """Compatible characters, no invisible ones, single blanks; of speech the words alone."""
        plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", str(text)))
        if self.spoken:
            plain = re.sub(r"[^\w\s]|_", " ", plain).casefold()
        return " ".join(plain.split())

    def at(self, key: str, place: Any) -> str:
        """The text on a page, slide or sheet."""
        return self.plain(self._joined([b for b in self.blocks if getattr(b, key) == place]))

    def holds(self, wanted: object, where: str, *, whole: bool = False) -> bool:
        text = self.plain(wanted)
        if whole:
            return bool(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", where))
        return text in where or (
            bool(_CJK.search(text)) and text.replace(" ", "") in where.replace(" ", "")
        )

    @staticmethod
    def _joined(blocks: list[Block]) -> str:
        return "\n".join(block.text for block in blocks)


def _misses(found: _Found, wanted: dict[str, Any]) -> Iterator[str]:
    """Everything that is not as the case wants it, each in a few words."""
    blocks, document = found.blocks, found.document
    for key, count in wanted.get("units", {}).items():
        if key in ("pages", "slides", "sheets") and document.units.get(key) != count:
            yield f"{document.units.get(key)} {key}, not {count}"
    for one in wanted.get("must", []):
        key = next((key for key in _PLACES if key in one), None)
        where = found.at(key, one[key]) if key else found.text
        if not found.holds(one["text"], where, whole=bool(one.get("whole_word"))):
            yield f"missing{f' on {key} {one[key]}' if key else ''}: {one['text'][:60]!r}"
    for one in wanted.get("must_not", []):
        text = unicodedata.normalize("NFKC", one if isinstance(one, str) else one["text"])
        if text in found.raw:
            yield f"must not appear: {text[:60]!r}"
    for one in wanted.get("order", []):
        places = [found.text.find(found.plain(text)) for text in one]
        if -1 not in places and places != sorted(places):
            yield f"not in this order: {one}"
    for row in wanted.get("table_rows", []):
        if not any(all(found.holds(c, found.plain(b.text)) for c in row) for b in blocks):
            yield f"no block holds the row {row}"
    for one in wanted.get("cells", []):
        text = found.at("sheet", one.get("sheet"))
        if one.get("sheet") and not found.holds(one["value"], f"{text} {text.replace(',', '')}"):
            yield f"missing in {one['sheet']}!{one.get('cell')}: {one['value']!r}"
    for text, most in wanted.get("max_count", {}).items():
        if (count := found.text.count(found.plain(text))) > most:
            yield f"{text!r} {count} times, not {most}"
    named = f"{document.report.attachments} {found.raw}"
    for name in wanted.get("attachments", []):
        if name not in named:
            yield f"attachment not named: {name}"
    for text in (
        *wanted.get("attachment_text", {}).values(),
        *wanted.get("chart_text", []),
        *wanted.get("headers", {}).values(),
        *wanted.get("fields", {}).values(),
    ):
        if not found.holds(text, found.text):
            yield f"missing: {text[:60]!r}"
    for block in blocks if wanted.get("page_labels") else ():
        label = wanted["page_labels"][block.page - 1] if block.page else None
        if label and block.page_label != label:
            yield f"page {block.page} is labelled {block.page_label}, not {label}"
    for text, seconds in wanted.get("time", {}).items():
        times = [
            [
                at
                for start, at in block.timed()
                if found.plain(text) in found.plain(block.text[start:])
            ]
            for block in blocks
        ]  # of each block, when its sentences begin, up to the one that holds the text
        if not any(before and abs(before[-1] - seconds) <= _SECONDS for before in times):
            yield f"{text!r} at {times}, not {seconds} s"


def measured(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of the table (kind, files, right, and how many came out how), and what is wrong."""
    rows: dict[str, dict[str, Any]] = {}
    wrong: list[str] = []
    with Reader() as reader:
        for case in cases(folder):
            outcome, found = faults(case, folder, reader)
            kind = case["file"].partition("/")[0]
            row = rows.setdefault(kind, {"kind": kind, **dict.fromkeys(_COUNTED, 0)})
            row["files"] += 1
            row["right"] += not found
            row[outcome.name] += 1
            if found:
                wrong.append(f"{case['file']} ({case['expect']['outcome']}): {'; '.join(found)}")
    total = {name: sum(row[name] for row in rows.values()) for name in _COUNTED}
    return [*rows.values(), {"kind": "all", **total}], wrong


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cases")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows, wrong = measured(options.folder)
    report.table("Outcomes by kind of file", rows, as_json=options.json)
    for line in wrong:
        print(f"not right: {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
