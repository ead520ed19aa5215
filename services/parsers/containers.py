"""What a container of sound or moving pictures holds: audio, video or neither, by its bytes."""

from __future__ import annotations

import re
from pathlib import Path

_PICTURE_BRANDS = (b"hei", b"hev", b"mif", b"msf", b"avi", b"crx")
"""How the brands of still pictures begin that share MP4's boxes."""
_SOUND_BRANDS = (b"M4A ", b"M4B ", b"M4P ", b"F4A ")
_HANDLER = re.compile(rb"hdlr.{8}(vide|soun)", re.DOTALL)
_MOVIE_BYTES = 8 << 20
"""So much of the description of a film is looked through."""
_QUICKTIME = (b"moov", b"mdat", b"wide", b"skip", b"pnot")
_CODEC = re.compile(rb"\x86[\x80-\xff]([VA])_")
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"ID3", "audio"),
    (b"fLaC", "audio"),
    (b"#!AMR", "audio"),
    (b"caff\0\x01\0", "audio"),
    (b"\0\0\x01\xba", "video"),
    (b"FLV\x01", "video"),
)
_RIFF = {b"WAVE": "audio", b"AVI ": "video"}
_ASF = bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")
_ASF_VIDEO = bytes.fromhex("c0ef19bc4d5bcf11a8fd00805f5c442b")
_TRANSPORT = 188
"""Bytes of a packet of an MPEG transport stream."""

_MPEG_RATES = {  # kbit/s by (version 1?, layer), for the length of a frame
    (True, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (False, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_MPEG_HERTZ = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}


def media_kind(path: Path, head: bytes) -> str | None:
    """``audio``, ``video`` or None; ``head`` is how the file begins."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head.startswith((b"RIFF", b"RF64", b"RIFX")):
        return _RIFF.get(head[8:12])
    if head.startswith(b"FORM") and head[8:12] in (b"AIFF", b"AIFC"):
        return "audio"
    if head.startswith(b"OggS"):
        return "video" if b"\x80theora" in head[:4096] else "audio"
    if head.startswith(b"\x1aE\xdf\xa3"):
        return "audio" if set(_CODEC.findall(head)) == {b"A"} else "video"
    if head.startswith(_ASF):
        return "video" if _ASF_VIDEO in head else "audio"
    if head[4:8] == b"ftyp":
        return None if head[8:11] in _PICTURE_BRANDS else _boxed(path, head[8:12])
    if head[4:8] in _QUICKTIME and _boxes(path):
        return _boxed(path, b"qt  ")
    if _is_transport(head):
        return "video"
    return "audio" if _is_frames(head) else None


def _boxed(path: Path, brand: bytes) -> str:
    """Whether a film has pictures, as its own description says, else as its brand does."""
    found = set(_HANDLER.findall(_boxes(path)))
    if found:
        return "video" if b"vide" in found else "audio"
    return "audio" if brand in _SOUND_BRANDS else "video"


def _boxes(path: Path) -> bytes:
    """The beginning of the box that describes a film (``moov``), b"" when there is none."""
    size, at = path.stat().st_size, 0
    with path.open("rb") as file:
        while at + 8 <= size:
            file.seek(at)
            head = file.read(16)
            length = int.from_bytes(head[:4], "big")
            if length == 1:
                length = int.from_bytes(head[8:16], "big")
            if head[4:8] == b"moov":
                file.seek(at + 8)
                return file.read(min(length or size, _MOVIE_BYTES))
            if length < 8:
                break
            at += length
    return b""


def _is_transport(head: bytes) -> bool:
    return len(head) > 4 * _TRANSPORT and all(head[n * _TRANSPORT] == 0x47 for n in range(5))


def _is_frames(head: bytes) -> bool:
    """Whether bytes are MPEG or AAC sound without a container: a frame, and another after it."""
    length = _frame(head)
    return bool(length) and (len(head) < length + 4 or bool(_frame(head[length:])))


def _frame(head: bytes) -> int:
    """The length of the frame of sound that bytes begin with, 0 when they begin with none."""
    if len(head) < 6 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return 0
    if head[1] & 0xF6 == 0xF0:  # AAC
        return (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5
    version, layer = head[1] >> 3 & 3, 4 - (head[1] >> 1 & 3)
    rate, hertz = head[2] >> 4, head[2] >> 2 & 3
    rates = _MPEG_RATES.get((version == 3, layer))
    if rates is None or version == 1 or not 1 <= rate <= 14 or hertz == 3:
        return 0
    samples = 72 if layer == 3 and version != 3 else 144
    padding = head[2] >> 1 & 1
    return samples * rates[rate - 1] * 1000 // _MPEG_HERTZ[version][hertz] + padding
