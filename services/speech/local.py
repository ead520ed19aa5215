"""Whisper on this computer, run by CTranslate2 in int8.

Each piece is heard by itself: what was recognised before is no hint for what follows, because a
model that is told its own mistakes repeats them. The file's tags are the only hint, as they say how
names are spelled.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from services.errors import SpeechError, UserInputError
from services.speech import Heard, Utterance, weights
from services.speech.invented import is_invented
from services.speech.sound import RATE

if TYPE_CHECKING:
    from services.speech.sound import Piece

_SENTENCE_ENDS = ".?!…。？！।؟"
_CLOSERS = "\"'”’»)」』"
_TEMPERATURES = (0.0, 0.2, 0.4)
"""How freely to guess when the first try repeats itself or is unsure; higher ones invent words."""
_DOUBTFUL = 0.75
"""Mean probability of a sentence's words below which they are doubtful. Measured on speech with
noise added: sentences with a wrong word lie below it and right ones above."""
_FRAMES, _TAIL = 100, 3.0
"""Steps a second in which the model counts, and the seconds that are too few for a second look."""
_MOST_THREADS = 8


class Whisper:
    """The model in ``weights.model_dir()``, loaded when it is made (one to three seconds).

    Raises SpeechError when the weights are missing or cannot be loaded.
    """

    hosted = False

    def __init__(self) -> None:
        from faster_whisper import WhisperModel

        self.name = weights.model_name()
        folder = weights.model_dir()
        try:
            self._model = WhisperModel(
                str(folder),
                device="cpu",
                compute_type="int8",
                cpu_threads=min(os.cpu_count() or 2, _MOST_THREADS),
                local_files_only=True,
            )
        except (RuntimeError, ValueError) as error:
            raise SpeechError(
                f"The speech model in {folder.name} cannot be loaded.",
                code="speech_model_damaged",
                step="Remove that folder from the cache, or correct HALO_SPEECH_MODEL.",
                folder=folder.name,
            ) from error

    def hear(self, piece: Piece, language: str | None, hints: str) -> Heard:
        """See ``Recogniser``; an utterance is a sentence, timed by its words."""
        if language and language not in self._model.supported_languages:
            raise UserInputError(
                f"The speech model does not know the language “{language}”.",
                code="speech_language",
                step="Use a code such as en or de, or auto.",
                language=language,
            )
        import numpy as np

        segments, info = self._model.transcribe(
            np.pad(piece.samples, (0, RATE // 2)),  # a last word that ends with the sound is lost
            language=language,
            beam_size=5,
            temperature=_TEMPERATURES,
            condition_on_previous_text=False,
            # Without times among the words a piece is heard in one go; words are timed afterwards.
            without_timestamps=True,
            word_timestamps=True,
            hotwords=hints or None,
        )
        utterances: list[Utterance] = []
        dropped = 0
        for segment in segments:
            if segment.seek and piece.seconds - segment.seek / _FRAMES < _TAIL:
                break  # what is left after the last word, heard once more
            if is_invented(segment.text, segment.avg_logprob, segment.no_speech_prob):
                dropped += 1
            else:
                utterances += _sentences(segment)
        known = None if language else round(float(info.language_probability), 3)
        return Heard(utterances, info.language, known, dropped)


def _sentences(segment: Any) -> list[Utterance]:
    """A segment cut after the words that end a sentence."""
    sentences: list[list[Any]] = [[]]
    for word in segment.words:
        sentences[-1].append(word)
        if word.word.rstrip().rstrip(_CLOSERS).endswith(tuple(_SENTENCE_ENDS)):
            sentences.append([])
    found: list[Utterance] = []
    for words in filter(None, sentences):
        text = "".join(word.word for word in words).strip()
        sure = sum(word.probability for word in words) / len(words)
        end = segment.end if words is sentences[-1] else words[-1].end
        if text:
            found.append(Utterance(words[0].start, end, text, bool(sure < _DOUBTFUL)))
    return found
