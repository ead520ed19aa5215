"""A conversation as Markdown, Word and JSON."""

from __future__ import annotations

import io
import json
import zipfile

import docx
from lxml import etree

from services.exporting import export_conversation
from services.models import Answer, Citation, Message, Record
from services.storage import history_file
from services.workspace import Workspace

NS = {"w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main"}
TEXT = (
    "The **margin** fell [1].\n\n- Orders rose [2][1]\n\n| Year | Orders |\n|---|---|\n"
    "| 2025 | 4 % [2] |\n\n```\na[1]\n```\n\n<b>no HTML</b> ![](https://example.org/x.png)"
)


def cite(number: int, name: str, quote: str, page: int | None = None) -> Citation:
    return Citation(
        number=number, source_id=name, source_name=name, revision="r", chunk_id="c", quote=quote,
        page=page,
    )  # fmt: skip


def conversation(workspace: Workspace) -> str:
    """Two questions, whose answers cite two sources that are gone."""
    first, second = "1" * 32, "3" * 32
    both = [cite(1, "report.pdf", "The margin fell & fell.", 7), cite(2, "orders.md", "Up 4 %.")]
    record = Record(url="https://models.example/v1", tokens_in=11)
    answers = [
        Answer(text=TEXT, grounded=True, citations=both, record=record),
        Answer(text="It fell again [1].", grounded=True, citations=both[:1]),
    ]
    rows = [
        Message(role="user", content="What\nfell?", id=first),
        Message(role="assistant", content=TEXT, reply_to=first, answer=answers[0]),
        Message(role="user", content="And then \x0b?", id=second),
        Message(role="assistant", content="It fell again [1].", reply_to=second, answer=answers[1]),
    ]
    talk = "a" * 32
    history_file(talk, workspace).update(lambda _: [row.model_dump(mode="json") for row in rows])
    return talk


def test_markdown_has_footnotes_that_count_through_and_the_sources(workspace: Workspace) -> None:
    text = export_conversation(workspace, conversation(workspace)).decode()
    assert "## What fell?" in text
    assert "The **margin** fell[^1]." in text
    assert "- Orders rose[^2][^1]" in text
    assert "It fell again[^3]." in text
    assert "```\na[1]\n```" in text
    assert "[^1]: report.pdf, p. 7: “The margin fell & fell.”" in text
    assert "- report.pdf (no longer in the notebook)\n- orders.md" in text


def test_word_has_real_footnotes(workspace: Workspace) -> None:
    data = export_conversation(workspace, conversation(workspace), "docx")
    document = docx.Document(io.BytesIO(data))
    paragraphs = [(p.style.name if p.style else "", p.text) for p in document.paragraphs]
    assert ("Heading 1", "What fell?") in paragraphs
    assert ("List Bullet", "Orders rose") in paragraphs
    assert document.tables[0].cell(1, 1).text == "4 %"
    assert any("<b>no HTML</b>" in text for _, text in paragraphs)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        notes = etree.fromstring(package.read("word/footnotes.xml"))
        body = etree.fromstring(package.read("word/document.xml"))
        assert "footnotes+xml" in package.read("[Content_Types].xml").decode()
    told = ["".join(note.itertext()).strip() for note in notes.findall("w:footnote", NS)]
    assert told[2:] == [
        "report.pdf, p. 7: “The margin fell & fell.”",
        "orders.md: “Up 4 %.”",
        "report.pdf, p. 7: “The margin fell & fell.”",
    ]
    ids = [r.get(f"{{{NS['w']}}}id") for r in body.iter(f"{{{NS['w']}}}footnoteReference")]
    assert ids == ["1", "2", "1", "2", "3"]


def test_json_holds_each_message_with_its_record(workspace: Workspace) -> None:
    content = json.loads(export_conversation(workspace, conversation(workspace), "json"))
    assert [message["role"] for message in content["messages"]] == ["user", "assistant"] * 2
    assert content["messages"][1]["answer"]["record"]["tokens_in"] == 11
    assert content["messages"][1]["answer"]["citations"][0]["page"] == 7
    assert len(content["sources"]) == 2
