"""Links on their whole way: typed, fetched, read, asked for again."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from pypdf import PdfWriter
from reportlab.pdfgen.canvas import Canvas

from services import ingestion, jobs
from services.adding import add_files, add_links
from services.intake import Incoming
from services.models import Job, Source
from services.pipeline import Pipeline
from services.search import search
from services.storage import get_source, load_sources, update_sources
from services.workspace import Workspace
from tests.services.conftest import Library
from tests.services.links.conftest import ARTICLE, Handler, Web


def pdf(text: str) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=True)
    canvas.drawString(72, 700, text)
    canvas.save()
    return out.getvalue()


@pytest.fixture
def link(library: Library) -> Callable[[str], Source]:
    """Adds a link and returns its record at its end."""

    def add(url: str) -> Source:
        added = add_links(library.workspace, [url])[0]
        assert added.source_id is not None, added
        library.wait([added.source_id])
        return get_source(added.source_id, library.workspace)

    return add


def again(library: Library, source: Source) -> Source:
    ingestion.fetch_again(library.workspace, source.id)
    library.wait([source.id])
    return get_source(source.id, library.workspace)


Link = Callable[[str], Source]


def test_a_page_becomes_a_source(library: Library, web: Web, link: Link) -> None:
    url = web.page("/wells?utm_source=mail", ARTICLE, ETag='"1"')
    web.pages["/wells"] = web.pages.pop("/wells?utm_source=mail")
    source = link(url)
    assert source.status == "ready" and source.origin == "link" and source.type_label == "Web"
    assert source.name == "Wells of Senra"
    assert source.url == web.url("/wells")
    assert source.sha256 and source.size == len(ARTICLE)
    assert source.fetched is not None and source.fetched.etag == '"1"'
    document = ingestion.load_document(library.workspace, source.id)
    assert document.title == "Wells of Senra"
    assert document.metadata == {
        "author": "The survey",
        "date": "2026-03-04",
        "url": web.url("/wells"),
    }
    hits = search(library.workspace, "litres a second in the northern wells").hits
    assert hits[0].source_id == source.id
    assert ingestion.original_path(library.workspace, source.id).read_text() == ARTICLE
    assert jobs.ids(library.workspace) == []


def test_the_record_is_there_at_once_and_named_by_its_address(workspace: Workspace) -> None:
    added = add_links(workspace, ["example.com/a", "example.com/b", "file:///etc/passwd"])
    assert [item.outcome for item in added] == ["queued", "queued", "refused"]
    assert (added[2].error or {})["code"] == "link_scheme" and added[2].source_id is None
    names = [source.name for source in load_sources(workspace)]
    assert names == ["https://example.com/b", "https://example.com/a"]
    assert all(source.status == "queued" for source in load_sources(workspace))


def test_the_same_address_is_already_here(library: Library, web: Web, link: Link) -> None:
    source = link(web.page("/a", ARTICLE))
    added = add_links(library.workspace, [web.url("/a#part"), web.url("/a?utm_medium=x")])
    assert [item.outcome for item in added] == ["duplicate", "duplicate"]
    assert {item.source_id for item in added} == {source.id}
    twice = add_links(library.workspace, [web.url("/b"), web.url("/b")])
    assert [item.outcome for item in twice] == ["queued", "duplicate"]
    library.wait([twice[0].source_id or ""])


def test_a_pdf_behind_a_link(library: Library, web: Web, link: Link) -> None:
    data = pdf("The margin fell to 12.6 %.")
    source = link(web.page("/files/report-2026.pdf?v=2".partition("?")[0], data))
    assert (source.status, source.kind, source.name) == ("ready", "pdf", "report-2026.pdf")
    named = web.page(
        "/get", pdf("Another."), Content_Disposition='attachment; filename="Annual report.pdf"'
    )
    assert link(named).name == "Annual report.pdf"


@pytest.mark.parametrize(
    ("path", "stated", "body", "kind", "name"),
    [
        ("/export", "text/csv", b"year,litres\n2025,37\n2026,41\n", "csv", "export.csv"),
        ("/notes.md", "text/plain", b"# Wells\n\nThey gave 41 litres.\n", "markdown", "notes.md"),
        ("/lies.html", "text/html", pdf("Not HTML at all."), "pdf", "lies.html"),
        ("/lies.pdf", "application/pdf", ARTICLE.encode(), "html", "Wells of Senra"),
    ],
)
def test_the_bytes_decide(
    web: Web, link: Link, path: str, stated: str, body: bytes, kind: str, name: str
) -> None:
    source = link(web.page(path, body, Content_Type=stated))
    assert (source.status, source.kind, source.name) == ("ready", kind, name)


def test_a_charset_that_only_the_server_states(library: Library, web: Web, link: Link) -> None:
    text = "<html><body><p>Скважины дали сорок один литр в секунду.</p></body></html>"
    stated = "text/html; charset=windows-1251"
    source = link(web.page("/a", text.encode("windows-1251"), Content_Type=stated))
    assert "сорок один" in ingestion.load_document(library.workspace, source.id).text
    wrong_meta = (
        "<html><head><meta charset=utf-8></head><body><p>Größe der Brunnen</p></body></html>"
    )
    stated = "text/html; charset=iso-8859-1"
    source = link(web.page("/b", wrong_meta.encode("latin-1"), Content_Type=stated))
    assert "Größe" in ingestion.load_document(library.workspace, source.id).text
    source = link(web.page("/c", wrong_meta.replace("Gr", "gr").encode(), Content_Type=stated))
    assert "größe" in ingestion.load_document(library.workspace, source.id).text


def test_unchanged_pages_are_left_as_they_are(library: Library, web: Web, link: Link) -> None:
    def conditional(handler: Handler) -> None:
        if handler.headers.get("If-None-Match") == '"1"':
            handler.answer(b"", 304)
        else:
            handler.answer(ARTICLE, headers={"ETag": '"1"'})

    web.pages["/a"] = conditional
    source = link(web.url("/a"))
    after = again(library, source)
    assert after.revision == source.revision and after.status == "ready" and after.error is None
    assert after.fetched and source.fetched and after.fetched.unchanged
    assert after.fetched.at == source.fetched.at
    assert len(web.seen) == 2

    same = link(web.page("/b", ARTICLE + "<!-- other bytes -->"))
    after = again(library, same)
    assert after.revision == same.revision
    assert after.fetched and after.fetched.unchanged


def test_a_changed_page_is_a_new_revision(library: Library, web: Web, link: Link) -> None:
    source = link(web.page("/a", ARTICLE))
    ingestion.rename_source(library.workspace, source.id, "My wells")
    web.page("/a", ARTICLE.replace("41 litres", "52 litres"))
    after = again(library, source)
    assert after.status == "ready" and after.revision != source.revision
    assert after.sha256 != source.sha256 and after.name == "My wells"
    assert "52 litres" in ingestion.load_document(library.workspace, source.id).text


def test_a_failed_refresh_leaves_the_source_as_it_is(
    library: Library, web: Web, link: Link
) -> None:
    source = link(web.page("/a", ARTICLE))
    web.page("/a", "gone", 404)
    after = again(library, source)
    assert after.status == "ready" and after.revision == source.revision
    assert after.error is not None and after.error["code"] == "link_gone"
    web.page("/a", "<title>Just a moment...</title><p>Checking your browser</p>")
    after = again(library, source)
    assert after.sha256 == source.sha256
    assert after.error is not None and after.error["code"] == "link_challenge"
    web.page("/a", ARTICLE)
    assert again(library, source).error is None


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "link_login"), (402, "link_paywall"), (403, "link_forbidden"), (404, "link_gone"),
        (410, "link_gone"), (418, "link_status"), (429, "link_busy"), (451, "link_forbidden"),
        (500, "link_server"), (503, "link_server"), (204, "link_status"),
    ],
)  # fmt: skip
def test_a_failed_fetch_is_failed(
    library: Library, web: Web, link: Link, status: int, code: str
) -> None:
    """The server's words never become content, and a retry asks again."""
    source = link(
        web.page("/a", "" if status == 204 else "<p>Some words of the server.</p>", status)
    )
    assert source.status == "failed" and source.sha256 is None and source.revision is None
    assert source.error is not None and source.error["code"] == code
    assert source.error["message"].count(".") >= 2
    assert search(library.workspace, "words of the server").hits == []
    web.page("/a", ARTICLE)
    ingestion.retry_source(library.workspace, source.id)
    library.wait([source.id])
    assert get_source(source.id, library.workspace).status == "ready"


def test_adding_a_failed_link_again_is_a_retry(library: Library, web: Web, link: Link) -> None:
    source = link(web.url("/a"))
    assert source.status == "failed"
    web.page("/a", ARTICLE)
    assert link(web.url("/a")).id == source.id
    assert get_source(source.id, library.workspace).status == "ready"


def test_what_cannot_be_read_is_failed(web: Web, link: Link) -> None:
    archive = b"PK\x05\x06" + bytes(18)
    assert (link(web.page("/a.zip", archive)).error or {})["code"] in ("link_archive", "link_empty")
    layers = b"8BPS\0\1" + bytes(50)
    picture = link(web.page("/a.png", layers, Content_Type="image/png"))
    assert (picture.error or {})["code"] == "unsupported_kind"
    assert (link(web.page("/empty", "")).error or {})["code"] == "link_empty"


def test_the_size_limit_holds(web: Web, link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_UPLOAD_LIMIT_MB", "1")
    source = link(web.page("/a", b"x" * 1_100_000, Content_Type="text/plain"))
    assert (source.error or {})["code"] == "too_large"


def test_the_same_bytes_are_already_here(library: Library, web: Web, link: Link) -> None:
    library.add_files([Incoming("a.html", ARTICLE.encode())])
    source = link(web.page("/a", ARTICLE))
    assert source.status == "duplicate" and not source.answerable
    other = link(web.page("/b", ARTICLE.replace("41", "42")))
    added = add_files(library.workspace, [Incoming("b.html", ARTICLE.replace("41", "42").encode())])
    assert added[0].outcome == "duplicate" and added[0].source_id == other.id


def test_cancelling_stops_the_download(library: Library, web: Web) -> None:
    asked, done = threading.Event(), threading.Event()

    def silent(handler: Handler) -> None:
        asked.set()
        done.wait(30)

    web.pages["/a"] = silent
    added = add_links(library.workspace, [web.url("/a")])[0]
    assert added.source_id and asked.wait(30)
    assert ingestion.list_sources(library.workspace)[0].status in ("queued", "reading")
    ingestion.cancel_source(library.workspace, added.source_id)
    library.wait([added.source_id])
    assert get_source(added.source_id, library.workspace).status == "cancelled"
    done.set()
    web.page("/a", ARTICLE)
    ingestion.retry_source(library.workspace, added.source_id)
    library.wait([added.source_id])
    assert get_source(added.source_id, library.workspace).status == "ready"


def test_slow_servers_hold_up_no_reading(library: Library, web: Web) -> None:
    done = threading.Event()

    def silent(handler: Handler) -> None:
        done.wait(60)

    web.pages["/slow"] = silent
    links = add_links(library.workspace, [web.url(f"/slow?{n}") for n in range(6)])
    assert library.add(wells="The northern wells gave 41 litres.")[0].status == "ready"
    for item in links:
        ingestion.cancel_source(library.workspace, item.source_id or "")
    library.wait([item.source_id or "" for item in links])
    assert {s.status for s in load_sources(library.workspace) if s.url} == {"cancelled"}
    done.set()


def test_stopping_leaves_a_download_to_the_next_process(workspace: Workspace, web: Web) -> None:
    asked, done = threading.Event(), threading.Event()

    def silent(handler: Handler) -> None:
        asked.set()
        done.wait(60)

    web.pages["/a"] = silent
    first = Pipeline(lambda: [workspace]).start()
    added = add_links(workspace, [web.url("/a")])[0]
    assert asked.wait(60)
    first.stop()
    assert load_sources(workspace)[0].status == "queued" and jobs.ids(workspace)
    done.set()
    web.page("/a", ARTICLE)
    second = Pipeline(lambda: [workspace]).start()
    second.wait(workspace, [added.source_id or ""])
    second.stop()
    assert load_sources(workspace)[0].status == "ready"


def test_a_process_killed_while_fetching_loses_nothing(workspace: Workspace, web: Web) -> None:
    asked, done = threading.Event(), threading.Event()

    def half(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(ARTICLE)))
        handler.end_headers()
        handler.wfile.write(ARTICLE[:500].encode())
        asked.set()
        done.wait(30)

    web.pages["/a"] = half
    adding = subprocess.Popen(
        [sys.executable, "-m", "interfaces.cli", "add", web.url("/a"), "--json"],
        stdout=subprocess.DEVNULL,
    )
    assert asked.wait(60)
    adding.kill()
    adding.wait()
    done.set()
    assert load_sources(workspace)[0].url == web.url("/a")
    assert load_sources(workspace)[0].sha256 is None
    web.page("/a", ARTICLE)
    worker = Pipeline(lambda: [workspace]).start()
    worker.wait(workspace, [load_sources(workspace)[0].id])
    worker.stop()
    source = load_sources(workspace)[0]
    assert (source.status, source.name, source.size) == ("ready", "Wells of Senra", len(ARTICLE))


def test_a_locked_file_behind_a_link(library: Library, web: Web) -> None:
    writer = PdfWriter(clone_from=io.BytesIO(pdf("The margin fell to 12.6 %.")))
    writer.encrypt("open sesame", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    url = web.page("/locked.pdf", out.getvalue(), Content_Type="application/pdf")
    added = add_links(library.workspace, [url])[0]
    library.wait([added.source_id or ""])
    assert get_source(added.source_id or "", library.workspace).status == "needs_password"
    add_links(library.workspace, [url], password="open sesame")
    library.wait([added.source_id or ""])
    assert get_source(added.source_id or "", library.workspace).status == "ready"


def test_a_link_whose_job_was_lost_is_fetched(workspace: Workspace, web: Web) -> None:
    """Killed between the record and its job."""
    web.page("/a", ARTICLE)
    added = add_links(workspace, [web.url("/a")])[0]
    for key in jobs.ids(workspace):
        jobs.remove(workspace, key)
    worker = Pipeline(lambda: [workspace]).start()
    worker.wait(workspace, [added.source_id or ""])
    worker.stop()
    assert load_sources(workspace)[0].status == "ready"


def test_bytes_that_came_before_a_kill_are_not_fetched_again(
    library: Library, web: Web, link: Link
) -> None:
    source = link(web.page("/a", ARTICLE))
    fields = {
        key: value
        for key, value in source.model_dump(mode="json").items()
        if key in ("sha256", "size", "file_name", "fetched")
    }
    unread = {"status": "queued", "revision": None, "sha256": None, "fetched": None}
    update_sources({source.id: unread | {"name": source.url}}, library.workspace)
    jobs.put(library.workspace, Job(source_id=source.id, fields=fields))
    library.wait([source.id])
    after = get_source(source.id, library.workspace)
    assert after.status == "ready" and after.name == "Wells of Senra"
    assert len(web.seen) == 1


def test_reading_again_does_not_fetch(library: Library, web: Web, link: Link) -> None:
    source = link(web.page("/a", ARTICLE))
    ingestion.reindex_sources(library.workspace, [source.id])
    library.wait([source.id])
    after = get_source(source.id, library.workspace)
    assert after.revision != source.revision and len(web.seen) == 1
    assert ingestion.load_document(library.workspace, source.id).metadata["url"] == source.url


def test_links_inside_a_source_are_never_followed(library: Library, web: Web, link: Link) -> None:
    inside = f"<img src='{web.url('/pixel')}'><iframe src='{web.url('/frame')}'></iframe>"
    meta = f"<meta http-equiv=refresh content='0;url={web.url('/next')}'>"
    link(web.page("/a", ARTICLE.replace("<head>", f"<head>{meta}").replace("<main>", inside)))
    assert [path for path, _ in web.seen] == ["/a"]
