"""The command line keeps its contract: shapes, exit status, one JSON document and nothing else."""

import json
import threading
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import docx
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from interfaces.cli import main

WELLS = "# Wells\n\n## North\n\nWell ZX-4417-B gave 63.8 mg/l nitrate in March 2024.\n"
CITED = {"number", "source_id", "source_name", "chunk_id", "page", "page_end", "page_label",
         "headings", "quote", "support"}  # fmt: skip


def write_pdf(path: Path, *lines: str, password: str | None = None) -> None:
    """A PDF with one line a page."""
    canvas = Canvas(str(path), encrypt=password)
    for line in lines:
        canvas.drawString(72, 700, line)
        canvas.showPage()
    canvas.save()


class Halo:
    """Runs commands; ``json`` parses what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, want: int = 0) -> str:
        status = main(arguments)
        out = self._capsys.readouterr().out
        assert status == want, out
        return out

    def json(self, *arguments: str, want: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", want=want))


@pytest.fixture
def halo(capsys: pytest.CaptureFixture[str]) -> Halo:
    return Halo(capsys)


@pytest.fixture
def wells(tmp_path: Path) -> str:
    path = tmp_path / "Wells 2024.md"
    path.write_text(WELLS)
    return str(path)


def test_an_empty_workspace_answers_with_empty_lists(halo: Halo) -> None:
    assert halo.json("list") == {"sources": []}
    assert halo.json("search", "anything")["hits"] == []
    assert halo.json("ask", "anything", want=1)["error"]["code"] == "no_sources"
    assert "halo add" in halo("list")


def test_adding_reports_each_file(halo: Halo, wells: str, tmp_path: Path) -> None:
    (tmp_path / "empty.pdf").write_bytes(b"")
    told = halo.json("add", wells, str(tmp_path / "empty.pdf"), str(tmp_path / "no.txt"), want=1)
    good, empty, gone = told["sources"]
    assert set(good) >= {"id", "name", "type_label", "status", "chunks", "units", "report", "error"}
    assert (good["name"], good["status"], good["error"]) == ("Wells 2024.md", "ready", None)
    assert good["chunks"] >= 1
    assert good["report"]["kind"] == "markdown"
    assert empty["status"] == gone["status"] == "failed"
    assert empty["error"]["message"]
    assert gone["id"] is None
    again = halo.json("add", wells)["sources"][0]
    assert (again["status"], again["id"]) == ("duplicate", good["id"])


def test_a_folder_is_added_whole(halo: Halo, wells: str, tmp_path: Path) -> None:
    (tmp_path / "bridge.txt").write_text("Die Brücke wurde 1931 gebaut.")
    names = {source["name"] for source in halo.json("add", str(tmp_path))["sources"]}
    assert names == {"Wells 2024.md", "bridge.txt"}


def test_a_source_is_shown_searched_asked_renamed_and_deleted(halo: Halo, wells: str) -> None:
    source_id = halo.json("add", wells)["sources"][0]["id"]
    shown = halo.json("show", source_id)
    block = shown["blocks"][-1]
    assert set(block) >= {"kind", "text", "page", "page_label", "sheet", "slide", "headings"}
    assert block["headings"] == ["Wells", "North"]
    hit = halo.json("search", "ZX-4417-B", "--k", "3")["hits"][0]
    assert set(hit) >= {"rank", "score", "source_id", "source_name", "chunk_id", "text", "page",
                        "page_end", "page_label", "headings"}  # fmt: skip
    assert hit["rank"] == 1
    assert "ZX-4417-B" in hit["text"]
    told = halo.json("ask", "How much nitrate did well ZX-4417-B give?", "--source", source_id)
    assert (told["grounded"], told["answered_by"]) == (True, "extractive")
    assert set(told["citations"][0]) >= CITED
    assert set(told["claims"][0]) >= {"text", "citations", "support"}
    assert "63.8" in halo("ask", "How much nitrate did well ZX-4417-B give?")
    halo("rename", source_id, "Wells, renamed")
    assert halo.json("list")["sources"][0]["name"] == "Wells, renamed"
    assert halo.json("reindex")["sources"][0]["status"] == "ready"
    halo("rm", source_id)
    assert halo.json("list") == {"sources": []}
    assert halo.json("search", "nitrate")["hits"] == []


@pytest.mark.parametrize(
    "command",
    [
        ("show", "no-such-id"),
        ("search", "x", "--source", "no-such-id"),
        ("ask", "x", "--source", "no-such-id"),
        ("rename", "no-such-id", "x"),
        ("rm", "no-such-id"),
        ("reindex", "no-such-id"),
        ("list", "--notebook", "no such notebook"),
        ("ask", " "),
    ],
)
def test_a_failed_command_prints_an_error_object(halo: Halo, command: tuple[str, ...]) -> None:
    error = halo.json(*command, want=1)["error"]
    assert error["code"]
    assert error["message"].endswith((".", "?"))


@pytest.mark.parametrize("command", [(), ("search",), ("search", "x", "--k", "0"), ("nonsense",)])
def test_wrong_usage_exits_with_two(command: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(command)
    assert stopped.value.code == 2


def test_a_source_id_is_data(halo: Halo, wells: str) -> None:
    halo.json("add", wells)
    halo.json("rm", "x' OR '1'='1", want=1)
    assert len(halo.json("list")["sources"]) == 1


def test_doctor_finds_nothing_wrong_and_then_does(halo: Halo, wells: str, tmp_path: Path) -> None:
    halo.json("add", wells)
    assert halo.json("doctor")["ok"] is True
    for path in (tmp_path / "data" / "documents").rglob("*.json"):
        path.unlink()
    told = halo.json("doctor", want=1)
    (fault,) = [check for check in told["checks"] if not check["ok"]]
    assert fault["name"] == "documents"
    assert halo.json("doctor", "--repair", want=1)["repaired"]
    halo.json("reindex")
    assert halo.json("doctor")["ok"] is True


def test_links_are_added_beside_files(
    halo: Halo, wells: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = b"<title>Wells of Senra</title><p>They gave 41 litres a second in March.</p>"

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/wells" else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:
            pass

    monkeypatch.setenv("HALO_LINK_NETWORKS", "127.0.0.0/8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}"
    told = halo.json("add", wells, f"{site}/wells", f"{site}/gone", "ftp://example.com", want=1)
    file, good, gone, other = told["sources"]
    assert file["url"] is None and (good["name"], good["status"]) == ("Wells of Senra", "ready")
    assert good["url"] == f"{site}/wells" and good["report"]["kind"] == "html"
    assert (gone["status"], gone["error"]["code"]) == ("failed", "link_gone")
    assert (other["id"], other["error"]["code"]) == (None, "link_scheme")
    assert halo.json("add", f"{site}/wells#x")["sources"][0]["status"] == "duplicate"
    assert halo.json("show", good["id"])["metadata"]["url"] == good["url"]
    listed = {row["url"] for row in halo.json("list")["sources"]}
    assert listed == {None, f"{site}/wells", f"{site}/gone"}
    server.shutdown()
    server.server_close()


def test_a_search_shows_the_section_around_a_passage(halo: Halo, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    parts = [f"## Part {n}\n\n" + f"Pump {n} held. " * 60 for n in range(6)]
    path.write_text("# Report\n\n" + "\n\n".join(parts))
    halo.json("add", str(path))
    told = halo.json("search", "pump 4", "--k", "1", "--context", "1200")
    (context,) = told["contexts"]
    assert context["hits"] == [1]
    assert context["text"].startswith("Part 4")
    assert "Pump 5" not in context["text"]
    assert "Part 4" in halo("search", "pump 4", "--k", "1", "--context", "1200")


def test_a_passage_is_drawn_on_its_page(halo: Halo, tmp_path: Path) -> None:
    path, out = tmp_path / "two.pdf", tmp_path / "page.png"
    long = "The rent is due on the first day of each month, and it is paid in advance."
    write_pdf(path, long, "The deposit is 63.8 crowns.")
    source_id = halo.json("add", str(path))["sources"][0]["id"]
    told = halo.json("visualize", source_id, "deposit", "--out", str(out))
    assert told["page"] == 2
    (box,) = told["boxes"]
    picture = Image.open(out)
    middle = ((box["left"] + box["right"]) / 2, (box["top"] + box["bottom"]) / 2)
    red, _, blue = picture.getpixel(  # type: ignore[misc]
        (int(middle[0] * picture.width), int(box["top"] * picture.height) + 3)
    )
    assert red - blue > 60, "it is marked in yellow"
    assert picture.getpixel((5, 5)) == (255, 255, 255)


def test_what_has_no_pages_is_not_drawn(halo: Halo, wells: str, tmp_path: Path) -> None:
    source_id = halo.json("add", wells)["sources"][0]["id"]
    out = str(tmp_path / "page.png")
    told = halo.json("visualize", source_id, "nitrate", "--out", out, want=1)
    assert told["error"]["code"] == "no_pages"


def test_a_source_is_named_by_its_name_or_the_beginning_of_it(halo: Halo, tmp_path: Path) -> None:
    for name in ("Report 2023.txt", "Report 2024.txt", "Report 2024.txt.txt", "Minutes.txt"):
        (tmp_path / name).write_text(f"The words of {name} in full.")
    ids = {one["name"]: one["id"] for one in halo.json("add", str(tmp_path))["sources"]}
    assert halo.json("show", "minutes")["id"] == ids["Minutes.txt"]
    assert halo.json("show", ids["Minutes.txt"][:10])["id"] == ids["Minutes.txt"]
    assert halo.json("show", "Report 2024.txt")["id"] == ids["Report 2024.txt"]  # it is one's name
    error = halo.json("rm", "Report", want=2)["error"]
    assert error["code"] == "ambiguous_name"
    assert all(name in error["message"] for name in ids if name.startswith("Report"))
    assert len(halo.json("list")["sources"]) == 4
    assert halo.json("show", "Rapport", want=1)["error"]["code"] == "no_such_source"
    assert halo.json("show", "", want=1)["error"]["code"] == "no_such_source"
    assert halo.json("rename", "Minutes", "Notes.txt")["id"] == ids["Minutes.txt"]
    hits = halo.json("search", "words", "--source", "notes")["hits"]
    assert {hit["source_id"] for hit in hits} == {ids["Minutes.txt"]}
    assert halo.json("rm", "notes", "Notes.txt")["deleted"] == [ids["Minutes.txt"]]


def test_the_list_says_why_a_source_was_not_read(halo: Halo, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    halo("add", str(tmp_path / "empty.txt"), want=1)
    assert "The file is empty" in halo("list")


def test_a_refusal_names_what_was_looked_at(halo: Halo, wells: str) -> None:
    halo("add", wells)
    told = halo.json("ask", "Which nitrate level had well QQ-1 in 1911?")
    assert not told["grounded"] and told["looked_at"]
    said = halo("ask", "Which nitrate level had well QQ-1 in 1911?")
    assert "Looked at Wells 2024.md: " in said and "63.8 mg/l" in said


def test_a_hit_says_on_which_page_its_words_stand(halo: Halo, tmp_path: Path) -> None:
    pdf = tmp_path / "report.pdf"
    write_pdf(pdf, "The tariff of the harbour rose", "and the lighthouse was painted in green.")
    halo("add", str(pdf))
    for query, page in (("harbour tariff", 1), ("painted lighthouse", 2), ("unrelated", 1)):
        hit = halo.json("search", query)["hits"][0]
        assert (hit["page"], hit["page_end"], hit["found"]["page"]) == (1, 2, page)
        assert f"report.pdf, p. {page}" in halo("search", query)


def test_a_protected_page_is_drawn_with_its_password(halo: Halo, tmp_path: Path) -> None:
    pdf, out = tmp_path / "locked.pdf", str(tmp_path / "page.png")
    write_pdf(pdf, "The lighthouse was painted in green.", password="open")
    halo("add", str(pdf), "--password", "open")
    asked = ("visualize", "locked.pdf", "lighthouse", "--out", out)
    assert halo.json(*asked, want=1)["error"]["code"] == "needs_password"
    assert halo.json(*asked, "--password", "open")["page"] == 1


def test_an_attachment_that_was_there_before_belongs_to_its_mail_too(
    halo: Halo, wells: str, tmp_path: Path
) -> None:
    before = halo.json("add", wells)["sources"][0]
    mail = EmailMessage()
    mail["Subject"] = "The wells"
    mail.set_content("See what is attached.")
    mail.add_attachment(Path(wells).read_bytes(), "text", "markdown", filename="copy.md")
    (tmp_path / "mail.eml").write_bytes(mail.as_bytes())
    parent, child = halo.json("add", str(tmp_path / "mail.eml"))["sources"]
    assert (child["id"], child["status"]) == (before["id"], "duplicate")
    assert child["parent"] == parent["id"]
    listed = {source["id"]: source for source in halo.json("list")["sources"]}
    assert listed[parent["id"]]["children"] == [before["id"]]
    assert listed[before["id"]]["parent"] is None, "it came by itself and stays when the mail goes"


def test_the_studio_makes_a_file(halo: Halo, wells: str, tmp_path: Path) -> None:
    source = halo.json("add", wells)["sources"][0]
    out = tmp_path / "report.docx"
    made = halo.json("studio", "make", "report", "--format", "docx", "--out", str(out))["output"]
    assert made["template_id"] == "briefing" and made["files"] == {"docx": str(out)}
    assert made["sources"] == [source["name"]]
    assert docx.Document(str(out)).paragraphs[0].text == made["title"]
    halo("studio", "make", "faq", "--out", str(tmp_path / "faq.md"), "--source", source["id"])
    wrong = halo.json("studio", "make", "poem", "--out", str(out), want=1)["error"]
    assert wrong["code"] == "no_such_template"
    wrong = halo.json("studio", "make", "report", "--out", str(tmp_path / "x.exe"), want=1)["error"]
    assert wrong["code"] == "no_such_format"
    missed = ("studio", "make", "report", "--focus", "zeppelin", "--out", str(out))
    assert halo.json(*missed, want=1)["error"]["code"] == "focus_not_found"
