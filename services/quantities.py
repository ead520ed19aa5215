"""Numbers, units, money, percent and dates in English and German text, made comparable.

``13.5 %`` equals ``13,5 Prozent``, ``1,234.5`` equals ``1.234,5``, ``2 Mio.`` equals
``2,000,000``, ``412 m`` equals ``0.412 km`` and ``3 March 2024`` equals ``03.03.2024``. Where a
form can be read two ways (``1.234``, ``03/04/2024``) both readings are kept and one of them has to
agree. Digits inside a code such as ``ZX-4417-B`` are no numbers: codes are compared as names.
"""

from __future__ import annotations

import re

from services.figures import Date, Figures, Quantity

# --- word lists -----------------------------------------------------------------------------

_MONTHS = {
    name: number
    for number, names in enumerate(
        [
            "january jan januar jänner", "february feb februar", "march mar märz maerz mär",
            "april apr", "may mai", "june jun juni", "july jul juli", "august aug",
            "september sept sep", "october oct oktober okt", "november nov",
            "december dec dezember dez",
        ],
        start=1,
    )
    for name in names.split()
}  # fmt: skip

_SCALES: dict[str, tuple[float, ...]] = {
    "hundred": (1e2,), "hundert": (1e2,), "thousand": (1e3,), "thousands": (1e3,),
    "tausend": (1e3,),
    "tsd": (1e3,), "k": (1e3,), "million": (1e6,), "millions": (1e6,), "millionen": (1e6,),
    "mio": (1e6,), "mn": (1e6,), "mln": (1e6,), "billion": (1e9, 1e12), "billions": (1e9,),
    "bn": (1e9,), "milliarde": (1e9,), "milliarden": (1e9,), "mrd": (1e9,), "billionen": (1e12,),
    "trillion": (1e12,), "trillions": (1e12,),
}  # fmt: skip

_UNITS: dict[str, tuple[str, float]] = {}
for _dimension, _spelled in {
    "percent": "%=1 percent=1 prozent=1 ‰=.1",
    "points": "pp=1 prozentpunkte=1 prozentpunkt=1 bps=.01",
    "usd": "$=1 us$=1 usd=1 dollar=1 dollars=1 cent=.01 cents=.01",
    "eur": "€=1 eur=1 euro=1 euros=1",
    "gbp": "£=1 gbp=1 pounds=1 pfund=1",
    "jpy": "¥=1 jpy=1 yen=1",
    "chf": "chf=1 franken=1 francs=1",
    "length": "km=1000 m=1 cm=.01 mm=.001 µm=1e-6 nm=1e-9 kilometer=1000 kilometers=1000 "
    "kilometre=1000 kilometres=1000 kilometern=1000 meter=1 meters=1 metre=1 metres=1 metern=1 "
    "centimeter=.01 zentimeter=.01 centimetres=.01 millimeter=.001 millimetres=.001 mile=1609.344 "
    "miles=1609.344 meilen=1609.344 ft=.3048 feet=.3048 foot=.3048 fuß=.3048 inch=.0254 "
    "inches=.0254 zoll=.0254 yard=.9144 yards=.9144",
    "area": "km²=1e6 km2=1e6 m²=1 m2=1 ha=1e4 hektar=1e4 hectare=1e4 hectares=1e4 acre=4046.856 "
    "acres=4046.856",
    "volume": "m³=1 m3=1 l=.001 ml=1e-6 liter=.001 liters=.001 litre=.001 litres=.001 litern=.001 "
    "gallon=.003785 gallons=.003785 barrel=.158987 barrels=.158987",
    "mass": "t=1000 kg=1 g=.001 mg=1e-6 µg=1e-9 ng=1e-12 tonne=1000 tonnes=1000 tonnen=1000 "
    "kilogram=1 kilograms=1 kilogramm=1 gram=.001 grams=.001 gramm=.001 lb=.4536 lbs=.4536",
    "time": "s=1 sec=1 seconds=1 second=1 sekunden=1 sekunde=1 ms=.001 min=60 minute=60 minutes=60 "
    "minuten=60 h=3600 hour=3600 hours=3600 stunde=3600 stunden=3600 day=86400 days=86400 "
    "tag=86400 tage=86400 tagen=86400 week=604800 weeks=604800 woche=604800 wochen=604800",
    "months": "month=1 months=1 monat=1 monate=1 monaten=1 year=12 years=12 jahr=12 jahre=12 "
    "jahren=12 yr=12 yrs=12 decade=120 decades=120 jahrzehnt=120 jahrzehnte=120 jahrzehnten=120 "
    "century=1200 centuries=1200",
    "temperature": "°c=1 celsius=1",
    "fahrenheit": "°f=1 fahrenheit=1",
    "power": "w=1 kw=1e3 mw=1e6 gw=1e9 watt=1 watts=1 kilowatt=1e3 megawatt=1e6 gigawatt=1e9",
    "energy": "wh=1 kwh=1e3 mwh=1e6 gwh=1e9 twh=1e12",
    "joule": "j=1 kj=1e3 kcal=4184",
    "frequency": "hz=1 khz=1e3 mhz=1e6 ghz=1e9",
    "pressure": "pa=1 hpa=100 kpa=1e3 mpa=1e6 bar=1e5",
    "voltage": "v=1 kv=1e3 volt=1 volts=1",
    "bytes": "kb=1e3 mb=1e6 gb=1e9 tb=1e12",
    "concentration": "ppm=1 ppb=.001",
}.items():
    for _pair in _spelled.split():
        _name, _factor = _pair.rsplit("=", 1)
        _UNITS[_name] = (_dimension, float(_factor))

_SMALL = {
    word: value
    for value, spelled in enumerate(
        [
            "zero null", "one eins", "two both zwei beide beiden", "three drei", "four vier",
            "five fünf", "six sechs", "seven sieben", "eight acht", "nine neun", "ten zehn",
            "eleven elf", "twelve zwölf dozen dutzend", "thirteen dreizehn", "fourteen vierzehn",
            "fifteen fünfzehn", "sixteen sechzehn", "seventeen siebzehn", "eighteen achtzehn",
            "nineteen neunzehn",
        ]
    )
    for word in spelled.split()
}  # fmt: skip
_TENS = {
    word: 10 * value
    for value, spelled in enumerate(
        [
            "twenty zwanzig", "thirty dreißig dreissig", "forty vierzig", "fifty fünfzig",
            "sixty sechzig", "seventy siebzig", "eighty achtzig", "ninety neunzig",
        ],
        start=2,
    )
    for word in spelled.split()
}  # fmt: skip
_ORDINALS = {
    word: value
    for value, spelled in enumerate(
        [
            "first erste ersten erster erstes", "second zweite zweiten zweiter zweites",
            "third dritte dritten dritter drittes", "fourth vierte vierten vierter viertes",
            "fifth fünfte fünften fünfter fünftes", "sixth sechste sechsten",
            "seventh siebte siebten", "eighth achte achten", "ninth neunte neunten",
            "tenth zehnte zehnten", "eleventh elfte elften", "twelfth zwölfte zwölften",
        ],
        start=1,
    )
    for word in spelled.split()
}  # fmt: skip
_SHARES = {"half": 50.0, "hälfte": 50.0, "halb": 50.0, "quarter": 25.0, "viertel": 25.0}
_LOOSE = {
    **dict.fromkeys(
        "about around roughly approximately nearly almost some circa ca approx rund etwa ungefähr "
        "fast knapp zirka ~ ≈ annähernd close".split(),
        "about",
    ),
    **dict.fromkeys(
        "over above exceeding exceeded über mehr more least mindestens gut".split(), "over"
    ),
    **dict.fromkeys("under below unter less fewer weniger höchstens most".split(), "under"),
}

_NUMBER = re.compile(
    r"(?<![\w.,/])(?P<sign>[-−–+](?=[\d$€£¥.]))?"
    r"(?P<money>(?:US)?[$€£¥]\s?|\b(?:USD|EUR|GBP|CHF|JPY)\s)?"
    r"(?P<number>\d{1,3}(?:[.,'’\u00a0\u202f\u2009]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)*|\.\d+)"
    r"(?P<half>[½¼¾])?"
)
_AFTER = re.compile(
    r"[\s\u00a0\u202f\u2009-]?\s?"
    r"(?P<unit>(?:us)?[$€£¥]|%|‰|per\s?cent\b|percentage\s+points?\b|°\s?[CF]\b|"
    r"[^\W\d_]+[²³]?(?:/[^\W\d_]+[²³]?)?)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_MONTH = "|".join(sorted(map(re.escape, _MONTHS), key=len, reverse=True))
_DATES = [
    re.compile(r"(?<!\d)(?P<y>[12]\d{3})-(?P<m>\d{1,2})(?:-(?P<d>\d{1,2}))?(?![\d-])"),
    re.compile(
        r"(?<![\d.,])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>[12]\d{3}|\d{2}(?!\d))?(?!\d)"
    ),
    re.compile(r"(?<![\d/])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<y>[12]\d{3}|\d{2})(?![\d/])"),
    re.compile(
        rf"(?<!\w)(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<name>{_MONTH})\b\.?"
        rf"(?:,?\s+(?P<y>[12]\d{{3}}))?(?!\d)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<name>{_MONTH})\b\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?![\d.,]*\d)"
        rf"(?:,?\s+(?P<y>[12]\d{{3}}))?(?!\d)",
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?P<name>{_MONTH})\b\.?,?\s+(?:of\s+)?(?P<y>[12]\d{{3}})(?!\d)", re.IGNORECASE),
    re.compile(
        r"\b(?P<name>January|February|March|April|June|July|August|September|October|November|"
        r"December|Januar|Jänner|Februar|März|Mai|Juni|Juli|Oktober|Dezember)\b"
    ),
]


# --- reading --------------------------------------------------------------------------------


def read_figures(text: str) -> Figures:
    """Every number, unit and date of ``text``. Linear in its length."""
    dates = _read_dates(text)
    taken = [(date.start, date.end) for date in dates]
    quantities = [*_read_numbers(text, taken), *_read_number_words(text, taken)]
    found_units: set[tuple[str, float]] = {q.unit for q in quantities if q.unit}
    found_scales: set[float] = set()
    for match in re.finditer(r"(?:US)?[$€£¥]|%|[^\W\d_]+[²³]?(?:/[^\W\d_]+[²³]?)?", text):
        unit = _unit(match.group())
        # one letter alone is hardly ever a unit
        if unit and (len(match.group()) > 1 or not match.group().isalpha()):
            found_units.add(unit)
        found_scales.update(_SCALES.get(match.group().lower(), ()))
    return Figures(
        tuple(sorted(quantities, key=lambda q: q.start)),
        tuple(dates),
        frozenset(found_units),
        frozenset(found_scales),
    )


def _read_dates(text: str) -> list[Date]:
    found: list[Date] = []
    taken = bytearray(len(text))
    for pattern in _DATES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            readings = _date_readings(match.groupdict())
            if readings and not _ends_a_sentence(text, match):
                taken[start:end] = b"\x01" * (end - start)
                found.append(Date(start, end, match.group(), readings))
    return sorted(found, key=lambda date: date.start)


_BEFORE_A_DAY = re.compile(
    r"(?:\b(?:am|vom|bis|zum|ab|seit|den|dem|der|und)|[-–])\s*$", re.IGNORECASE
)


def _ends_a_sentence(text: str, match: re.Match[str]) -> bool:
    """Whether "4.2." is a number with a full stop behind it ("in version 4.2.") and no day."""
    parts = match.groupdict()
    if parts.get("y") or parts.get("name") or not match.group().rstrip().endswith("."):
        return False
    rest = text[match.end() :].lstrip()
    before = text[max(match.start() - 6, 0) : match.start()]
    return not rest[:1].islower() and not _BEFORE_A_DAY.search(before)


def _date_readings(
    parts: dict[str, str | None],
) -> tuple[tuple[int | None, int | None, int | None], ...]:
    def number(key: str) -> int | None:
        raw = parts.get(key)
        return int(raw) if raw else None

    year = number("y")
    if year is not None and year < 100:
        year += 2000 if year < 50 else 1900
    if parts.get("a"):
        options = [(number("a"), number("b")), (number("b"), number("a"))]
        return tuple(
            (year, m, d) for m, d in dict.fromkeys(options) if m and d and m <= 12 and d <= 31
        )
    name = parts.get("name")
    month = _MONTHS[name.lower()] if name else number("m")
    day = number("d")
    if month is None or not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return ()
    return ((year, month, day),)


def _read_numbers(text: str, taken: list[tuple[int, int]]) -> list[Quantity]:
    found: list[Quantity] = []
    busy = iter([*taken, (len(text) + 1, len(text) + 1)])
    skip = next(busy)
    for match in _NUMBER.finditer(text):
        while skip[1] <= match.start("number"):
            skip = next(busy)
        if skip[0] <= match.start("number") < skip[1] or _in_code(text, match):
            continue
        values = _values(match["number"])
        if match["half"]:
            values = tuple(v + {"½": 0.5, "¼": 0.25, "¾": 0.75}[match["half"]] for v in values)
        end, scaled, unit, decade = match.end(), False, None, False
        if match["money"]:
            unit = _unit(match["money"].strip())
        suffix = re.compile(r"(?:st|nd|rd|th|er|ers|s|x)\b").match(text, end)
        if suffix:
            decade = suffix.group() in ("s", "er", "ers") and values[0] % 10 == 0
            end = suffix.end()
        for _ in range(2):
            # a scale word first, then the unit: "2 million euros", "3 Mio. t"
            following = _AFTER.match(text, end)
            if not following:
                break
            name = re.sub(r"\s+", " ", following["unit"].lower())
            factors = _SCALES.get(name)
            if factors and not scaled:
                if name == "k" and following.start("unit") != end:
                    break
                values = tuple(v * f for v in values for f in factors)
                scaled = True
                end = following.end() + (text[following.end() : following.end() + 1] == ".")
                continue
            seen = _unit(name)
            if seen:
                unit = seen
                end = following.end()
            break
        parenthesised = text[max(match.start() - 1, 0) : match.start()] == "(" and text[
            match.end() : match.end() + 1
        ] in (")", "%")
        found.append(
            Quantity(
                match.start(),
                end,
                text[match.start() : end].strip(),
                values,
                unit,
                scaled,
                match["sign"] in ("-", "−") or parenthesised,
                _looseness(text, match.start()),
                decade,
            )
        )
    return found


def _in_code(text: str, match: re.Match[str]) -> bool:
    """Whether the digits belong to a code such as COVID-19, ZX-4417-B, A320 or 10.1.2."""
    start, end = match.span("number")
    before = text[max(start - 2, 0) : start]
    if len(before) == 2 and before[1] in "-/_" and before[0].isalpha():
        return True
    rest = re.compile(r"[^\W\d_]+(?:[-_/.]?\d\w*)?|[-_/](?=\w*[A-Z])\w*\d\w*").match(text, end)
    if not rest:
        return False
    glued = rest.group().lower()
    if re.fullmatch(r"(?:st|nd|rd|th|er|ers|s|x)", glued):
        return False
    known = glued in _SCALES or _unit(glued) is not None
    slash = _AFTER.match(text, end)
    return not (known or (slash is not None and _unit(slash["unit"].lower()) is not None))


def _values(raw: str) -> tuple[float, ...]:
    """The readings of a number's digits; separators may be English, German or Swiss."""
    digits = re.sub(r"['’\u00a0\u202f\u2009]", "", raw)
    marks = [c for c in digits if c in ".,"]
    if not marks:
        return (float(digits),)
    if digits.startswith("."):
        return (float("0" + digits),)
    if len(set(marks)) == 2:
        # the last mark is the decimal one: 1,234.5 or 1.234,5
        last = marks[-1]
        whole = digits.replace("." if last == "," else ",", "")
        if whole.count(last) > 1:
            return (float(re.sub(r"[.,]", "", digits)),)
        return (float(whole.replace(",", ".")),)
    head, *groups = re.split(r"[.,]", digits)
    grouped = all(len(group) == 3 for group in groups) and 0 < len(head) <= 3
    if len(groups) > 1:
        return (float(re.sub(r"[.,]", "", digits)),)
    decimal = float(f"{head}.{groups[0]}")
    if grouped and head != "0":
        return (float(head + groups[0]), decimal)
    return (decimal,)


def _read_number_words(text: str, taken: list[tuple[int, int]]) -> list[Quantity]:
    found: list[Quantity] = []
    tokens = list(_WORD.finditer(text))
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        word = token.group().lower()
        value = number_word(word)
        if value is None or any(a <= token.start() < b for a, b in taken):
            if word in _SHARES:
                share = (_SHARES[word],)
                found.append(
                    Quantity(token.start(), token.end(), token.group(), share, _UNITS["percent"])
                )
            continue
        end = token.end()
        scaled = False
        while at < len(tokens) and text[end : tokens[at].start()] in (" ", "-", " and "):
            following = tokens[at].group().lower()
            small = _SMALL.get(following)
            if value in _TENS.values() and small is not None and 0 < small < 10:
                value += small
            elif following in _SCALES:
                value *= _SCALES[following][0]
                scaled = True
            else:
                break
            end = tokens[at].end()
            at += 1
        unit = _AFTER.match(text, end)
        found.append(
            Quantity(
                token.start(),
                end,
                text[token.start() : end],
                (float(value),),
                _unit(unit["unit"].lower()) if unit else None,
                scaled,
                loose=_looseness(text, token.start()),
            )
        )
    return found


def number_word(word: str) -> float | None:
    """The value of a spelled number of either language (two, twenty, fünfundzwanzig), or None."""
    if word in _SMALL:
        return _SMALL[word]
    if word in _TENS:
        return _TENS[word]
    head, joined, tail = word.partition("und")
    if joined and tail in _TENS:
        small = 1 if head == "ein" else _SMALL.get(head)
        return _TENS[tail] + small if small else None
    return None


def counts_something(word: str) -> bool:
    """True for a lower-case word that only stands beside figures: a unit, a scale, a month."""
    return word in _UNITS or word in _SCALES or word in _MONTHS


def ordinal_word(word: str) -> int | None:
    """The value of a spelled ordinal (third, dritte), or None."""
    return _ORDINALS.get(word)


def _unit(name: str) -> tuple[str, float] | None:
    """(dimension, factor) of a unit's name; ``a/b`` is composed from both."""
    name = name.lower().replace("μ", "µ").replace("° ", "°")
    name = re.sub(r"^per\s?cent$", "percent", name)
    name = re.sub(r"^percentage\s+points?$", "pp", name)
    if name in _UNITS:
        return _UNITS[name]
    above, slash, below = name.partition("/")
    if slash and above in _UNITS and below in _UNITS:
        (d1, f1), (d2, f2) = _UNITS[above], _UNITS[below]
        return f"{d1}/{d2}", f1 / f2
    return None


def _looseness(text: str, start: int) -> str:
    before = text[max(start - 24, 0) : start].rstrip(" $€£¥")
    if before.endswith(("~", "≈")):
        return "about"
    tokens = _WORD.findall(before.lower())
    for token in reversed(tokens[-2:]):
        if token in _LOOSE:
            return _LOOSE[token]
        if token not in ("than", "als", "at", "to", "a", "von"):
            break
    return ""
