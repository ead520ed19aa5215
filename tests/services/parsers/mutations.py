"""Damage to files, repeatable from a random generator: to bytes, and inside what they are made of.

``mutate(rng, data)`` gives the damaged bytes and the names of what was done to them.
"""

from __future__ import annotations

import io
import random
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable

from services.parsers.sniff import BROKEN_ZIP

Mutation = Callable[[random.Random, bytes], bytes]

NUMBERS = (
    b"0", b"-1", b"1", b"255", b"65536", b"2147483647", b"-2147483648", b"4294967296",
    b"99999999999999999999", b"1e308", b"NaN", b"0.0000001", b"", b"\xd9\xa3",
)  # fmt: skip
_NUMBER = re.compile(rb"\d+")
_TAG = re.compile(rb"<[A-Za-z][^<>]*>")
_ATTRIBUTE = re.compile(rb'="[^"<]*"')
_ELEMENT = re.compile(rb"<([\w:]+)(?:\s[^<>]*)?>[^<>]*</\1>")
_STREAM = re.compile(rb"(/Length )(\d+)([^\n]*?>>\s*stream\r?\n)(.*?)(\r?\nendstream)", re.DOTALL)
_VALUE = re.compile(rb'"[^"]*"|\d+|null|true')


def _span(rng: random.Random, data: bytes) -> tuple[int, int]:
    """A stretch of the data, mostly short."""
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + int(2 ** rng.uniform(0, 12)))


def _between(rng: random.Random, data: bytes, pattern: re.Pattern[bytes], new: bytes) -> bytes:
    """The data with one match of the pattern, any one, replaced."""
    found = list(pattern.finditer(data))
    if not found:
        return data
    one = rng.choice(found)
    return data[: one.start()] + new + data[one.end() :]


# --- bytes ---------------------------------------------------------------------------------------


def truncated(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def flipped(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 3, 30)) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def deleted(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def doubled(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 2, 200)) + data[end:]


def swapped(rng: random.Random, data: bytes) -> bytes:
    a, b, c = sorted(rng.randrange(len(data) + 1) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def zeroed(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + bytes(end - start) + data[end:]


def noisy(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + rng.randbytes(end - start) + data[end:]


def headless(rng: random.Random, data: bytes) -> bytes:
    size = min(rng.choice((4, 16, 64, 512)), len(data))
    return flipped(rng, data[:size]) + data[size:]


def extreme(rng: random.Random, data: bytes) -> bytes:
    """Four aligned bytes become a number at the edge: sizes, counts and offsets of containers."""
    at = rng.randrange(max(len(data) // 4, 1)) * 4
    return data[:at] + rng.choice((b"\xff" * 4, b"\xff\xff\xff\x7f", bytes(4))) + data[at + 4 :]


BYTES: tuple[Mutation, ...] = (
    truncated, truncated, flipped, deleted, doubled, swapped, zeroed, noisy, headless, extreme,
)  # fmt: skip


# --- text ----------------------------------------------------------------------------------------


def renumbered(rng: random.Random, data: bytes) -> bytes:
    return _between(rng, data, _NUMBER, rng.choice(NUMBERS))


def odd_characters(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    odd = rng.choice(
        (b'"', b"'", b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbf\xbf", "\u202e".encode(), b"\x0c",
         b"&#0;", b"&#xD800;", b"{", b"}", b"[", b"\\", b"<", b"]]>", b"\r",
         b"x" * 70_000, b"\n" * 5000)
    )  # fmt: skip
    return data[:at] + odd * rng.choice((1, 2, 20)) + data[at:]


TEXT: tuple[Mutation, ...] = (renumbered, renumbered, odd_characters, *BYTES)


# --- XML and HTML --------------------------------------------------------------------------------


def nested(rng: random.Random, data: bytes) -> bytes:
    """An element many times inside itself."""
    tag = rng.choice(_TAG.findall(data) or [b"<a>"]).rstrip(b"/>") + b">"
    name = re.split(rb"[\s>]", tag[1:])[0]
    depth = rng.choice((50, 300, 5000))
    return _between(rng, data, _ELEMENT, tag * depth + b"deep" + b"</" + name + b">" * depth)


def giant_attribute(rng: random.Random, data: bytes) -> bytes:
    return _between(rng, data, _ATTRIBUTE, b'="' + b"9" * rng.choice((400, 5000, 1_000_000)) + b'"')


def odd_attribute(rng: random.Random, data: bytes) -> bytes:
    odd = (
        *NUMBERS,
        b"../../../etc/passwd",
        b"http://127.0.0.1:9/x",
        b"#",
        b"rId1",
        b"A0:ZZZ9999999",
    )
    return _between(rng, data, _ATTRIBUTE, b'="' + rng.choice(odd) + b'"')


def entities(rng: random.Random, data: bytes) -> bytes:
    bomb = b"".join(
        b'<!ENTITY e%d "%s">' % (n, (b"&e%d;" % (n - 1) if n else b"lol") * 10) for n in range(12)
    )
    use = rng.choice((b"&e11;", b"&out;"))
    head = b'<!DOCTYPE x [<!ENTITY out SYSTEM "file:///etc/passwd">' + bomb + b"]>"
    start = data.find(b"?>") + 2 if data.startswith(b"<?xml") else 0
    return data[:start] + head + _between(rng, data[start:], _ELEMENT, b"<a>" + use + b"</a>")


def dropped_element(rng: random.Random, data: bytes) -> bytes:
    return _between(rng, data, _ELEMENT, b"")


def repeated_element(rng: random.Random, data: bytes) -> bytes:
    found = list(_ELEMENT.finditer(data))
    if not found:
        return data
    one, other = rng.choice(found), rng.choice(found)
    return data[: one.end()] + other[0] * rng.choice((1, 3, 500)) + data[one.end() :]


def dropped_tag(rng: random.Random, data: bytes) -> bytes:
    return _between(rng, data, _TAG, b"")


MARKUP: tuple[Mutation, ...] = (
    nested, giant_attribute, odd_attribute, odd_attribute, entities, dropped_element,
    repeated_element, dropped_tag, *TEXT,
)  # fmt: skip


# --- JSON ----------------------------------------------------------------------------------------


def odd_value(rng: random.Random, data: bytes) -> bytes:
    depth = rng.choice((40, 1500, 100_000))
    odd = (*NUMBERS, b"null", b"[]", b"{}", b'""', b'"\\ud800"', b'{"a": 1, "a": 2}', b"[[1], {}]",
           b"[" * depth + b"1" + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth)  # fmt: skip
    return _between(rng, data, _VALUE, rng.choice(odd))


JSON: tuple[Mutation, ...] = (odd_value, odd_value, odd_value, *TEXT)


# --- containers ----------------------------------------------------------------------------------


def inside_zip(rng: random.Random, data: bytes) -> bytes:
    """One member damaged, missing or double; the container around it is sound."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(info, archive.read(info)) for info in archive.infolist()]
    except BROKEN_ZIP:
        members = []
    if not members:  # damaged before
        return rng.choice(BYTES)(rng, data)
    at = rng.randrange(len(members))
    info, content = members[at]
    todo = rng.randrange(10)
    if todo == 0:
        del members[at]
    elif todo == 1:
        members[at] = info, members[rng.randrange(len(members))][1]
    elif todo == 2:
        members.append((zipfile.ZipInfo(rng.choice(("../../out", "/out", "a/b" * 99))), b"out"))
    else:
        members[at] = info, mutate(rng, content)[0]
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        warnings.simplefilter("ignore")  # of names that come twice
        for each, body in members:
            made.writestr(each.filename, body)
    return buffer.getvalue()


def inside_pdf(rng: random.Random, data: bytes) -> bytes:
    """The content of one stream damaged, compressed as before and with its right length."""
    found = list(_STREAM.finditer(data))
    if not found:
        return data
    one = rng.choice(found)
    body = one[4]
    try:
        body = zlib.compress(rng.choice(TEXT)(rng, zlib.decompress(body)))
    except zlib.error:
        body = rng.choice(TEXT)(rng, body)
    new = one[1] + str(len(body)).encode() + one[3] + body + one[5]
    return data[: one.start()] + new + data[one.end() :]


def mutate(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """One to three kinds of damage that suit what the bytes are. Returns them and their names."""
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        mutation = rng.choice(_suiting(data))
        data = mutation(rng, data)
        done.append(mutation.__name__)
    return data, "+".join(done)


def _suiting(data: bytes) -> tuple[Mutation, ...]:
    head = data[:512].lstrip()
    if data.startswith(b"PK\x03\x04") and zipfile.is_zipfile(io.BytesIO(data)):
        return (inside_zip,) * 2 * len(BYTES) + BYTES
    if head.startswith(b"%PDF"):
        return (inside_pdf,) * len(TEXT) + TEXT
    if head.startswith(b"<"):
        return MARKUP
    if head.startswith((b"{", b"[")):
        return JSON
    return TEXT if b"\0" not in head else BYTES
