"""The things HALO keeps, as pydantic models: sources, documents, conversations, notes.

Every model that is stored keeps keys it does not know, so a file written by a later version
survives a round trip through this one.
"""

from __future__ import annotations

import bisect
import datetime as dt
import uuid
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SourceStatus = Literal[
    "queued",
    "reading",
    "text_ready",
    "ready",
    "failed",
    "needs_password",
    "duplicate",
    "cancelled",
]
Support = Literal["supported", "partly", "unsupported", "unchecked"]
BlockKind = Literal["heading", "paragraph", "list", "table", "code", "caption", "note", "picture"]

ANSWERABLE: frozenset[str] = frozenset({"text_ready", "ready"})
"""Statuses in which a source can be searched and cited."""


def new_id() -> str:
    """A fresh 32-character lowercase hex id (uuid4), the form the reference system uses."""
    return uuid.uuid4().hex


def now() -> str:
    """The current time as ISO-8601 with a UTC offset."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")


class Stored(BaseModel):
    """Base of everything written to disk: unknown keys survive, assignments are checked."""

    model_config = ConfigDict(extra="allow")


class Block(BaseModel):
    """One piece of a document in reading order. It never spans two pages, slides or sheets.

    ``start`` and ``end`` are character offsets into ``Document.text``. ``page`` counts physical
    pages from 1; ``page_label`` is what is printed on the page. ``headings`` is the path of
    headings above the block, outermost first. A table that goes on over a page is one block a
    page: the later block repeats the header row and names the earlier one in ``continues``.
    Table text is one line a row, cells joined by " | ", the header row first.
    """

    model_config = ConfigDict(extra="forbid")

    id: str = ""
    kind: BlockKind = "paragraph"
    text: str
    page: int | None = None
    page_label: str | None = None
    headings: list[str] = Field(default_factory=list)
    level: int | None = None
    """Depth of a heading, 1 outermost; None for other kinds."""
    sheet: str | None = None
    slide: int | None = None
    time: float | None = None
    """Seconds from the start of a recording at which a cue or paragraph of speech begins."""
    times: list[tuple[int, float]] = Field(default_factory=list)
    """(character of ``text``, seconds) at which each utterance of the paragraph begins; empty
    where there is only ``time``."""
    row: int | None = None
    """First row of a table block in its sheet or file, counted from 1."""
    rows: list[tuple[int, int]] = Field(default_factory=list)
    """(line of ``text``, row) wherever a table's rows do not follow one another because blank ones
    were left out; empty where all do."""
    header_rows: int = 0
    """How many first lines of a table block are column heads."""
    continues: str | None = None
    start: int = 0
    end: int = 0

    def timed(self) -> list[tuple[int, float]]:
        """(character of ``text``, seconds), ascending; empty in what is no recording."""
        if self.time is None:
            return []
        return [(0, self.time), *(pair for pair in self.times if pair[0] > 0)]


class Finding(BaseModel):
    """One thing the reader of an import report should know, with its numbers.

    ``message`` is the English sentence; other languages build it from ``code`` and ``params``
    (catalogue key ``finding.<code>``).
    """

    model_config = ConfigDict(extra="allow")

    code: str
    message: str
    params: dict[str, Any] = Field(default_factory=dict)


class Transcription(Stored):
    """How the words of a recording came about."""

    by: str
    """``whisper-base`` or another local model, or ``openai:`` and a model."""
    hosted: bool = False
    """True when the sound left this computer for it."""
    language_probability: float | None = None
    """How sure the recogniser was of the language, 0..1; None where it was given."""
    speech_seconds: float = 0.0
    """How much of the recording is speech."""


HARMLESS = frozenset({"recognised", "described", "pages_read_again"})
"""Codes of findings that say how a page was read, not that something is missing or doubtful."""


class ImportReport(Stored):
    """What was read of a source and what was not; shown with it and in ``halo add --json``."""

    kind: str = ""
    """The kind found in the bytes: pdf, docx, xlsx, pptx, csv, html, markdown, text ..."""
    unit: str = ""
    """What ``units_total`` counts: page, slide, sheet, row, second ... or "" without units."""
    units_total: int = 0
    units_read: int = 0
    unread: list[int] = Field(default_factory=list)
    """Numbers of the units without readable text."""
    words: int = 0
    tables: int = 0
    pictures: int = 0
    notes: int = 0
    tracked_changes: int = 0
    hidden: list[str] = Field(default_factory=list)
    """Names of hidden sheets or numbers of hidden slides that were read all the same."""
    attachments: list[str] = Field(default_factory=list)
    encoding: str | None = None
    language: str | None = None
    ocr_pages: list[int] = Field(default_factory=list)
    """Pages whose text was recognised in their picture."""
    ocr_confidence: float | None = None
    """How sure the recogniser was of them, 0 to 1, on average over their characters."""
    transcription: Transcription | None = None
    findings: list[Finding] = Field(default_factory=list)

    def note(self, code: str, message: str, **params: Any) -> None:
        """Add a finding once."""
        finding = Finding(code=code, message=message, params=params)
        if finding not in self.findings:
            self.findings.append(finding)

    def note_changes(self, count: int) -> None:
        """Say how many tracked changes a text holds; nothing where it holds none."""
        self.tracked_changes = count
        if count:
            self.note(
                "tracked_changes",
                f"It holds {count} tracked changes: insertions were read, deletions left out.",
                count=count,
            )

    def note_hidden(self, count: int) -> None:
        """Say in how many places text was left out that the file's own program does not show."""
        if count:
            self.note(
                "hidden_text",
                f"It holds hidden text in {count} places, which was left out.",
                count=count,
            )

    @property
    def complete(self) -> bool:
        """True when every unit was read and nothing was cut or doubtful."""
        return not self.unread and all(found.code in HARMLESS for found in self.findings)


class RecognisedLine(BaseModel):
    """A line of text found in the picture of a page, and where it stands there.

    ``box`` is left, top, right, bottom as fractions (0 to 1) of the page's shown width and height,
    as if the line lay level; ``fall`` is by how much its right end lies lower than its left, a
    fraction of the height. ``turn`` counts quarter turns clockwise of its writing direction, and
    ``score`` (0 to 1) is how sure the recogniser is.
    """

    text: str
    box: tuple[float, float, float, float]
    fall: float = 0.0
    turn: int = 0
    score: float = 1.0


class Document(Stored):
    """A parsed source: what the viewer, the expander and a re-index read."""

    title: str = ""
    type_label: str = "Doc"
    kind: str = ""
    blocks: list[Block] = Field(default_factory=list)
    units: dict[str, int] = Field(default_factory=dict)
    """For example ``{"pages": 12}``; keys pages, slides, sheets, rows, columns, seconds."""
    metadata: dict[str, str] = Field(default_factory=dict)
    """author, date, language ... as stated by the file; empty when it states none."""
    recognised: dict[int, list[RecognisedLine]] = Field(default_factory=dict)
    """By page, the lines of those whose text was recognised: where its words are found again."""
    report: ImportReport = Field(default_factory=ImportReport)

    @property
    def text(self) -> str:
        """All blocks joined by a blank line; block offsets point into this."""
        return "\n\n".join(block.text for block in self.blocks)

    def time_at(self, offset: int) -> float | None:
        """Seconds into the recording at which a character of ``text`` is said."""
        block = next((block for block in self.blocks if offset < block.end), None)
        return None if block is None else _latest(block.timed(), max(offset - block.start, 0))

    def settle(self) -> Document:
        """Number the blocks and compute their offsets; parsers call this last. Returns self."""
        at = 0
        for number, block in enumerate(self.blocks):
            block.id = f"b{number}"
            block.start, block.end = at, at + len(block.text)
            at = block.end + 2
        return self


def _latest(timed: list[tuple[int, float]], at: int) -> float | None:
    """The time of the last entry at or before character ``at``, None when there is none."""
    index = bisect.bisect_right(timed, (at, float("inf"))) - 1
    return timed[index][1] if index >= 0 else None


class Chunk(BaseModel):
    """A passage as it is indexed: its text and where each piece of it comes from.

    ``piece_*`` lists run in parallel, one entry a piece (a block or part of one): where the
    piece starts in ``text``, its character offset in the document, its page (0 when the kind
    has no pages), its printed label and its block. ``time_starts`` and ``times`` run in parallel
    too: at that character of ``text`` the recording is at that second.
    """

    index: int
    text: str
    headings: list[str] = Field(default_factory=list)
    page_start: int | None = None
    page_end: int | None = None
    sheet: str | None = None
    slide: int | None = None
    char_start: int = 0
    char_end: int = 0
    block_ids: list[str] = Field(default_factory=list)
    piece_starts: list[int] = Field(default_factory=list)
    piece_chars: list[int] = Field(default_factory=list)
    piece_pages: list[int] = Field(default_factory=list)
    piece_labels: list[str] = Field(default_factory=list)
    time_starts: list[int] = Field(default_factory=list)
    times: list[float] = Field(default_factory=list)


class Fetched(Stored):
    """When and how the bytes of a link came in."""

    address: str
    """The address that sent them, after redirects."""
    at: str = Field(default_factory=now)
    etag: str = ""
    modified: str = ""
    """As the server stated them, for asking whether anything changed."""
    unchanged: str | None = None
    """When it was last asked for again and was still the same."""


class Source(Stored):
    """One row of sources.json. Reference keys first, then HALO's own; kept small on purpose:
    the import report lives with the parsed document."""

    id: str = Field(default_factory=new_id)
    name: str
    type_label: str = "Doc"
    meta: str = ""
    selected: bool = True
    created_at: str = Field(default_factory=now)

    status: SourceStatus = "queued"
    revision: str | None = None
    """The committed revision; None until the text was committed."""
    table: str | None = None
    sha256: str | None = None
    size: int = 0
    kind: str = ""
    units: dict[str, int] = Field(default_factory=dict)
    chunks: int = 0
    vectors: int = 0
    """How many of ``chunks`` have their vector; equals ``chunks`` once ready, unless the source is
    private and the embedder outside the house."""
    words: int = 0
    unread: int = 0
    """How many units have no readable text."""
    hidden: int = 0
    origin: str = "file"
    """file, text (pasted), note, link."""
    url: str | None = None
    """The address of a link; only what a user typed ever stands here."""
    fetched: Fetched | None = None
    parent: str | None = None
    """Id of the source this one was attached to; that source may be gone."""
    depth: int = 0
    """How many sources it lies inside of."""
    speech_language: str = ""
    """The language its user says is spoken in a recording; "" where they did not say."""
    private: bool = False
    """True when nothing of it may be sent to a service outside this computer and its network."""
    children: list[str] | None = None
    """Ids of the sources made of its attachments; None until it was looked for them."""
    error: dict[str, Any] | None = None

    @property
    def answerable(self) -> bool:
        return self.revision is not None and self.status in ANSWERABLE

    @property
    def obtainable(self) -> bool:
        """True when its bytes are kept or can be fetched."""
        return bool(self.sha256 or self.url)


class Quote(Stored):
    """A verbatim stretch of a source and where it stands.

    ``start`` and ``end`` are character offsets in the document's text.
    """

    source_id: str
    source_name: str
    revision: str
    chunk_id: str
    page: int | None = None
    page_end: int | None = None
    page_label: str | None = None
    sheet: str | None = None
    slide: int | None = None
    time: float | None = None
    """Seconds into the recording at which the quote begins."""
    headings: list[str] = Field(default_factory=list)
    quote: str
    start: int = 0
    end: int = 0


class Citation(Quote):
    """A numbered quote; stored inside the message that cites it."""

    number: int
    support: Support = "unchecked"


class Claim(Stored):
    """One sentence of an answer, the citations it names, and whether they hold it."""

    text: str
    citations: list[int] = Field(default_factory=list)
    support: Support = "unchecked"


class Sent(Stored):
    """A passage as it was sent to a model: its number there, and where it stands.

    ``start`` and ``end`` are character offsets in the text of the document's revision.
    """

    number: int
    source_id: str
    source_name: str
    revision: str
    page: int | None = None
    page_label: str | None = None
    start: int
    end: int


class Record(Stored):
    """How a model came to its answer."""

    url: str
    """Where it was asked."""
    hosted: bool = False
    """True when the passages left this computer and its network for it."""
    window: int = 0
    """The context window that was reckoned with, in tokens."""
    passages: list[Sent] = Field(default_factory=list)
    earlier: int = 0
    """Earlier turns that were sent along."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """What was asked for: style, length, language."""
    finish: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: dict[str, float] = Field(default_factory=dict)
    """``prepared``: until the request left; ``first``: from then to the first word; ``written``: to
    the last; ``checked``: for checking the claims."""


class Answer(Stored):
    """An answer with its evidence. ``text`` is Markdown with markers ``[n]``."""

    text: str
    grounded: bool
    answered_by: str = "extractive"
    citations: list[Citation] = Field(default_factory=list)
    claims: list[Claim] = Field(default_factory=list)
    looked_at: list[Quote] = Field(default_factory=list)
    """The passages that were considered, where the answer is not in the sources."""
    notices: list[Finding] = Field(default_factory=list)
    """What limited the answer, for example that only full text was searched."""
    record: Record | None = None
    """How it came about, where a model wrote it."""


MessageState = Literal["running", "done", "stopped", "failed", "interrupted"]


class Message(Stored):
    """One entry of chat_history/<id>.json. ``role`` and ``content`` are the reference keys."""

    role: Literal["user", "assistant"]
    content: str
    id: str = Field(default_factory=new_id)
    created_at: str = Field(default_factory=now)
    state: MessageState = "done"
    reply_to: str | None = None
    replaces: str | None = None
    """The question of which this one is another version."""
    answer: Answer | None = None
    error: dict[str, Any] | None = None
    seconds: float | None = None
    scope: list[str] | None = None
    """Ids of the sources that were included when it was asked."""


class Note(Stored):
    """One row of studio_notes.json. ``sources`` holds names, as in the reference system."""

    id: str = Field(default_factory=new_id)
    title: str = ""
    content: str
    sources: list[str] = Field(default_factory=list)
    created_at: str = Field(default_factory=now)
    updated_at: str = Field(default_factory=now)
    citations: list[Citation] = Field(default_factory=list)
    """Citations that ``[n]`` markers in the content point to."""

    @property
    def heading(self) -> str:
        """The title, or else the first line of the content."""
        first = next((line for line in self.content.splitlines() if line.strip()), "")
        return self.title or first.lstrip("# ").strip()[:120]


JobState = Literal["queued", "fetching", "reading", "embedding", "waiting"]


class Job(Stored):
    """One file of jobs/: work on a source that is queued or running.

    ``table`` is where the rows go. A job that moves a source to another embedder's table has
    ``moving`` set: its revision is committed together with those of all other sources, and until
    then the job stays, ``waiting``.
    """

    id: str = Field(default_factory=new_id)
    source_id: str
    revision: str = Field(default_factory=new_id)
    table: str = ""
    moving: bool = False
    fetch: bool = False
    """Ask for a link's page again, though its bytes are here."""
    created_at: str = Field(default_factory=now)
    state: JobState = "queued"
    done: int = 0
    total: int = 0
    fields: dict[str, Any] = Field(default_factory=dict)
    """What to set in the source's record when a waiting job is committed."""


class Hit(BaseModel):
    """One passage found by a search: the chunk with its source and scores.

    ``score`` is the fused score in 0..1, higher is better; ``cosine`` is None when only the
    full text was searched, ``text_score`` (BM25) is None when only vectors found it. ``exact`` is
    True when the passage holds an identifier or quoted phrase of the query verbatim.
    """

    source_id: str
    source_name: str
    revision: str
    chunk_id: str
    score: float
    cosine: float | None = None
    text_score: float | None = None
    exact: bool = False
    chunk: Chunk

    def place(self, at: int) -> tuple[int | None, str | None, int]:
        """Page, printed label and document offset of character ``at`` of the passage's text."""
        chunk = self.chunk
        piece = max(bisect.bisect_right(chunk.piece_starts, at) - 1, 0)
        if not chunk.piece_starts:
            return chunk.page_start, None, chunk.char_start + at
        page = chunk.piece_pages[piece] or None
        label = chunk.piece_labels[piece] or None
        return page, label, chunk.piece_chars[piece] + at - chunk.piece_starts[piece]

    def time(self, at: int) -> float | None:
        """Seconds into the recording at which character ``at`` of the passage is said."""
        pairs = zip(self.chunk.time_starts, self.chunk.times, strict=True)
        return _latest(list(pairs), at)

    def quote(self, start: int, end: int) -> Quote:
        """The characters ``start:end`` of the passage's text, not empty, as a quote."""
        page, label, first = self.place(start)
        page_end, _, last = self.place(end - 1)
        return Quote(
            source_id=self.source_id,
            source_name=self.source_name,
            revision=self.revision,
            chunk_id=self.chunk_id,
            page=page,
            page_end=page_end,
            page_label=label,
            sheet=self.chunk.sheet,
            slide=self.chunk.slide,
            time=self.time(start),
            headings=self.chunk.headings,
            quote=self.chunk.text[start:end],
            start=first,
            end=last + 1,
        )


class SearchResult(BaseModel):
    """Hits best first, the mode that really ran, and what limited the search."""

    query: str
    mode: Literal["hybrid", "vector", "text"]
    hits: list[Hit] = Field(default_factory=list)
    notices: list[Finding] = Field(default_factory=list)
