"""What the Studio stores."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from services.models import Citation, Claim, Stored, new_id, now

Length = Literal["short", "medium", "long"]
State = Literal["running", "done", "failed", "cancelled", "interrupted"]


class Options(Stored):
    """What a user chose for one run."""

    language: str = "en"
    """Of the headings and labels; quotes stay in the language of their source."""
    length: Length = "medium"
    focus: str = ""
    """Only what has to do with these words; "" for everything."""
    columns: list[str] = Field(default_factory=list)
    """What a table or comparison is about, where the user named it."""
    source_ids: list[str] = Field(default_factory=list)


class Used(Stored):
    """A source as it was when an output was made from it."""

    id: str
    name: str
    revision: str
    url: str | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    """author, date ... as its file states them."""


class Cell(Stored):
    """One cell of a table: its text and the number of its citation; "" is "not stated"."""

    text: str = ""
    citation: int | None = None


class Table(Stored):
    """Column heads, and as many cells a row."""

    columns: list[str]
    rows: list[list[Cell]] = Field(default_factory=list)


class Data(Stored):
    """What is more than text in a content; one of them is set, or none in a report."""

    table: Table | None = None


class Content(Stored):
    """What a writer makes: the same whether a model wrote it or not."""

    title: str
    content: str
    """Markdown with markers ``[n]``."""
    citations: list[Citation] = Field(default_factory=list)
    claims: list[Claim] = Field(default_factory=list)
    data: Data = Field(default_factory=Data)
    written_by: str = "extractive"


class Version(Content):
    """An earlier content of an output."""

    generated_at: str | None = None
    used: list[Used] = Field(default_factory=list)


class StudioOutput(Version):
    """One row of studio_outputs.json; its first keys are the reference system's."""

    output_id: str = Field(default_factory=new_id)
    template_id: str
    title: str = ""
    content: str = ""
    sources: list[str] = Field(default_factory=list)
    """Names, as in the reference system; ``used`` has the revisions."""
    image_path: str | None = None
    created_at: str = Field(default_factory=now)
    state: State = "done"
    options: Options = Field(default_factory=Options)
    error: dict[str, Any] | None = None
    edited_at: str | None = None
    versions: list[Version] = Field(default_factory=list)
    """What it said before it was made again, newest first."""
