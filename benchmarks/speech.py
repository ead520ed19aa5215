"""How fast and in how much memory speech becomes text.

    python -m benchmarks.speech [--minutes 10] [--json] [FILE ...]

Without files the spoken fixture of the tests, with its pauses, is repeated to the length asked for.

- real-time factor: seconds of work for a second of recording, in wall time and in processor time
  (below 1: faster than listening);
- first words: until the first piece was found and heard, the model joined and on disk;
- memory: peak of the process that does it, which must not grow with the length.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import wave
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import report
from services.speech import clock, sound, weights

FIXTURE = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "spoken_en.ogg"


def made(path: Path, seconds: float) -> None:
    """Write the fixture again and again, as a WAV file of about so many seconds."""
    with sound.Recording(FIXTURE) as recording:
        once = np.concatenate(list(recording.blocks()))
    pcm = (np.clip(once, -1, 1) * 32767).astype("<i2").tobytes()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sound.RATE)
        for _ in range(max(round(seconds * sound.RATE / len(once)), 1)):
            file.writeframes(pcm)


def heard(path: Path) -> dict[str, Any]:
    """Transcribe one file in a process of its own; what it measured."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speech", "--measure", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def measure(path: Path) -> dict[str, Any]:
    """What one file costs in this process."""
    from services import speech
    from services.parsers import parse

    began = time.perf_counter()
    with sound.Recording(path) as recording:
        first = next(sound.pieces(recording.blocks()))
        speech.recogniser().hear(first, None, recording.hints)
    heard_first = time.perf_counter() - began
    began, worked = time.perf_counter(), time.process_time()
    document = parse(path, path.name)
    wall, seconds = time.perf_counter() - began, document.units["seconds"]
    worked = time.process_time() - worked
    assert document.report.transcription is not None
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    return {
        "recording": clock(seconds),
        "speech": clock(document.report.transcription.speech_seconds),
        "real-time factor, wall": round(wall / seconds, 2),
        "real-time factor, processor": round(worked / seconds, 2),
        "first words, s": round(heard_first, 1),
        "peak, MB": round(peak),
        "words": document.report.words,
        "utterances": sum(len(block.timed()) for block in document.blocks),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    weights.joined()
    with TemporaryDirectory() as folder:
        files = list(options.files)
        if not files:
            for minutes in (options.minutes / 10, options.minutes):
                files.append(Path(folder) / f"{minutes:g}-minutes.wav")
                made(files[-1], minutes * 60)
        report.table("Speech to text", [heard(file) for file in files], as_json=options.json)


if __name__ == "__main__":
    main()
