"""Characters as PDFs hold them, made into text as people type it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

LINE_END_HYPHENS = "-\u2010\u00ad\u0002\ufffe"
"""What may stand at the end of a line that breaks inside a word; pdfium writes U+0002."""

_LOST = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_SILENT = re.compile(r"[\u00ad\u0002\u200b\ufeff]")
_COMPOSED = re.compile(r"[\ufb00-\ufdff\ufe70-\ufefc\u2e80-\u2fd5]+")
_SPACES = re.compile(r"[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]+")
_SYMBOLS = {"\uf0b7": "•", "\uf0a7": "▪", "\uf0d8": "➢", "\uf0fc": "✓", "\uf020": " "}
_SYMBOL = re.compile(f"[{''.join(_SYMBOLS)}]")
_ODD = re.compile(r"[\x00-\x01\x03-\x08\x0b\x0c\x0e-\x1f\ufffd\ue000-\uf8ff]")
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def clean(text: str) -> tuple[str, int]:
    """Readable text and how many characters had to be removed.

    Ligatures and presentation forms become plain letters, soft hyphens and zero-width spaces
    disappear, NUL, other controls and lone surrogates are removed and counted.
    """
    if text.isascii() and text.isprintable():
        return text, 0
    text = _SILENT.sub("", _SYMBOL.sub(lambda found: _SYMBOLS[found.group()], text))
    text = _COMPOSED.sub(lambda found: unicodedata.normalize("NFKC", found.group()), text)
    text, removed = _LOST.subn("", text)
    return "\n".join(_SPACES.sub(" ", line).strip() for line in text.split("\n")), removed


def odd_share(text: str) -> float:
    """Share of characters that stand for a glyph without a Unicode value, 0 to 1."""
    odd = sum(found not in _SYMBOLS for found in _ODD.findall(text))
    return odd / max(len(text), 1)


def vocabulary(lines: Iterable[str]) -> set[str]:
    """Words seen inside lines, lower case, hyphenated ones whole and in parts.

    The halves of a word broken at a line's end are left out.
    """
    words: set[str] = set()
    broken = False
    for line in lines:
        found = _WORDS.findall(line.lower())
        first, broken = int(broken), line[-1:] in LINE_END_HYPHENS
        for word in found[first : len(found) - broken]:
            words.add(word)
            if "-" in word:
                words.update(word.split("-"))
    return words


def join_lines(lines: list[str], words: set[str]) -> str:
    """Lines of one paragraph as running text, with words broken at line ends put together.

    The hyphen stays where the document writes the word with it elsewhere, or where both halves
    are words of their own and their union is not ("well-known").
    """
    if len(lines) == 1:
        return lines[0]
    text = lines[0]
    for line in lines[1:]:
        last, first = text[-1:], line[:1]
        if last in LINE_END_HYPHENS and text[-2:-1].isalpha():
            text = _join_word(text, line, words)
        elif (last in "-/\u2010" and text[-2:-1].isalnum() and first.isalnum()) or (
            _unspaced(last) and _unspaced(first)
        ):
            text += line
        else:
            text = f"{text} {line}"
    return text


def _join_word(text: str, line: str, words: set[str]) -> str:
    hyphen, text = text[-1], text[:-1]
    first = re.search(r"[^\W\d_]+(?:-[^\W\d_]+)*$", text)
    second = re.match(r"[^\W\d_]+", line)
    if first is None or second is None:
        return f"{text}-{line}" if line[:1].isdigit() else f"{text}- {line}"
    left, right = first.group().lower(), second.group().lower()
    whole = left + right in words
    hyphenated = f"{left}-{right}" in words
    both = len(left) > 2 and len(right) > 2 and left.split("-")[-1] in words and right in words
    soft = hyphen == "\u00ad"
    keeps = not whole and (hyphenated or both or second.group()[0].isupper())
    if keeps and not soft:
        return f"{text}-{line}"
    return text + line


def _unspaced(character: str) -> bool:
    """Whether a script writes no space between words (Chinese, Japanese, Thai)."""
    return bool(character) and (
        "\u3000" <= character <= "\u30ff"
        or "\u3400" <= character <= "\u9fff"
        or "\uff00" <= character <= "\uffef"
        or "\u0e00" <= character <= "\u0e7f"
    )
