"""Reports without a model: made, stored, checked, written as files that other programs open."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import zipfile

import docx
import pytest
from pypdf import PdfReader

from services.errors import NotFoundError, UserInputError
from services.ingestion import delete_sources, load_document, rename_source
from services.models import Citation, Source
from services.sample import sample_files
from services.storage import load_sources
from services.studio import outputs, runs
from services.studio.export import export
from services.studio.export.flow import parts
from services.studio.models import Options, StudioOutput, Used
from services.studio.templates import template, templates
from services.workspace import Workspace
from tests.conftest import PROJECT
from tests.services.conftest import Library

WELLS = """# Wells of the valley

## Nitrate

The wells of the valley were sampled in March 2024 by the district office.
Nitrate in the wells rose to 48 mg/l, which is close to the limit of 50 mg/l.
An aquifer is a layer of rock that holds groundwater.

## Who pays for the filters?

The district pays for new filters in the two wells that exceed the limit.
"""
RIVER = """# River

The river was measured on 3 May 2023 at four places below the bridge.
Nitrate in the river fell to 12 mg/l after the new plant was opened.
"""


@pytest.fixture
def sources(library: Library) -> list[Source]:
    return library.add(wells=WELLS, river=RIVER)


def make(workspace: Workspace, name: str = "briefing", **options: object) -> StudioOutput:
    output_id = runs.start(workspace, name, Options.model_validate(options))
    return runs.wait(workspace, output_id)


@pytest.mark.parametrize("name", [t.id for t in templates() if t.kind == "report"])
def test_every_sentence_of_a_report_stands_in_its_source(
    workspace: Workspace, sources: list[Source], name: str
) -> None:
    output = make(workspace, name)
    assert output.state == "done", output.error
    assert output.claims and all(claim.support == "supported" for claim in output.claims)
    by_id = {source.id: source for source in sources}
    for citation in output.citations:
        document = load_document(workspace, citation.source_id, citation.revision)
        assert document.text[citation.start : citation.end] == citation.quote
        assert citation.revision == by_id[citation.source_id].revision
    markers = {int(n) for n in re.findall(r"\[(\d+)\]", output.content)}
    assert markers == {citation.number for citation in output.citations}
    assert {used.revision for used in output.used} == {source.revision for source in sources}


def test_what_a_report_is_made_of(workspace: Workspace, sources: list[Source]) -> None:
    faq = make(workspace, "faq")
    assert "## Who pays for the filters?" in faq.content
    assert "## What is aquifer?" in faq.content
    times = make(workspace, "timeline", language="de")
    rows = [line for line in times.content.splitlines() if line.startswith("| ")]
    assert rows[0].startswith("| Datum")
    assert rows[2].startswith("| 3 May 2023") and rows[3].startswith("| March 2024")


def test_a_focus_leaves_the_rest_out(workspace: Workspace, sources: list[Source]) -> None:
    focused = make(workspace, focus="filters")
    assert "filters" in focused.content and "river" not in focused.content
    nothing = make(workspace, focus="zeppelin")
    assert nothing.state == "failed" and nothing.error
    assert nothing.error["code"] == "focus_not_found"


def test_without_sources_nothing_begins(workspace: Workspace) -> None:
    with pytest.raises(UserInputError) as refused:
        make(workspace)
    assert refused.value.code == "no_usable_source"
    assert outputs.list_outputs(workspace) == []
    with pytest.raises(NotFoundError):
        template("poem")


def test_a_word_file_has_styles_footnotes_contents_and_a_bibliography(
    workspace: Workspace, sources: list[Source]
) -> None:
    output = make(workspace, "study_guide")
    data = export(output, "docx")
    document = docx.Document(io.BytesIO(data))
    styles = {paragraph.style.name for paragraph in document.paragraphs if paragraph.style}
    assert {"Title", "Heading 1", "TOC 1", "Bibliography", "List Bullet"} <= styles
    members = zipfile.ZipFile(io.BytesIO(data))
    notes = members.read("word/footnotes.xml").decode()
    body = members.read("word/document.xml").decode()
    used = re.findall(r'footnoteReference w:id="(\d+)"', body)
    assert used and all(f'w:id="{number}"' in notes for number in used)
    assert "which is close to the limit of 50 mg/l" in notes
    assert "TOC \\o" in body


@pytest.mark.parametrize(
    "text",
    [
        "Grüße aus Köln und Αθήνα, привет.",
        "地下水的硝酸盐含量上升了。",
        "ارتفع النترات في الآبار",
        "המים עלו בבאר",
    ],
)
def test_every_format_holds_every_script(text: str) -> None:
    table = f"| A | B |\n| --- | --- |\n| {text} | x [1] |"
    cited = Citation(
        number=1,
        source_id="a" * 32,
        source_name="Q & <A>.md",
        revision="r",
        chunk_id="",
        quote=text,
    )
    output = StudioOutput(
        template_id="briefing",
        title=f"T {text}",
        content=f"## Kopf\n\n{text} [1]\n\n- {text}\n\n{table}",
        citations=[cited],
        used=[Used(id="a" * 32, name="Q & <A>.md", revision="r")],
    )
    assert text in export(output, "md").decode()
    assert text in export(output, "html").decode()
    document = docx.Document(io.BytesIO(export(output, "docx")))
    assert any(text in paragraph.text for paragraph in document.paragraphs)
    pages = PdfReader(io.BytesIO(export(output, "pdf"))).pages
    read = "".join(page.extract_text() for page in pages)
    for word in text.split():  # readers of right-to-left text differ in the order they give
        # wide characters and the dots of Arabic letters, glyphs of their own, come with controls
        shown = re.sub(r"[\x00-\x20]", "", read)
        bare = word.strip(".,。")
        assert bare in shown or bare[::-1] in shown, word


def test_text_of_a_source_is_never_markup(workspace: Workspace, library: Library) -> None:
    library.add(
        odd="The <script>alert(1)</script> of [3] and ![x](https://example.org/p.png) is *not* run "
        "in the report of the office.\n\nThe report of the office names the script and its limits."
    )
    output = make(workspace)
    page = export(output, "html").decode()
    assert "<script" not in page and "<img" not in page
    assert "of [3] and" in "".join(part.text for part in parts(output.content))


def test_changed_and_removed_sources_make_an_output_stale(
    workspace: Workspace, sources: list[Source], library: Library
) -> None:
    output = make(workspace)
    assert not outputs.stale(workspace, output)
    rename_source(workspace, sources[0].id, "other name.md")
    assert not outputs.stale(workspace, output)
    delete_sources(workspace, [sources[1].id])
    why = outputs.stale(workspace, output)
    assert why.removed == ("river.md",) and not why.changed and why.parts
    before = output.content
    runs.again(workspace, output.output_id)
    fresh = runs.wait(workspace, output.output_id)
    assert fresh.state == "done" and not outputs.stale(workspace, fresh)
    assert "river" not in fresh.content and fresh.versions[0].content == before
    outputs.use_version(workspace, output.output_id, 0)
    assert outputs.get_output(workspace, output.output_id).content == before


def test_an_edit_is_checked_against_the_quotes(workspace: Workspace, sources: list[Source]) -> None:
    output = make(workspace, "executive_summary")
    number = next(c.number for c in output.citations if "48 mg/l" in c.quote)
    outputs.edit_output(
        workspace, output.output_id, f"Nitrate in the wells rose to 73 mg/l. [{number}]"
    )
    edited = outputs.get_output(workspace, output.output_id)
    assert [claim.support for claim in edited.claims] == ["unsupported"]
    assert edited.versions[0].content == output.content


def test_rename_delete_undo_and_use_as_source(
    workspace: Workspace, sources: list[Source], library: Library
) -> None:
    output = make(workspace)
    outputs.rename_output(workspace, output.output_id, "Wells")
    added = outputs.output_as_source(workspace, output.output_id)
    assert added.source_id
    library.wait([added.source_id])
    assert any(source.origin == "output" for source in load_sources(workspace))
    entry = outputs.delete_output(workspace, output.output_id)
    assert outputs.list_outputs(workspace) == []
    assert outputs.restore_output(workspace, entry).title == "Wells"


def test_an_output_is_made_by_one_at_a_time(workspace: Workspace, sources: list[Source]) -> None:
    output = make(workspace)
    # a process that died while it worked leaves the state and no lock
    outputs.change(
        workspace, output.output_id, lambda old: old.model_copy(update={"state": "running"})
    )
    assert outputs.get_output(workspace, output.output_id).state == "interrupted"
    runs.again(workspace, output.output_id)
    assert runs.wait(workspace, output.output_id).state == "done"
    lock = workspace.take_lock(outputs.lock_name(output.output_id))
    assert lock
    runs.again(workspace, output.output_id)  # somebody is at it
    assert runs.run_of(workspace, output.output_id) is None
    lock.release()


def test_a_template_of_ones_own_takes_the_place_of_ours(workspace: Workspace) -> None:
    folder = workspace.home / "templates"
    folder.mkdir()
    text = template("briefing").model_copy(update={"title": {"en": "Board paper"}})
    (folder / "briefing.json").write_text(text.model_dump_json(), encoding="utf-8")
    assert template("briefing").name("de") == "Board paper"


def test_the_sample_gives_a_report(workspace: Workspace, library: Library) -> None:
    for path in sample_files():
        library.add_path(path)
    output = make(workspace, length="long")
    assert output.state == "done"
    assert {citation.source_id for citation in output.citations} == {
        source.id for source in load_sources(workspace)
    }


def test_a_stopped_output_says_so_and_can_be_made_again(
    workspace: Workspace, sources: list[Source]
) -> None:
    output_id = runs.start(workspace, "briefing", Options())
    runs.cancel(workspace, output_id)
    stopped = runs.wait(workspace, output_id)
    assert stopped.state == "cancelled" and not stopped.content
    with pytest.raises(UserInputError):
        export(stopped, "md")
    runs.again(workspace, output_id)
    assert runs.wait(workspace, output_id).state == "done"


def test_a_killed_process_leaves_an_interrupted_output(
    workspace: Workspace, sources: list[Source]
) -> None:
    code = (
        "import os; from services.studio import runs; from services.studio.models import Options; "
        "from services.workspace import open_workspace; "
        "runs.start(open_workspace(), 'briefing', Options()); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=False).returncode == 9
    (output,) = outputs.list_outputs(workspace)
    assert output.state == "interrupted"
    runs.again(workspace, output.output_id)
    assert runs.wait(workspace, output.output_id).state == "done"
