"""Sound out of audio and video files, cut at pauses into pieces that a recogniser can hear.

Nothing holds a whole recording: it is decoded in blocks, silence is left out, and what is spoken is
packed into pieces of at most ``LONGEST`` seconds. A piece knows for each of its seconds where in
the recording it stands. Music and noise are no speech to the detector, so they are not heard at
all: the surest way not to have words invented for them.
"""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from services.errors import UnreadableSourceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

RATE = 16_000
"""Samples a second, one channel: what speech models are trained on."""
_LOWEST_RATE = 2000
"""Samples a second from which words can be told; a few bytes at a lower rate claim to be hours."""
LONGEST = 28.0
"""Seconds of a piece; Whisper hears 30 at a time, whether they are filled or not."""
WINDOW = 120
"""Seconds in which speech is looked for at once: 8 MB."""
_PAUSE_MS, _PAD_MS = 600, 250
"""A pause that ends a stretch of speech, and what is kept of the silence on both sides of it."""
_EDGE = RATE
"""A stretch that ends so near to the end of a window may go on in the next one."""
_TAGS = ("title", "artist", "album", "author", "composer", "show", "comment", "description")
_HINT_CHARS = 300


@dataclass(frozen=True)
class Piece:
    """Up to ``LONGEST`` seconds of speech, float32 samples of shape (n,) in -1..1.

    ``runs`` are (second in the piece, second in the recording) at which each stretch begins.
    """

    samples: Samples
    runs: list[tuple[float, float]]

    def time(self, seconds: float, lean: float = 0.0) -> float:
        """Where in the recording a second of the piece stands.

        Recognisers are a little off: up to ``lean`` seconds before a seam, it counts to what
        follows it; with a negative one, after a seam to what comes before.
        """
        at = max(bisect.bisect_right(self.runs, (seconds + lean, float("inf"))) - 1, 0)
        begin, stands = self.runs[at]
        return stands + max(seconds - begin, 0.0)

    @property
    def seconds(self) -> float:
        return len(self.samples) / RATE


class Recording:
    """An opened audio or video file; use it in ``with``.

    Raises UnreadableSourceError: ``damaged`` when it cannot be opened, ``no_sound`` when it has no
    sound track.
    """

    def __init__(self, path: Path) -> None:
        import av

        try:
            self._container = av.open(str(path), metadata_errors="ignore")
        except (av.FFmpegError, ValueError) as error:
            raise damaged() from error
        if not self._container.streams.audio:
            self._container.close()
            raise UnreadableSourceError(
                "This video has no sound track.",
                code="no_sound",
                step="Add a recording with sound, or a transcript of it.",
            )
        if 0 < (self._container.streams.audio[0].sample_rate or 0) < _LOWEST_RATE:
            self._container.close()
            raise damaged()
        length = self._container.duration
        self.stated = length / 1_000_000 if length and length > 0 else None
        """Its length in seconds as the file states it, None where it does not."""
        self.read = 0
        """Samples decoded so far."""

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self._container.close()

    @property
    def tags(self) -> dict[str, str]:
        """What the file says of itself: title, artist ... , not empty."""
        found = {key.lower(): " ".join(value.split()) for key, value in self._tags()}
        return {key: found[key] for key in _TAGS if found.get(key)}

    def _tags(self) -> Iterator[tuple[str, str]]:
        for stream in self._container.streams.audio:  # Ogg keeps them there
            yield from stream.metadata.items()
        yield from self._container.metadata.items()

    @property
    def hints(self) -> str:
        """The tags in a line: how names in this recording are spelled."""
        return ". ".join(dict.fromkeys(self.tags.values()))[:_HINT_CHARS]

    def blocks(self) -> Iterator[Samples]:
        """Its first sound track as blocks of about ten seconds; damaged frames are left out.

        Raises UnreadableSourceError (``damaged``) when nothing at all can be decoded.
        """
        import av
        import numpy as np

        resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
        parts: list[Samples] = []
        held = 0
        for frame in self._frames(resampler):
            samples = frame.to_ndarray().ravel()
            parts.append(samples.astype(np.float32) / 32768)
            held += len(samples)
            if held >= 10 * RATE:
                self.read += held
                yield np.concatenate(parts)
                parts, held = [], 0
        if parts:
            self.read += held
            yield np.concatenate(parts)
        if not self.read:
            raise damaged()

    def _frames(self, resampler: Any) -> Iterator[Any]:
        import av

        stream = self._container.streams.audio[0]
        packets = self._container.demux(stream)
        while True:
            try:
                packet = next(packets, None)
                if packet is None:
                    break
                for frame in packet.decode():
                    frame.pts = None  # gaps in the stamps are no gaps in what is played
                    yield from resampler.resample(frame)
            except av.InvalidDataError:
                continue
            except av.FFmpegError:
                break  # a file that was cut off ends here
        # Of channels that cannot be mixed down nothing was ever resampled, and nothing is left.
        with contextlib.suppress(av.FFmpegError):
            yield from resampler.resample(None)


def damaged() -> UnreadableSourceError:
    """The refusal of a recording that cannot be decoded."""
    return UnreadableSourceError(
        "This recording is damaged and cannot be played.",
        code="damaged",
        step="Open it in the program that made it, save it again, and add the new copy.",
        found="recording",
    )


def pieces(blocks: Iterable[Samples]) -> Iterator[Piece]:
    """What is spoken in a recording, in order, packed into pieces."""
    import numpy as np

    packing = _Packing()
    held: Samples = np.empty(0, np.float32)
    first = 0
    for block in blocks:
        held = np.concatenate([held, block])
        if len(held) >= WINDOW * RATE:
            used = yield from _spoken(packing, held, first, last=False)
            held, first = held[used:], first + used
    if len(held):
        yield from _spoken(packing, held, first, last=True)
    if packing.runs:
        yield packing.piece()


def _spoken(
    packing: _Packing, held: Samples, first: int, *, last: bool
) -> Generator[Piece, None, int]:
    """Pack the stretches of speech in ``held``; returns how many samples are done with."""
    from faster_whisper.vad import VadOptions, get_speech_timestamps

    options = VadOptions(
        min_silence_duration_ms=_PAUSE_MS, speech_pad_ms=_PAD_MS, max_speech_duration_s=LONGEST - 1
    )
    spans = [(span["start"], span["end"]) for span in get_speech_timestamps(held, options)]
    used = len(held) if last else len(held) - _EDGE
    if spans and not last and spans[-1][1] > used:
        used = spans.pop()[0]
    for start, end in spans:
        if not packing.has_room(end - start):
            yield packing.piece()
        packing.add(held[start:end], first + start)
    return used


@dataclass
class _Packing:
    """A piece in the making."""

    parts: list[Samples] = field(default_factory=list)
    runs: list[tuple[float, float]] = field(default_factory=list)
    length: int = 0

    def has_room(self, more: int) -> bool:
        return not self.length or self.length + more <= LONGEST * RATE

    def add(self, samples: Samples, start: int) -> None:
        self.runs.append((self.length / RATE, start / RATE))
        self.parts.append(samples.copy())
        self.length += len(samples)

    def piece(self) -> Piece:
        import numpy as np

        made = Piece(np.concatenate(self.parts), self.runs)
        self.parts, self.runs, self.length = [], [], 0
        return made
