"""Audio and video: what is said in them, in paragraphs that carry their times.

The sound is decoded, searched for speech and recognised piece by piece (``services.speech``), so a
recording of hours needs no more memory than one of minutes. Words nobody said are worse than none:
where no speech is found the file is refused with that as its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from services import speech
from services.errors import UnreadableSourceError
from services.models import Block, Document, Transcription
from services.parsers import Progress, budget, errands
from services.speech import Heard, Recogniser, Utterance, clock, sound
from services.speech.invented import without_loops

_SURE = 0.6
"""From this probability on, the language of the first pieces is that of the recording."""
_UNSURE_PIECES = 3
_PIECE_SECONDS = 600.0
"""Wall time allowed for a piece of half a minute: a slow computer takes twenty."""
_BLOCK_SECONDS = 60.0
_SEAM = 0.3
"""Seconds: no sentence begins that shortly before a pause, or ends that shortly after one."""
_LONG_PAUSE, _PAUSE = 4.0, 1.5
_ENOUGH, _MOST = 30.0, 60.0
"""Seconds from which a paragraph ends at a sentence's end, and at which it ends anyway."""
_ENDS = '.?!…。？！।؟"”»'
_MISSING = 3.0
"""So many seconds may be missing at the end before it counts as broken off."""


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Transcribe a recording. Unit: seconds.

    Raises:
        UnreadableSourceError: ``damaged``, ``no_sound`` or ``no_speech``.
        SpeechError: the recogniser is missing or failed.
    """
    speech.require()
    with sound.Recording(path) as recording:
        document = Document(title=recording.tags.get("title", ""))
        who = recording.tags.get("artist") or recording.tags.get("author")
        if who:
            document.metadata["author"] = who
        listening = _Listening(recording, progress)
        utterances, dropped = without_loops(listening.utterances())
        listening.end()
    seconds = recording.read / sound.RATE
    if not utterances:
        raise _no_speech(seconds)
    document.blocks = list(paragraphs(utterances))
    document.units = {"seconds": round(seconds)}
    report = document.report
    report.unit, report.units_total = "second", round(recording.stated or seconds)
    report.units_read = min(round(seconds), report.units_total)
    report.language = listening.spoken
    report.transcription = Transcription(
        by=listening.by,
        hosted=listening.hosted,
        language_probability=listening.probability,
        speech_seconds=round(listening.speech, 1),
    )
    _find(document, utterances, listening, dropped, seconds, recording.stated)
    return document


class _Listening:
    """One pass over a recording, and what was learned of it on the way.

    The recogniser is made when the first speech is found: silence needs none.
    """

    def __init__(self, recording: sound.Recording, progress: Progress | None) -> None:
        self._recording = recording
        self._progress = progress
        self._recogniser: Recogniser | None = None
        self._asked = speech.language_wanted(errands.language())
        self._guesses: dict[str, float] = {}
        self._pieces = 0
        self._done = 0
        self.speech = 0.0
        self.dropped = 0
        self.by = ""
        self.hosted = False
        self.probability: float | None = None

    @property
    def spoken(self) -> str | None:
        """The language as it was given, or else as most of the sound says."""
        if self._asked:
            return self._asked
        return max(self._guesses, key=self._guesses.__getitem__, default=None)

    def utterances(self) -> Iterator[Utterance]:
        """All utterances, timed from the beginning of the recording."""
        for piece in sound.pieces(self._blocks()):
            budget.more_time(_PIECE_SECONDS)
            heard = self._hear(piece)
            self._tell(piece.time(piece.seconds))
            self.speech += piece.seconds
            self.dropped += heard.dropped
            for said in heard.utterances:
                start, end = piece.time(said.start, _SEAM), piece.time(said.end, -_SEAM)
                yield Utterance(round(start, 2), round(end, 2), said.text, said.doubtful)

    def _blocks(self) -> Iterator[sound.Samples]:
        for block in self._recording.blocks():
            budget.more_time(_BLOCK_SECONDS)
            yield block
            # What is still held to be cut into pieces was not heard yet.
            self._tell(self._recording.read / sound.RATE - sound.WINDOW)

    def end(self) -> None:
        """The last seconds were heard or hold nothing."""
        self._tell(self._recording.read / sound.RATE)

    def _tell(self, seconds: float) -> None:
        """Report how far it was heard: words or silence."""
        total = round(self._recording.stated or 0)
        self._done = max(self._done, min(round(seconds), total))
        if self._progress and self._done:
            self._progress(self._done, total)

    def _hear(self, piece: sound.Piece) -> Heard:
        if self._recogniser is None:
            self._recogniser = speech.recogniser(private=errands.private())
            self.by, self.hosted = self._recogniser.name, self._recogniser.hosted
        heard = self._recogniser.hear(piece, self._known(), self._recording.hints)
        self._pieces += 1
        if heard.language and heard.probability is not None:
            sure = self._guesses.get(heard.language, 0.0) + heard.probability
            self._guesses[heard.language] = sure
            self.probability = max(self.probability or 0.0, heard.probability)
        elif heard.language and not self._asked:
            self._guesses.setdefault(heard.language, 0.0)
        return heard

    def _known(self) -> str | None:
        """The language to listen for, once it is known: later pieces are not guessed anew."""
        if self._asked or not self._guesses:
            return self._asked
        sure = (self.probability or 0.0) >= _SURE or self._pieces >= _UNSURE_PIECES
        return self.spoken if sure else None


def paragraphs(utterances: list[Utterance]) -> Iterator[Block]:
    """Utterances as blocks of half a minute or so, ended at pauses and sentence ends."""
    block: list[Utterance] = []
    for said in utterances:
        if block and _ends(block, said):
            yield _block(block)
            block = []
        block.append(said)
    if block:
        yield _block(block)


def _ends(block: list[Utterance], following: Utterance) -> bool:
    pause = following.start - block[-1].end
    length = block[-1].end - block[0].start
    whole = block[-1].text.endswith(tuple(_ENDS))
    return (
        pause >= _LONG_PAUSE
        or (pause >= _PAUSE and whole and length >= _ENOUGH / 3)
        or (whole and length >= _ENOUGH)
        or following.end - block[0].start > _MOST
    )


def _block(utterances: list[Utterance]) -> Block:
    text = ""
    times: list[tuple[int, float]] = []
    for said in utterances:
        text += " " if text else ""
        times.append((len(text), said.start))
        text += said.text
    return Block(text=text, time=utterances[0].start, times=times if len(times) > 1 else [])


def _find(
    document: Document,
    utterances: list[Utterance],
    listening: _Listening,
    looped: int,
    seconds: float,
    stated: float | None,
) -> None:
    """Note what the reader should know of the transcript."""
    note = document.report.note
    doubtful = sum(said.doubtful for said in utterances)
    if doubtful:
        note(
            "speech_doubtful",
            f"{doubtful} of {len(utterances)} sentences were hard to understand; their words may "
            "be wrong.",
            count=doubtful,
            total=len(utterances),
        )
    dropped = listening.dropped + looped
    if dropped:
        note(
            "speech_dropped",
            f"{dropped} lines were left out that nobody seems to have said.",
            count=dropped,
        )
    if listening.probability is not None and listening.probability < _SURE:
        note(
            "speech_language",
            f"The language was guessed with {listening.probability:.0%} certainty: "
            f"{listening.spoken}.",
            language=listening.spoken,
            percent=round(listening.probability * 100),
        )
    if stated and stated - seconds > _MISSING:
        note(
            "sound_ends",
            f"The sound ends after {clock(seconds)} of {clock(stated)}.",
            seconds=clock(seconds),
            total=clock(stated),
        )


def _no_speech(seconds: float) -> UnreadableSourceError:
    return UnreadableSourceError(
        f"No words were found in this recording of {clock(seconds)}.",
        code="no_speech",
        step="It may hold only music, noise or silence.",
        length=clock(seconds),
    )
