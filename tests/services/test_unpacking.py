"""Archives and attachments: files inside files become sources, hostile ones one failed row."""

from __future__ import annotations

import base64
import io
import stat
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pypdf
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from services import adding, ingestion, jobs, sweep, unpacking
from services.adding import add_files
from services.errors import NotFoundError
from services.ingestion import delete_sources, reindex_sources, retry_source
from services.intake import Incoming, folder_files, take_in
from services.models import Source
from services.parsers import archive, attached
from services.pipeline import Pipeline
from services.reading import Reader
from services.storage import get_source, load_sources
from services.workspace import Workspace
from tests.services.conftest import Library


def zipped(members: dict[str, bytes | str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return buffer.getvalue()


def mail(subject: str, files: dict[str, bytes]) -> bytes:
    made = EmailMessage()
    made["From"], made["Subject"] = "Ann <a@x.org>", subject
    made.set_content(f"The words of {subject}.")
    for name, data in files.items():
        made.add_attachment(data, maintype="application", subtype="x", filename=name)
    return made.as_bytes()


def add(library: Library, name: str, data: bytes, **options: object) -> list[Source]:
    """All sources that come of a file, waited for."""
    library.add_files([Incoming(name, data)], **options)
    while True:
        ids = [s.id for s in load_sources(library.workspace) if s.status in ("queued", "reading")]
        if not ids:
            break
        library.wait(ids)
    return load_sources(library.workspace)[::-1]


def shown(sources: list[Source]) -> list[tuple[str, str, str]]:
    return [(source.name, source.status, source.meta) for source in sources]


# --- archives ------------------------------------------------------------------------------------


def test_each_member_is_a_source_and_an_unknown_kind_one_failed_row(library: Library) -> None:
    inner = zipped({"deep/c.md": "# Deep words", "d.zip": zipped({"e.txt": "too deep"})})
    data = zipped({
        "a.txt": "First words", "b/ü.csv": "k,v\na,1\n", "b/inner.zip": inner,
        "p.psd": b"8BPS\0\1", "empty.txt": b"", "__MACOSX/a.txt": "x", ".hidden": "x",
        "b/.git/c": "x", "../../up.txt": "Going up", "/abs.txt": "From the top",
    })  # fmt: skip
    sources = add(library, "x.docx", data)
    assert sorted(shown(sources)) == sorted([
        ("a.txt", "ready", "x.docx/a.txt"),
        ("ü.csv", "ready", "x.docx/b/ü.csv"),
        ("c.md", "ready", "x.docx/b/inner.zip/deep/c.md"),
        ("d.zip", "failed", "x.docx/b/inner.zip/d.zip"),
        ("p.psd", "failed", "x.docx/p.psd"),
        ("empty.txt", "failed", "x.docx/empty.txt"),
        ("up.txt", "ready", "x.docx/up.txt"),
        ("abs.txt", "ready", "x.docx/abs.txt"),
    ])  # fmt: skip
    picture = next(source for source in sources if source.name == "p.psd")
    assert "picture" in (picture.error or {})["message"]
    again = add_files(library.workspace, [Incoming("x.docx", data)])
    assert {item.outcome for item in again} == {"duplicate", "refused"}
    assert len(load_sources(library.workspace)) == len(sources)
    assert not list(library.workspace.root.glob("unpacked-*"))


def test_links_in_an_archive_are_not_followed(library: Library) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        link = zipfile.ZipInfo("passwd.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(link, "/etc/passwd")
        made.writestr("a.txt", "Words")
    assert [source.name for source in add(library, "x.zip", buffer.getvalue())] == ["a.txt"]


@pytest.mark.parametrize("limit", ["growth", "size", "members"])
def test_a_bomb_is_one_failed_row(library: Library, limit: str) -> None:
    data = zipped({"a.txt": "words", "b.txt": bytes(80 << 20)})
    if limit == "members":
        data = zipped({f"{n}.txt": "x" for n in range(attached.MOST_FILES + 1)})
    if limit == "size":
        nested = zipped({"b.txt": bytes(70 << 20)})
        data = zipped({"a.txt": "words", "in.zip": nested})
    (source,) = add(library, "x.zip", data)
    assert (source.name, source.status, source.sha256) == ("x.zip", "failed", None)
    assert (source.error or {})["code"] == "unpacks_too_large"
    assert not list(library.workspace.root.glob("unpacked-*"))


def test_what_an_archive_states_about_its_size_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(zipped({"a.txt": b"x" * 5000}))
    monkeypatch.setattr(attached, "MOST_BYTES", 4000)
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 30)
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(Exception, match="unpacks to more"):
        archive.members(path, attached.Writer(folder), None)


def test_a_damaged_or_empty_archive_is_refused(library: Library) -> None:
    broken = bytearray(zipped({"a.txt": "some words " * 50, "b.txt": "Whole"}))
    broken[36:40] = bytes(4)
    statuses = {s.name: s.status for s in add(library, "x.zip", bytes(broken))}
    assert statuses == {"a.txt": "failed", "b.txt": "ready"}
    sources = add(library, "void.zip", zipped({".x": "y"}))
    assert (sources[-1].error or {})["code"] == "empty_archive"


LOCKED = base64.b64decode(  # a.txt under the password "s3cret", as Info-ZIP writes it
    "UEsDBAoACQAAADm9fl1TmBTnHgAAABIAAAAFAAAAYS50eHSWlQ6HYnav7loRGANnhvGrIRiYnXkUH9cmHnRzPrdQ"
    "SwcIU5gU5x4AAAASAAAAUEsBAh4DCgAJAAAAOb1+XVOYFOceAAAAEgAAAAUAAAAAAAAAAQAAAKSBAAAAAGEudHh0"
    "UEsFBgAAAAABAAEAMwAAAFEAAAAAAA=="
)


LOCKED_WITH_AES = base64.b64decode(
    "UEsDBBQAAQBjAPMNgV241VHnMAAAABIAAAAFAAsAYS50eHQBmQcAAQBBRQMIAK+nDuIPZbj5GGm0N3fYVT4rrTQA"
    "UfWniYmsQjtK6g62ZZ17yyX31syB3KEvLlAI6VBLAQIUAxQAAQBjAPMNgV241VHnMAAAABIAAAAFAAsAAAAAAAAA"
    "AACAAQAAAABhLnR4dAGZBwABAEFFAwgAUEsFBgAAAAABAAEAPgAAAF4AAAAAAA=="
)


@pytest.mark.parametrize("locked", [LOCKED, LOCKED_WITH_AES], ids=["as of old", "AES"])
def test_the_password_opens_a_locked_archive(library: Library, locked: bytes) -> None:
    (source,) = add(library, "x.zip", locked)
    assert (source.name, source.status) == ("x.zip", "needs_password")
    assert reindex_sources(library.workspace) == []
    retry_source(library.workspace, source.id, "wrong")
    assert (get_source(source.id).error or {})["params"]["wrong"] is True
    retry_source(library.workspace, source.id, "s3cret")
    library.wait([s.id for s in load_sources(library.workspace)])
    (opened,) = load_sources(library.workspace)
    assert (opened.name, opened.status, opened.meta) == ("a.txt", "ready", "x.zip/a.txt")


def test_a_changed_byte_under_aes_is_damage(library: Library) -> None:
    damaged = bytearray(LOCKED_WITH_AES)
    damaged[70] ^= 1
    (source,) = add(library, "x.zip", bytes(damaged), password="s3cret")
    assert (source.name, source.status) == ("a.txt", "failed")
    assert (source.error or {})["code"] == "damaged"


def test_a_folder_with_an_archive(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "x.zip").write_bytes(zipped({"a.txt": "Words inside"}))
    (folder / "b.md").write_text("# Beside")
    found = folder_files(str(folder))
    sources = library.add_files([Incoming(path.name, path) for path in found])
    assert [source.name for source in sources] == ["b.md", "a.txt"]


# --- attachments ---------------------------------------------------------------------------------


def test_readable_attachments_are_sources_after_their_mail(library: Library) -> None:
    files = {
        "n.txt": b"Attached words",
        "p.psd": b"8BPS\0\1",
        "z.zip": zipped({"in/t.csv": "a,b\n1,2\n"}),
        "same.txt": b"Attached words",
    }
    sources = add(library, "m.eml", mail("Tides", files))
    assert shown(sources) == [
        ("m.eml", "ready", ""),
        ("n.txt", "ready", "from m.eml"),
        ("t.csv", "ready", "from m.eml: z.zip/in/t.csv"),
    ]
    parent = sources[0]
    assert parent.children == [source.id for source in sources[1:]]
    assert all(source.parent == parent.id and source.depth == 1 for source in sources[1:])
    report = ingestion.load_document(library.workspace, parent.id).report
    assert report.attachments == ["n.txt", "p.psd", "z.zip", "same.txt"]


def test_tiny_pictures_in_files_are_left_out_but_a_picture_added_alone_is_read(
    library: Library,
) -> None:
    logo, broken = picture(300, 63), b"\x89PNG\r\n\x1a\n\0"
    sources = add(library, "m.eml", mail("Tides", {"logo.png": logo, "cut.png": broken}))
    assert [(s.name, s.status) for s in sources] == [("m.eml", "ready"), ("cut.png", "failed")]
    report = ingestion.load_document(library.workspace, sources[0].id).report
    assert report.attachments == ["logo.png", "cut.png"]
    sources = add(library, "a.zip", zipped({"a/logo.png": logo, "n.txt": "Words"}))
    assert [source.name for source in sources[2:]] == ["n.txt"]
    sources = add(library, "b.zip", zipped({"logo.png": logo}))
    assert (sources[3].name, sources[3].status) == ("b.zip", "failed")
    assert (sources[3].error or {})["code"] == "empty_archive"
    sources = add(library, "logo.png", logo)
    assert (sources[4].name, (sources[4].error or {})["code"]) == ("logo.png", "no_text")


def picture(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(buffer, "PNG")
    return buffer.getvalue()


def test_attachments_of_attachments_end_at_a_depth(library: Library) -> None:
    data = mail("level 5", {})
    for level in (4, 3, 2, 1, 0):
        data = mail(f"level {level}", {f"{level + 1}.eml": data})
    names = [source.name for source in add(library, "0.eml", data)]
    assert names == ["0.eml", "1.eml", "2.eml", "3.eml"]
    assert unpacking.DEEPEST == 3


def test_a_deleted_mail_leaves_its_attachments(library: Library) -> None:
    parent, child = add(library, "m.eml", mail("Tides", {"n.txt": b"Attached words"}))
    delete_sources(library.workspace, [parent.id])
    assert get_source(child.id, library.workspace).status == "ready"


def test_a_deleted_attachment_does_not_come_back_when_the_mail_is_read_again(
    library: Library,
) -> None:
    parent, child = add(library, "m.eml", mail("Tides", {"n.txt": b"Attached words"}))
    delete_sources(library.workspace, [child.id])
    library.wait(reindex_sources(library.workspace, [parent.id]))
    assert [source.id for source in load_sources(library.workspace)] == [parent.id]


def test_killed_between_attachments_and_mail_nothing_is_lost_or_doubled(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    data = mail("Tides", {"n.txt": b"Attached words"})
    add_files(workspace, [Incoming("m.eml", data)])
    first = Pipeline(lambda: [workspace])
    monkeypatch.setattr("services.pipeline.replace_file", die)
    (job,) = jobs.all_jobs(workspace)
    lock = jobs.take(workspace, job)
    assert lock is not None
    with pytest.raises(Killed), Reader() as reader:
        first._run(workspace, job, lock, reader)
    lock.release()
    monkeypatch.undo()
    rows = load_sources(workspace)
    assert sorted((row.name, row.status) for row in rows) == [
        ("m.eml", "queued"), ("n.txt", "queued"),
    ]  # fmt: skip
    second = Pipeline(lambda: [workspace]).start()
    second.wait(workspace, [row.id for row in rows])
    second.stop()
    assert [row.status for row in load_sources(workspace)] == ["ready", "ready"]


def test_files_in_a_pdf_are_sources(library: Library, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    canvas.drawString(72, 720, "A page with words on it")
    canvas.save()
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(buffer.getvalue()))
    writer.add_attachment("data.csv", b"k,v\na,1\n")
    writer.write(path := tmp_path / "a.pdf")
    sources = add(library, "a.pdf", path.read_bytes())
    assert shown(sources) == [("a.pdf", "ready", ""), ("data.csv", "ready", "from a.pdf")]


def test_children_of_a_source_that_is_gone_are_dropped(workspace: Workspace) -> None:
    gone = Source(name="m.eml")
    taken = [take_in(workspace, Incoming("n.txt", b"words"))]
    assert adding.add_children(workspace, gone, taken) == []
    with pytest.raises(NotFoundError):
        get_source(gone.id, workspace)


def test_the_sweep_clears_what_a_killed_process_unpacked(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_files(workspace, [Incoming("a.txt", b"words")])
    folder = workspace.root / f"{unpacking.FOLDERS}x"
    folder.mkdir()
    (folder / "000001").write_bytes(b"x")
    monkeypatch.setattr(sweep, "INCOMING_GRACE", -1.0)
    sweep.sweep(workspace)
    assert not folder.exists()
