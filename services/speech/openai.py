"""Transcription by OpenAI, or by any server that speaks its protocol; only where it was chosen.

A piece is written as a small FLAC file (some 500 KB, far below what servers take) and sent by the
process that may use the network (``services.parsers.errands``). Models that tell the times of their
segments are asked for them; for the others all words of a piece stand at its beginning, which is
at most half a minute off. Nothing this module raises or logs holds a key.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from services.embeddings.endpoint import OPENAI, is_hosted, normalised
from services.errors import SpeechError
from services.parsers import errands
from services.settings import setting
from services.speech import Heard, Utterance
from services.speech.invented import is_invented
from services.speech.sound import RATE

if TYPE_CHECKING:
    import openai

    from services.speech.sound import Piece, Samples

DEFAULT_MODEL = "gpt-transcribe"
_TIMEOUT = 120.0
_RETRIES = 4
_DOUBTFUL = -0.5
"""Mean log-probability of a segment below which its words are doubtful."""
_CODE = re.compile(r"[a-z]{2,3}")


def base_url() -> str:
    """The address that recordings are sent to. Raises SettingsError when it is none."""
    return normalised(setting("OPENAI_BASE_URL") or OPENAI, "OPENAI_BASE_URL")


def model() -> str:
    return setting("HALO_TRANSCRIPTION_MODEL") or DEFAULT_MODEL


class OpenAIRecogniser:
    """One server and model; see ``Recogniser``."""

    def __init__(self, name: str, *, hosted: bool) -> None:
        self.name = name
        self.hosted = hosted

    @classmethod
    def from_settings(cls) -> OpenAIRecogniser:
        """Raises SpeechError (``transcription_key_missing``), SettingsError."""
        url = base_url()
        if url == OPENAI and not setting("OPENAI_API_KEY"):
            raise SpeechError(
                "Transcription by OpenAI is chosen, but no key is set.",
                code="transcription_key_missing",
                step="Set OPENAI_API_KEY, or HALO_TRANSCRIPTION=local.",
            )
        return cls(f"openai:{model()}", hosted=is_hosted(url))

    def hear(self, piece: Piece, language: str | None, hints: str) -> Heard:
        with tempfile.TemporaryDirectory(prefix="halo-sound-") as folder:
            path = Path(folder) / "piece.flac"
            write_flac(piece.samples, path)
            answer = errands.send(
                {"do": "transcribe", "file": str(path), "language": language, "hints": hints}
            )
        kept: list[Utterance] = []
        for said in answer["segments"]:
            if is_invented(said["text"], said["log_probability"], said["no_speech"]):
                continue
            start = min(max(float(said["start"]), 0.0), piece.seconds)
            end = min(float(said["end"] or piece.seconds), piece.seconds)
            doubtful = said["log_probability"] < _DOUBTFUL
            kept.append(Utterance(start, max(end, start), said["text"].strip(), doubtful))
        return Heard(kept, answer["language"], None, len(answer["segments"]) - len(kept))


def transcribe(errand: dict[str, Any], *, private: bool = False) -> dict[str, Any]:
    """Send one file; ``{"language", "segments": [{"start", "end", "text", ...}]}``.

    Raises SpeechError when the server cannot be reached, refuses or answers with something else.
    """
    import openai

    url, name = base_url(), model()
    if private and is_hosted(url):
        raise SpeechError(
            "A private recording is not sent to a service outside your network.",
            code="transcription_private",
            step="Set HALO_TRANSCRIPTION=local.",
        )
    # OpenAI's newer models know no times; whisper-1 and other servers do.
    timed = not name.startswith("gpt-")
    options: dict[str, Any] = {"response_format": "json"}
    if timed:
        options = {"response_format": "verbose_json", "timestamp_granularities": ["segment"]}
    if errand["language"]:
        options["language"] = errand["language"]
    if errand["hints"]:
        options["prompt"] = errand["hints"]
    client = openai.OpenAI(
        base_url=url,
        api_key=setting("OPENAI_API_KEY") or "none",
        max_retries=_RETRIES,
        timeout=_TIMEOUT,
        # A proxy of the house does not reach the house's own servers. A redirect could carry
        # what was said elsewhere.
        http_client=openai.DefaultHttpxClient(trust_env=is_hosted(url), follow_redirects=False),
    )
    data = Path(errand["file"]).read_bytes()
    try:
        with client:
            answer = client.audio.transcriptions.with_raw_response.create(
                file=("piece.flac", data, "audio/flac"), model=name, **options
            )
        return _read(answer.content)
    except openai.APIStatusError as error:
        raise _classified(error, url, name) from None
    except openai.APIConnectionError:
        raise SpeechError(
            f"HALO cannot reach the transcription server at {url}.",
            code="transcription_unreachable",
            step="Check the connection and OPENAI_BASE_URL, or set HALO_TRANSCRIPTION=local.",
            url=url,
        ) from None


def _read(content: bytes) -> dict[str, Any]:
    """The answer with every field checked; a text without segments is one segment."""
    try:
        answer = json.loads(content)
        segments = answer.get("segments")
        if segments is None:
            segments = [{"text": answer["text"]}]
        said = [
            {
                "start": float(segment.get("start") or 0),
                "end": float(segment.get("end") or 0),
                "text": str(segment["text"]),
                "log_probability": float(segment.get("avg_logprob") or 0),
                "no_speech": float(segment.get("no_speech_prob") or 0),
            }
            for segment in segments
        ]
        language = str(answer.get("language") or "")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SpeechError(
            "The transcription server answered with something that is no transcript.",
            code="transcription_answer",
            step="Check HALO_TRANSCRIPTION_MODEL and OPENAI_BASE_URL.",
        ) from None
    return {"language": language if _CODE.fullmatch(language) else None, "segments": said}


def _classified(error: openai.APIStatusError, url: str, name: str) -> SpeechError:
    status = error.status_code
    if status in (401, 403):
        return SpeechError(
            f"The transcription server at {url} refused the key.",
            code="transcription_key",
            step="Check OPENAI_API_KEY, and that it may use this model.",
            url=url,
        )
    if status == 429:
        return SpeechError(
            "The transcription server takes no more requests for now, or its credit is used up.",
            code="transcription_limit",
            step="Try again in a few minutes, add credit, or set HALO_TRANSCRIPTION=local.",
        )
    return SpeechError(
        f"The transcription server at {url} refused the model “{name}” or the sound ({status}).",
        code="transcription_refused",
        step="Check HALO_TRANSCRIPTION_MODEL and OPENAI_BASE_URL, or try again later.",
        url=url,
        model=name,
        status=status,
    )


def write_flac(samples: Samples, path: Path) -> None:
    """Write samples (n,) in -1..1 as a FLAC file, one channel, 16 bits."""
    import av
    import numpy as np

    whole = (np.clip(samples, -1, 1) * 32767).astype(np.int16)[None, :]
    with av.open(str(path), "w", format="flac") as container:
        stream = container.add_stream("flac", rate=RATE, layout="mono")
        frame = av.AudioFrame.from_ndarray(whole, format="s16", layout="mono")
        frame.sample_rate = RATE
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)
