"""Recordings, heard by the bundled model: words with their times, and none where nobody speaks."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from services.errors import SpeechError, UnreadableSourceError, UserInputError
from services.models import Document
from services.parsers import extract_text_from_bytes, parse
from services.parsers.media import paragraphs
from services.speech import Utterance
from tests import sounds

pytestmark = pytest.mark.model


def read(tmp_path: Path, data: bytes, name: str = "talk.wav") -> Document:
    path = tmp_path / "source"
    path.write_bytes(data)
    return parse(path, name)


def test_speech_becomes_paragraphs_that_carry_their_times() -> None:
    progress: list[tuple[int, int]] = []
    document = parse(
        sounds.ENGLISH, "harbour.ogg", progress=lambda done, total: progress.append((done, total))
    )
    assert document.title == "Harbour report"
    assert (document.kind, document.type_label) == ("audio", "Audio")
    assert document.units == {"seconds": 20}
    first, second = document.blocks
    assert re.match(r"The harbou?r was closed on Monday because of the storm\.", first.text)
    assert first.time == pytest.approx(2, abs=0.5)
    assert second.text.startswith("On Tuesday")
    assert second.time == pytest.approx(14.6, abs=0.5)
    assert [first.text[at:].split()[0] for at, _ in first.timed()] == ["The", "Seventeen"]
    assert first.timed()[1][1] == pytest.approx(5.8, abs=0.7)
    at = document.text.index("The first ship")
    assert document.time_at(at) == pytest.approx(17.5, abs=0.7)
    report = document.report
    assert (report.unit, report.units_read, report.units_total) == ("second", 20, 20)
    assert report.language == "en"
    assert report.transcription is not None
    assert report.transcription.by == "whisper-base"
    assert not report.transcription.hosted
    assert 9 < report.transcription.speech_seconds < 15
    assert progress[-1] == (20, 20)


def test_words_that_noise_makes_uncertain_are_doubted(tmp_path: Path) -> None:
    """The model is wrong in most sentences then, and each of its words says how sure it was."""
    speech = sounds.spoken()
    loud = float(np.sqrt((speech**2).mean()))
    noise = np.random.default_rng(1).normal(0, loud, speech.shape)
    document = read(tmp_path, sounds.wav(((speech + noise) / 4).astype(np.float32)))
    (found,) = [one for one in document.report.findings if one.code == "speech_doubtful"]
    assert found.params["count"] >= found.params["total"] / 2
    assert Document.model_validate_json(document.model_dump_json()) == document
    assert not document.report.complete


def test_the_language_is_found_or_given(monkeypatch: pytest.MonkeyPatch) -> None:
    found = parse(sounds.GERMAN, "bericht.ogg")
    assert found.report.language == "de"
    assert "am dritten März veröffentlicht" in found.text
    assert found.report.transcription is not None
    assert found.report.transcription.language_probability is not None
    monkeypatch.setenv("HALO_SPEECH_LANGUAGE", "en")
    given = parse(sounds.GERMAN, "bericht.ogg")
    assert given.report.language == "en"
    assert "veröffentlicht" not in given.text
    monkeypatch.setenv("HALO_SPEECH_LANGUAGE", "xx")
    with pytest.raises(UserInputError, match="does not know the language"):
        parse(sounds.GERMAN, "bericht.ogg")


@pytest.mark.parametrize("sound", [sounds.silence, sounds.noise, sounds.music])
def test_where_nobody_speaks_no_word_is_invented(tmp_path: Path, sound) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnreadableSourceError) as caught:
        read(tmp_path, sounds.wav(sound(20)))
    assert caught.value.code == "no_speech"
    assert caught.value.params == {"length": "0:20"}


def test_music_before_speech_adds_no_words(tmp_path: Path) -> None:
    both = np.concatenate([sounds.music(15), sounds.spoken(sounds.GERMAN)])
    document = read(tmp_path, sounds.wav(both))
    assert document.text.startswith("Der Jahres")
    assert document.blocks[0].time == pytest.approx(15, abs=0.8)


def test_sound_is_taken_out_of_a_video(tmp_path: Path) -> None:
    document = read(tmp_path, sounds.film(sounds.spoken()), "harbour.mp4")
    assert (document.kind, document.type_label) == ("video", "Video")
    assert "because of the storm. Seventeen ships" in document.text


def test_what_cannot_be_heard_is_refused_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSourceError) as caught:
        read(tmp_path, sounds.film(None), "mute.mp4")
    assert caught.value.code == "no_sound"
    for data in (b"ID3\x03 and then nothing of any use" * 20, b"fLaC" + bytes(2000)):
        with pytest.raises(UnreadableSourceError) as caught:
            read(tmp_path, data, "broken.mp3")
        assert caught.value.code == "damaged"


def test_a_recording_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = sounds.wav(np.concatenate([sounds.spoken(sounds.GERMAN), sounds.silence(10)]))
    document = read(tmp_path, sounds.film(sounds.spoken(sounds.GERMAN), frames=100), "a.mp4")
    assert "sound_ends" in [finding.code for finding in document.report.findings]
    cut = read(tmp_path, whole[: len(whole) - 300_000])
    assert "am dritten März" in cut.text


def test_without_the_package_the_way_to_get_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "faster_whisper" else real(name, *rest),
    )
    with pytest.raises(SpeechError) as caught:
        parse(sounds.ENGLISH, "harbour.ogg")
    assert caught.value.code == "speech_missing"
    assert "make install" in caught.value.step
    data = sounds.ENGLISH.read_bytes()
    assert extract_text_from_bytes("harbour.ogg", data) == "Audio-Datei: harbour.ogg"


def test_paragraphs_end_at_pauses_and_after_half_a_minute() -> None:
    said = [Utterance(n * 4.0, n * 4.0 + 3.8, f"Sentence {n}.") for n in range(20)]
    said += [Utterance(100, 103, "After a pause."), Utterance(103.2, 105, "Go on.")]
    blocks = list(paragraphs(said))
    assert [block.time for block in blocks] == [0, 32, 64, 100]
    assert blocks[-1].text == "After a pause. Go on."
    assert blocks[-1].times == [(0, 100), (15, 103.2)]
    endless = [Utterance(n * 5.0, n * 5.0 + 5, "and so on") for n in range(30)]
    assert all(
        later.time - earlier.time <= 60
        for earlier, later in zip(
            list(paragraphs(endless)), list(paragraphs(endless))[1:], strict=False
        )
        if later.time is not None and earlier.time is not None
    )
