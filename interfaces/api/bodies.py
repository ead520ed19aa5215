"""What requests and answers hold. What HALO tells elsewhere too is in ``interfaces.shapes``.

Requests are taken literally: a number is no text, and a key that HALO does not know is refused, for
a mistyped limit must not become no limit.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from interfaces.shapes import AddedSource, ListedSource, Place
from services.models import Note
from services.search import Mode

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Text = Annotated[str, StringConstraints(max_length=1_000_000)]


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Change(Request):
    """A change of what is given; what is left out, or null, stays."""

    @model_validator(mode="after")
    def _holds_something(self) -> Change:
        if not self.model_dump(exclude_none=True):
            raise ValueError("it changes nothing")
        return self


class Search(Request):
    """A search for passages."""

    query_text: Words = Field(description="What to look for: a question, words, an identifier.")
    k: int = Field(10, ge=1, le=1000, description="How many passages to return at most.")
    mode: Mode = Field("hybrid", description="By meaning and words, by meaning, or by words.")
    source_ids: list[str] | None = Field(None, description="Look only in these sources.")


class Found(BaseModel):
    """One passage, verbatim."""

    content: str
    metadata: Place
    score: float = Field(description="0 to 1, higher is better.")


class SearchResults(BaseModel):
    """Passages, the best first."""

    results: list[Found]
    mode: Mode = Field(description="The mode that really ran.")
    notices: list[str] = Field(description="What limited the search.")


class Question(Request):
    """A question to the sources."""

    question: Words
    source_ids: list[str] | None = Field(None, description="Answer only from these sources.")


class SourceChange(Change):
    """Another name, or whether questions include the source."""

    name: Words | None = None
    selected: bool | None = None


class Uploaded(AddedSource):
    """The source made of an uploaded file, with everything that came of the file."""

    sources: list[AddedSource] = Field(
        description="The source itself, then those of its attachments; of an archive its members."
    )


class SourceResults(BaseModel):
    """What became of the sources that were read."""

    sources: list[AddedSource]


class SourceList(BaseModel):
    """All sources, the newest first."""

    sources: list[ListedSource]


class NewNote(Request):
    """A note to keep."""

    title: Text = ""
    content: Text


class NoteChange(Change):
    """Another title or content of a note."""

    title: Text | None = None
    content: Text | None = None


class NoteList(BaseModel):
    """All notes, the last changed first."""

    notes: list[Note]


class OutputList(BaseModel):
    """What the studio made, the newest first."""

    outputs: list[dict[str, Any]]


class Deleted(BaseModel):
    """What was deleted. It can be brought back on the screen for seven days, but where ``trash_id``
    is empty: the disk was full, and it went for good."""

    deleted: list[str]
    trash_id: str


class EmbedderHealth(BaseModel):
    """The embedder of the settings."""

    name: str
    state: Literal["ready", "preparing", "missing"]


class Counts(BaseModel):
    """How much the notebook holds."""

    sources: int
    answerable: int
    jobs: int
    notes: int


class Health(BaseModel):
    """That the server works, and on what."""

    status: Literal["ok"] = "ok"
    version: str
    embedder: EmbedderHealth
    counts: Counts
