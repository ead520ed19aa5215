"""One download, against real servers on this computer."""

from __future__ import annotations

import datetime as dt
import gzip
import ssl
import threading
import zlib
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from services.errors import CancelledError, HaloError, LinkError, TooLargeError
from services.links import fetch as fetching
from services.links.address import Address
from services.links.fetch import Fetcher, Limits, Reply
from services.links.guard import Guard, guard
from tests.services.links.conftest import Handler, Web


def fetch(web: Web, path: str, target: Path, **limits: float) -> Reply:
    size = int(limits.pop("size", 1_000_000))
    return Fetcher(guard(), Limits(size, **limits)).save(web.address(path), target / "page")


def refusal(web: Web, path: str, target: Path, **limits: float) -> HaloError:
    with pytest.raises(HaloError) as caught:
        fetch(web, path, target, **limits)
    return caught.value


def test_a_page_comes_whole_and_says_who_asks(web: Web, tmp_path: Path) -> None:
    web.page("/a", "<p>Hello</p>", ETag='"1"')
    reply = fetch(web, "/a", tmp_path)
    assert (tmp_path / "page").read_bytes() == b"<p>Hello</p>"
    assert reply.status == 200 and reply.headers["etag"] == '"1"'
    assert reply.media_type == "text/html" and reply.charset == "utf-8"
    sent = web.seen[0][1]
    assert sent["User-Agent"].startswith("HALO/")
    assert sent["Host"] == f"127.0.0.1:{web.server_port}"
    assert not {"Cookie", "Authorization", "Referer"} & set(sent)


def test_redirects_are_followed_and_counted(web: Web, tmp_path: Path) -> None:
    for step in range(5):
        web.page(f"/{step}", "", 302, Location=f"/{step + 1}", Set_Cookie="a=b")
    web.page("/5", "<p>There</p>")
    reply = fetch(web, "/0", tmp_path)
    assert str(reply.address) == web.url("/5")
    assert not any("Cookie" in headers for _, headers in web.seen)
    web.page("/5", "", 301, Location="/6")
    (tmp_path / "page").unlink()
    assert refusal(web, "/0", tmp_path).code == "link_redirects"


def test_a_redirect_loop_ends(web: Web, tmp_path: Path) -> None:
    web.page("/a", "", 307, Location="/a")
    assert refusal(web, "/a", tmp_path).code == "link_redirects"
    assert len(web.seen) == 6


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("http://127.0.0.2:8080/secret", "link_private"),
        ("http://[::1]:8080/secret", "link_private"),
        ("http://169.254.169.254/latest/meta-data", "link_private"),
        ("file:///etc/passwd", "link_sent_away"),
        ("gopher://127.0.0.1/", "link_sent_away"),
    ],
)
def test_each_redirect_is_judged(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, code: str
) -> None:
    monkeypatch.setenv("HALO_LINK_NETWORKS", "127.0.0.1/32")
    web.page("/a", "", 302, Location=target)
    assert refusal(web, "/a", tmp_path).code == code


def test_without_the_setting_this_computer_is_closed(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALO_LINK_NETWORKS")
    web.page("/a", "secret")
    assert refusal(web, "/a", tmp_path).code == "link_private"
    assert web.seen == []


def test_the_judged_number_is_the_one_connected_to(web: Web, tmp_path: Path) -> None:
    """A name that answers differently the second time is asked once a connection."""
    asked = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.66"]

    web.page("/a", "<p>First answer</p>")
    address = web.address("/a")
    named = Address("http", "rebind.example", address.port, "/a")
    fetcher = Fetcher(Guard(guard().networks, rebinding), Limits(1_000))
    assert fetcher.save(named, tmp_path / "page").status == 200
    assert asked == ["rebind.example"]
    assert web.seen[0][1]["Host"] == f"rebind.example:{web.server_port}"


def test_the_next_number_is_tried(web: Web, tmp_path: Path) -> None:
    two = Guard(guard().networks, lambda host, port: ["127.0.0.9", "127.0.0.1"])
    web.page("/a", "<p>Here</p>")
    address = web.address("/a")
    reply = Fetcher(two, Limits(1_000)).save(address, tmp_path / "page")
    assert reply.status == 200


def test_ipv6(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    class Web6(Web):
        address_family = socket.AF_INET6

    try:
        server = Web6("::1")
    except OSError:
        pytest.skip("this computer has no IPv6")
    monkeypatch.setenv("HALO_LINK_NETWORKS", "::1/128")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.page("/a", "<p>Six</p>")
    address = Address("http", "::1", server.server_port, "/a")
    assert Fetcher(guard(), Limits(1_000)).save(address, tmp_path / "page").status == 200
    assert server.seen[0][1]["Host"] == f"[::1]:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_huge_file_is_refused_before_it_comes(web: Web, tmp_path: Path) -> None:
    def huge(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**12))
        handler.end_headers()

    web.pages["/a"] = huge
    assert isinstance(refusal(web, "/a", tmp_path), TooLargeError)
    assert not (tmp_path / "page").exists()


def test_a_file_that_does_not_state_its_size_is_cut_off(web: Web, tmp_path: Path) -> None:
    def endless(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while True:
            handler.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    web.pages["/a"] = endless
    assert isinstance(refusal(web, "/a", tmp_path), TooLargeError)


def test_a_gzip_bomb_is_cut_off(web: Web, tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(bytes(200_000_000)) + packer.flush()
    web.page("/a", bomb, Content_Encoding="gzip")
    assert isinstance(refusal(web, "/a", tmp_path), TooLargeError)
    assert (tmp_path / "page").stat().st_size <= 1_000_000


def test_gzip_is_unpacked(web: Web, tmp_path: Path) -> None:
    text = b"The wells. " * 50_000
    two_members = gzip.compress(text[:300_000]) + gzip.compress(text[300_000:])
    web.page("/a", two_members, Content_Encoding="gzip")
    fetch(web, "/a", tmp_path)
    assert (tmp_path / "page").read_bytes() == text


@pytest.mark.parametrize(
    ("body", "packing"),
    [(b"no gzip", "gzip"), (gzip.compress(b"text" * 999)[:-9], "gzip"), (b"x", "br")],
)
def test_broken_packing(web: Web, tmp_path: Path, body: bytes, packing: str) -> None:
    web.page("/a", body, Content_Encoding=packing)
    assert refusal(web, "/a", tmp_path).code == "link_broken"


def test_an_answer_that_breaks_off(web: Web, tmp_path: Path) -> None:
    def short(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"only this")
        handler.close_connection = True

    web.pages["/a"] = short
    assert refusal(web, "/a", tmp_path).code == "link_broken"


def test_what_is_no_http(web: Web, tmp_path: Path) -> None:
    def speaks_otherwise(handler: Handler) -> None:
        handler.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")

    web.pages["/a"] = speaks_otherwise
    assert refusal(web, "/a", tmp_path).code == "link_broken"


@pytest.mark.parametrize("part", ["head", "body"])
def test_a_server_that_drips_gains_no_time(web: Web, tmp_path: Path, part: str) -> None:
    done = threading.Event()

    def dripping(handler: Handler) -> None:
        if part == "body":
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
        else:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not done.wait(0.05):
            handler.wfile.write(b"x")

    web.pages["/a"] = dripping
    assert refusal(web, "/a", tmp_path, seconds=0.5).code == "link_slow"
    done.set()


def test_a_silent_server(web: Web, tmp_path: Path) -> None:
    done = threading.Event()

    def silent(handler: Handler) -> None:
        done.wait()

    web.pages["/a"] = silent
    assert refusal(web, "/a", tmp_path, stall=0.1).code == "link_slow"
    done.set()


def test_a_closed_port(web: Web, tmp_path: Path) -> None:
    address = Address("http", "127.0.0.1", 1025, "/")
    with pytest.raises(LinkError) as caught:
        Fetcher(guard(), Limits(1_000)).save(address, tmp_path / "page")
    assert caught.value.code == "link_no_answer"


def test_no_tls_there(web: Web, tmp_path: Path) -> None:
    address = Address("https", "127.0.0.1", web.server_port, "/")
    with pytest.raises(LinkError) as caught:
        Fetcher(guard(), Limits(1_000)).save(address, tmp_path / "page")
    assert caught.value.code == "link_certificate"


def test_certificates_are_checked_by_name(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection goes to a number, the certificate and SNI still belong to the name."""
    certificate, asked = _certificate(tmp_path, "pinned.example"), []
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate)
    server_side.sni_callback = lambda sock, name, context: asked.append(name)
    web.socket = server_side.wrap_socket(web.socket, server_side=True)
    web.page("/a", "<p>Safe</p>")
    trusting = ssl.create_default_context(cafile=str(certificate))
    here = Guard(guard().networks, lambda host, port: ["127.0.0.1"])
    address = Address("https", "pinned.example", web.server_port, "/a")
    with pytest.raises(LinkError) as caught:
        Fetcher(here, Limits(1_000)).save(address, tmp_path / "untrusted")
    assert caught.value.code == "link_certificate"
    monkeypatch.setattr(fetching, "_tls", lambda: trusting)
    assert Fetcher(here, Limits(1_000)).save(address, tmp_path / "page").status == 200
    assert asked[-1] == "pinned.example"
    other = Address("https", "other.example", web.server_port, "/a")
    with pytest.raises(LinkError) as caught:
        Fetcher(here, Limits(1_000)).save(other, tmp_path / "other")
    assert caught.value.code == "link_certificate"


def _certificate(folder: Path, name: str) -> Path:
    """A key and a certificate for a name, signed by itself, in one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=1))
        .not_valid_after(today + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    path = folder / "certificate.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, plain)
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def test_cancel_is_noticed_while_waiting(web: Web, tmp_path: Path) -> None:
    waiting, done = threading.Event(), threading.Event()

    def silent(handler: Handler) -> None:
        waiting.set()
        done.wait()

    web.pages["/a"] = silent
    fetcher = Fetcher(guard(), Limits(1_000), cancelled=waiting.is_set)
    with pytest.raises(CancelledError):
        fetcher.save(web.address("/a"), tmp_path / "page")
    done.set()


@pytest.mark.parametrize("how", ["cancel", "silence", "time"])
def test_a_name_server_that_does_not_answer_holds_up_nothing(tmp_path: Path, how: str) -> None:
    asked, done = threading.Event(), threading.Event()

    def resolver(host: str, port: int) -> list[str]:
        asked.set()
        done.wait()
        return ["127.0.0.1"]

    limits = Limits(1_000, **{"silence": {"stall": 0.3}, "time": {"seconds": 0.3}}.get(how, {}))
    cancelled = asked.is_set if how == "cancel" else lambda: False
    fetcher = Fetcher(Guard(resolver=resolver), limits, cancelled=cancelled)
    with pytest.raises(HaloError) as caught:
        fetcher.save(Address("http", "slow.example", 80, "/"), tmp_path / "page")
    assert caught.value.code == ("cancelled" if how == "cancel" else "link_slow")
    done.set()


def test_the_file_name_the_server_states(web: Web, tmp_path: Path) -> None:
    for number, (stated, name) in enumerate(
        [
            ('attachment; filename="Report 2026.pdf"', "Report 2026.pdf"),
            ("attachment; filename*=UTF-8''B%C3%A4ume.pdf", "Bäume.pdf"),
            ("inline", None),
        ]
    ):
        web.page(f"/{number}", "x", Content_Disposition=stated)
        assert fetch(web, f"/{number}", tmp_path / str(number)).file_name == name


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / str(number)).mkdir()
