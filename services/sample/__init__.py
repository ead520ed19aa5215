"""The sample notebook: six sources on an invented company, and questions to start with.

The files are made by ``tools/make_sample.py``. They agree with each other except for one figure:
the press release gives an operating margin that the other five do not.
"""

from __future__ import annotations

from pathlib import Path

SAMPLE_TITLE = "Sample: Tarvendal 2025"

_QUESTIONS: dict[str, tuple[str, ...]] = {
    "en": (
        "What was the operating margin in 2025?",
        "Why did revenue with refrigeration compressors fall?",
        "What are the conditions for the new plant in Brno, and were they met?",
    ),
    "de": (
        "Wie hoch war die operative Marge 2025?",
        "Warum ist der Umsatz mit Kältekompressoren gesunken?",
        "Welche Bedingungen gelten für das neue Werk in Brünn, und sind sie erfüllt?",
    ),
}
SAMPLE_QUESTIONS = _QUESTIONS["en"]


def sample_questions(language: str) -> tuple[str, ...]:
    """The questions in ``language`` ("de", "de-AT" ...), or else in English."""
    return _QUESTIONS.get(language[:2].lower(), SAMPLE_QUESTIONS)


def sample_files() -> list[Path]:
    """The six files, in the order in which they are added."""
    return sorted((Path(__file__).parent / "files").iterdir())
