"""Speech is found, cut at pauses and packed; every second of a piece knows where it stands."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from services.errors import UnreadableSourceError
from services.speech.sound import LONGEST, RATE, Recording, pieces
from tests import sounds


def blocks(samples: sounds.Samples) -> list[sounds.Samples]:
    return [samples[at : at + 10 * RATE] for at in range(0, len(samples), 10 * RATE)]


def test_silence_is_left_out_and_times_lead_back() -> None:
    (piece,) = pieces(blocks(sounds.spoken()))
    assert 9 < piece.seconds < 15
    assert piece.time(0) == pytest.approx(1.8, abs=0.4)
    begin, stands = piece.runs[-1]
    assert stands == pytest.approx(14.5, abs=0.6)
    assert piece.time(begin + 1) == pytest.approx(stands + 1)
    assert piece.time(begin - 0.05, 0.3) == stands
    assert piece.time(begin + 0.05, -0.3) == pytest.approx(piece.time(begin - 0.01) + 0.06)


def test_a_long_recording_comes_in_short_pieces_without_a_gap() -> None:
    once = sounds.spoken()
    whole = np.concatenate([once] * 20)
    cut = list(pieces(blocks(whole)))
    assert len(cut) > 8
    assert all(piece.seconds <= LONGEST for piece in cut)
    starts = [stands for piece in cut for _, stands in piece.runs]
    assert starts == sorted(starts)
    length = len(once) / RATE
    for number in range(20):  # speech stands where it was spoken, also across the windows
        assert min(abs(start - number * length - 1.8) for start in starts) < 0.5
    (alone,) = pieces(blocks(once))
    assert sum(piece.seconds for piece in cut) == pytest.approx(20 * alone.seconds, rel=0.05)


def test_the_tags_of_a_file_are_hints() -> None:
    with Recording(sounds.ENGLISH) as recording:
        assert recording.hints == "Harbour report"
        assert recording.stated == pytest.approx(20, abs=0.5)


def _wave(path: Path, *, rate: int, channels: int) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(bytes(2 * channels * 1000))
    return path


def test_channels_that_cannot_be_mixed_are_damage_and_no_crash(tmp_path: Path) -> None:
    path = _wave(tmp_path / "many.wav", rate=16_000, channels=64)
    with Recording(path) as recording, pytest.raises(UnreadableSourceError) as caught:
        list(recording.blocks())
    assert caught.value.code == "damaged"


def test_a_rate_too_low_for_words_is_not_blown_up_to_hours(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSourceError) as caught:
        Recording(_wave(tmp_path / "slow.wav", rate=1, channels=1))
    assert caught.value.code == "damaged"
