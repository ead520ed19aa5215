"""Recordings for tests: two that were spoken (tests/fixtures), and others made here."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from services.speech.sound import RATE

FIXTURES = Path(__file__).parent / "fixtures"
ENGLISH, GERMAN = FIXTURES / "spoken_en.ogg", FIXTURES / "spoken_de.ogg"

Samples = NDArray[np.float32]


def seconds(count: float) -> NDArray[np.float64]:
    """The time of each sample."""
    return np.arange(int(RATE * count)) / RATE


def silence(count: float) -> Samples:
    return np.zeros(int(RATE * count), np.float32)


def noise(count: float) -> Samples:
    return np.random.default_rng(1).normal(0, 0.2, int(RATE * count)).astype(np.float32)


def music(count: float) -> Samples:
    """A chord below a melody of plucked notes, and a drum on every beat."""
    random, at = np.random.default_rng(1), seconds(count)
    chord = [np.sin(2 * np.pi * pitch * at) for pitch in (220.0, 277.2, 329.6)]
    sound = np.sum(chord, axis=0) * 0.05
    beat = RATE // 2
    for start in range(0, len(at) - beat, beat):
        one = at[:beat]
        pitch = random.choice([262, 294, 330, 349, 392, 440, 494, 523])
        tones = np.sum([np.sin(2 * np.pi * pitch * n * one) / n for n in range(1, 5)], axis=0)
        sound[start : start + beat] += tones * np.exp(-one * 6) * 0.3
        sound[start : start + 1600] += random.normal(0, 0.3, 1600) * np.exp(-np.arange(1600) / 400)
    made: Samples = np.clip(sound, -1, 1).astype(np.float32)
    return made


def spoken(path: Path = ENGLISH) -> Samples:
    """The samples of a spoken fixture."""
    from services.speech.sound import Recording

    with Recording(path) as recording:
        return np.concatenate(list(recording.blocks()))


def wav(samples: Samples) -> bytes:
    return _written(samples, "wav", "pcm_s16le")


def film(samples: Samples | None, *, frames: int = 20) -> bytes:
    """An MP4 video of a grey card, with sound or without any."""
    return _written(samples, "mp4", "aac", frames=frames)


def _written(samples: Samples | None, form: str, codec: str, *, frames: int = 0) -> bytes:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=form) as container:
        picture: Any = container.add_stream("mpeg4", rate=5) if frames else None
        sound: Any = None
        if samples is not None:
            sound = container.add_stream(codec, rate=RATE, layout="mono")
            sound.bit_rate = 96_000
        if picture is not None:
            picture.width, picture.height, picture.pix_fmt = 64, 48, "yuv420p"
            for _ in range(frames):
                card = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 128, np.uint8), "rgb24")
                container.mux(picture.encode(card))
            container.mux(picture.encode(None))
        if sound is not None and samples is not None:
            whole = (np.clip(samples, -1, 1) * 32767).astype(np.int16)[None, :]
            frame = av.AudioFrame.from_ndarray(whole, format="s16", layout="mono")
            frame.sample_rate = RATE
            resampler = av.AudioResampler(
                format=sound.format, layout="mono", rate=RATE, frame_size=1024
            )
            for part in [*resampler.resample(frame), *resampler.resample(None)]:
                container.mux(sound.encode(part))
            container.mux(sound.encode(None))
    return buffer.getvalue()
