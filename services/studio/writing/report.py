"""Reports from quotes alone: central sentences by topic, definitions, dates, questions.

Every sentence is verbatim and cited. Which sections there are depends on the template's id; one
that HALO does not know is written like a briefing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from services.errors import UserInputError
from services.models import Quote
from services.passages import readable_title
from services.quantities import read_figures
from services.studio.material import Reading, about, common_topics
from services.studio.models import Content, Options
from services.studio.templates import Template
from services.studio.writing.composing import Composer, distinct, plain, subject, word

_SIZE = {"short": 1, "medium": 2, "long": 4}


def write(readings: Sequence[Reading], template: Template, options: Options) -> Content:
    """A report as its template asks for. Raises UserInputError where there is nothing for it."""
    composer = Composer()
    _FORMS.get(template.id, _briefing)(composer, readings, options)
    about_what = subject(readings, options.focus, options.language)
    return composer.content(f"{template.name(options.language)}: {about_what}")


def ranked(readings: Sequence[Reading]) -> Iterator[Quote]:
    """Central sentences of all sources: the first of each, then the second of each, and so on."""
    for level in zip_longest(*(reading.quotes for reading in readings)):
        yield from (quote for quote in level if quote)


def _summary(composer: Composer, readings: Sequence[Reading], most: int) -> None:
    """The most central sentences of all sources, as one text."""
    whole = [quote for quote in ranked(readings) if quote.quote.rstrip()[-1] in ".!?。！？؟।"]
    chosen = distinct(whole or list(ranked(readings)), most)
    composer.paragraph(" ".join(composer.said(quote) for quote in chosen))


def _topics(composer: Composer, readings: Sequence[Reading], most: int, each: int) -> None:
    """Sections by topic, of sentences that were not said yet."""
    for topic in common_topics(readings, most):
        fresh = [
            quote
            for quote in ranked(readings)
            if about(topic, quote.quote) and not composer.cited(quote)
        ]
        if chosen := distinct(fresh, each):
            composer.heading(topic)
            composer.items([composer.said(quote) for quote in chosen])


def _briefing(composer: Composer, readings: Sequence[Reading], options: Options) -> None:
    size, language = _SIZE[options.length], options.language
    composer.heading(word("short", language))
    _summary(composer, readings, 2 + 2 * size)
    _topics(composer, readings, 2 + 2 * size, 2 + size)
    _figures(composer, readings, 3 * size, language)
    _each(composer, readings, size, language)


def _each(composer: Composer, readings: Sequence[Reading], most: int, language: str) -> None:
    """Every source in its own words; of one alone all was said before."""
    if len(readings) == 1:
        return
    composer.heading(word("each", language))
    for reading in readings:
        fresh = [quote for quote in reading.quotes if not composer.cited(quote)]
        chosen = fresh[:most] or reading.quotes[:1]
        if chosen:
            composer.heading(readable_title(reading.source.name), 3)
            composer.paragraph(" ".join(composer.said(quote) for quote in chosen))


def _figures(composer: Composer, readings: Sequence[Reading], most: int, language: str) -> None:
    stating = [
        quote
        for quote in ranked(readings)
        if not composer.cited(quote)
        and any(q.unit and not q.loose for q in read_figures(quote.quote).quantities)
    ]
    if chosen := distinct(stating, most):
        composer.heading(word("figures", language))
        composer.items([composer.said(quote) for quote in chosen])


def _executive(composer: Composer, readings: Sequence[Reading], options: Options) -> None:
    size = _SIZE[options.length]
    _summary(composer, readings, 3 + 2 * size)
    _figures(composer, readings, 2 + 2 * size, options.language)


def terms(readings: Sequence[Reading]) -> list[tuple[str, Quote]]:
    """What sources define, each term once."""
    found: dict[str, tuple[str, Quote]] = {}
    for level in zip_longest(*(reading.defined for reading in readings)):
        for pair in level:
            if pair:
                found.setdefault(pair[0].casefold(), pair)
    return list(found.values())


def questions(
    readings: Sequence[Reading], language: str, most: int
) -> list[tuple[str, list[Quote]]]:
    """Questions with the quotes that answer them: the sources' own, definitions, topics."""
    found = [(asked, [quote]) for reading in readings for asked, quote in reading.asked]
    found += [
        (word("what_is", language, term=term), [quote]) for term, quote in terms(readings)[:most]
    ]
    used = {quote.quote for _, quotes in found for quote in quotes}
    for topic in common_topics(readings, most):
        said = [quote for quote in ranked(readings) if about(topic, quote.quote)]
        fresh = distinct([quote for quote in said if quote.quote not in used], 3)
        if fresh:
            used |= {quote.quote for quote in fresh}
            found.append((word("what_said", language, term=topic), fresh))
    return found[:most]


def _study_guide(composer: Composer, readings: Sequence[Reading], options: Options) -> None:
    size, language = _SIZE[options.length], options.language
    composer.heading(word("learn", language))
    _summary(composer, readings, 3 + 2 * size)
    if defined := terms(readings)[: 4 * size]:
        composer.heading(word("terms", language))
        composer.items([f"**{plain(term)}**: {composer.said(quote)}" for term, quote in defined])
    _topics(composer, readings, 2 + size, 2 + size)
    if asked := questions(readings, language, 4 * size):
        composer.heading(word("review", language))
        for question, quotes in asked:
            composer.heading(question, 3)
            composer.paragraph(" ".join(composer.said(quote) for quote in quotes[:2]))


def _faq(composer: Composer, readings: Sequence[Reading], options: Options) -> None:
    for question, quotes in questions(readings, options.language, 6 * _SIZE[options.length]):
        composer.heading(question)
        composer.paragraph(" ".join(composer.said(quote) for quote in quotes))
    if not composer.lines:
        raise _nothing("questions")


def _timeline(composer: Composer, readings: Sequence[Reading], options: Options) -> None:
    dated = sorted((d for r in readings for d in r.dated), key=lambda d: d.key)
    dated = dated[: 40 * _SIZE[options.length]]
    if not dated:
        raise _nothing("dates")
    language = options.language
    composer.table(
        [word("when", language), word("what", language), word("source", language)],
        [
            [plain(d.date), composer.said(d.quote), plain(readable_title(d.quote.source_name))]
            for d in dated
        ],
    )


def _nothing(what: str) -> UserInputError:
    return UserInputError(
        f"The sources hold no {what} to make this from.",
        code=f"no_{what}",
        step="Include other sources, or choose another output.",
    )


_FORMS: dict[str, Callable[[Composer, Sequence[Reading], Options], None]] = {
    "briefing": _briefing,
    "executive_summary": _executive,
    "study_guide": _study_guide,
    "faq": _faq,
    "timeline": _timeline,
}
