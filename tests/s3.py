"""A small object store on loopback that speaks S3 as far as Arrow's and LanceDB's clients ask it.

Objects are held in memory. Requests must be signed with the one key it knows (the key's name is
looked at, not the signature), writes may be conditional, reads may be ranges.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

KEY = "test-key"
PAGE = 100
"""Objects in one page of a listing; small, so that clients have to ask for more."""


class Store(ThreadingHTTPServer):
    """``objects`` maps ``bucket/key`` to bytes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def running() -> Iterator[Store]:
    """A store of its own, stopped afterwards."""
    store = Store()
    thread = threading.Thread(target=store.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield store
    finally:
        store.shutdown()
        store.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Store
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm: ClassVar[bool] = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, status: int, code: str) -> None:
        self._answer(
            status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        )

    def _asked(self) -> tuple[str, dict[str, str], bytes] | None:
        """The object's name, the query's parameters and the body; None when it was refused."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        asked = parse_qs(parts.query, keep_blank_values=True)
        if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            self._refuse(403, "AccessDenied")
            return None
        return unquote(parts.path).strip("/"), {k: v[0] for k, v in asked.items()}, body

    def do_GET(self) -> None:
        if (request := self._asked()) is None:
            return
        name, asked, _ = request
        if "list-type" in asked:
            self._list(name, asked)
            return
        data = self.server.objects.get(name)
        if data is None:
            self._refuse(404, "NoSuchKey")
            return
        headers = {"ETag": _etag(data), "Last_Modified": "Tue, 01 Dec 2026 05:00:00 GMT"}
        ranged = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if ranged is None:
            self._answer(200, data, Content_Length=str(len(data)), **headers)
            return
        first, last = ranged.groups()
        start = int(first) if first else max(len(data) - int(last), 0)
        end = min(int(last) + 1 if first and last else len(data), len(data))
        if start >= len(data):
            self._refuse(416, "InvalidRange")
            return
        headers["Content_Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        self._answer(206, data[start:end], **headers)

    def do_HEAD(self) -> None:
        self.do_GET()

    def _list(self, bucket: str, asked: dict[str, str]) -> None:
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        after = asked.get("continuation-token") or asked.get("start-after", "")
        with self.server.guard:
            found = {
                name.removeprefix(f"{bucket}/"): data
                for name, data in sorted(self.server.objects.items())
                if name.startswith(f"{bucket}/{prefix}")
            }
        shown: list[str] = []
        folders: list[str] = []
        last = ""
        for key, data in found.items():
            inner, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            folder = f"{prefix}{inner}{cut}" if cut else ""
            if key <= after or (folder and after.startswith(folder)):
                continue
            if folder in folders:
                last = key
                continue
            if len(shown) + len(folders) >= min(PAGE, int(asked.get("max-keys", PAGE))):
                break
            last = key
            if folder:
                folders.append(folder)
                continue
            shown.append(
                f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size>"
                f"<LastModified>2026-12-01T05:00:00.000Z</LastModified>"
                f"<ETag>{escape(_etag(data))}</ETag></Contents>"
            )
        else:
            last = ""
        more = f"<NextContinuationToken>{escape(last)}</NextContinuationToken>" if last else ""
        inside = "".join(
            [*shown]
            + [f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in folders]
        )
        self._answer(
            200,
            f"<ListBucketResult><Name>{bucket}</Name>"
            f"<KeyCount>{len(shown) + len(folders)}</KeyCount>"
            f"<IsTruncated>{str(bool(last)).lower()}</IsTruncated>{more}{inside}"
            "</ListBucketResult>".encode(),
        )

    def do_PUT(self) -> None:
        if (request := self._asked()) is None:
            return
        name, asked, body = request
        source = self.headers.get("x-amz-copy-source")
        if source is not None:
            body = self.server.objects.get(unquote(source).strip("/"), b"")
        if "uploadId" in asked:
            self.server.uploads[asked["uploadId"]][int(asked["partNumber"])] = body
            self._answer(200, ETag=_etag(body))
        elif self._put(name, body):
            result = f"<CopyObjectResult><ETag>{escape(_etag(body))}</ETag></CopyObjectResult>"
            self._answer(200, result.encode() if source else b"", ETag=_etag(body))

    def _put(self, name: str, body: bytes) -> bool:
        with self.server.guard:
            there = self.server.objects.get(name)
            wanted = self.headers.get("If-Match")
            if (self.headers.get("If-None-Match") == "*" and there is not None) or (
                wanted and (there is None or wanted != _etag(there))
            ):
                self._refuse(412, "PreconditionFailed")
                return False
            self.server.objects[name] = body
            return True

    def do_POST(self) -> None:
        if (request := self._asked()) is None:
            return
        name, asked, body = request
        if "delete" in asked:
            for key in re.findall(r"<Key>(.*?)</Key>", body.decode()):
                self.server.objects.pop(f"{name}/{key}", None)
            self._answer(200, b"<DeleteResult></DeleteResult>")
        elif "uploads" in asked:
            upload = f"upload{len(self.server.uploads)}"
            self.server.uploads[upload] = {}
            self._answer(
                200,
                "<InitiateMultipartUploadResult><UploadId>"
                f"{upload}</UploadId></InitiateMultipartUploadResult>".encode(),
            )
        else:
            parts = self.server.uploads.pop(asked["uploadId"])
            whole = b"".join(parts[number] for number in sorted(parts))
            if self._put(name, whole):
                self._answer(
                    200,
                    "<CompleteMultipartUploadResult><ETag>"
                    f"{escape(_etag(whole))}</ETag></CompleteMultipartUploadResult>".encode(),
                )

    def do_DELETE(self) -> None:
        if (request := self._asked()) is None:
            return
        name, asked, _ = request
        if "uploadId" in asked:
            self.server.uploads.pop(asked["uploadId"], None)
        else:
            self.server.objects.pop(name, None)
        self._answer(204)


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
