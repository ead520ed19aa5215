"""RTF documents: paragraphs, headings by style, lists, rows of tables, notes; no pictures.

A document is a run of groups, control words and bytes. Bytes are in the code page of the present
font, characters beyond it are control words; text marked as deleted or hidden is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.outline import Outline

_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z])|([{}])"
    rb"|([^\\{}\r\n]+)|[\r\n]+|\\"
)
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk",
    136: "big5", 161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256",
    186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
_PAGES = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_SIGNS = {
    "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“",
    "rdblquote": "”", "tab": "\t", "line": "\n", "lbr": "\n", "emspace": "\u2003",
    "enspace": "\u2002", "qmspace": "\u2005", "softline": "\n", "zwj": "\u200d", "zwnj": "\u200c",
}  # fmt: skip
_ESCAPED = {"~": "\u00a0", "_": "\u2011", "-": "", "{": "{", "}": "}", "\\": "\\", "\n": "\n",
            "\r": "\n", "\t": "\t"}  # fmt: skip
_SILENT = frozenset(
    "colortbl filetbl listtable listoverridetable rsidtbl generator themedata colorschememapping "
    "latentstyles datastore fldinst objdata objclass objname pict blipuid bkmkstart bkmkend xe tc "
    "private revtbl xmlnstbl mmathPr pgptbl fontemb fontfile panose falt htmltag mhtmltag sp "
    "ftnsep ftnsepc aftnsep aftnsepc atrfstart atrfend atnid atnref atndate atntime atnparent "
    "footnotesep nonshppict objalias template passwordhash userprops docvar".split()
)
_KEPT = frozenset("shpinst shptxt shppict ud annotation footnote atnauthor fldrslt result".split())
"""Starred groups whose text counts; all others may be stepped over by who does not know them."""
_NOTES = frozenset("footnote annotation".split())
_MARGINS = frozenset("header headerl headerr headerf footer footerl footerr footerf".split())
_HEADING = re.compile(
    r"\s*(?:heading|überschrift|titre|título|titolo|kop)\s*(\d)\s*", re.IGNORECASE
)
_NO_TEXT = re.compile(r"[\W\d_]*")
_DEEPEST = 2_000
_MARK = re.compile(r"[\s·•▪◦o§\uf000-\uf0ff-]*")


@dataclass
class _State:
    """What a group changes for itself only."""

    place: str = "body"
    codec: str = ""
    skip: int = 1
    hidden: bool = False
    deleted: bool = False


@dataclass
class _Paragraph:
    parts: list[str] = field(default_factory=list)
    level: int | None = None
    style: int | None = None
    depth: int | None = None
    mark: list[str] = field(default_factory=list)
    in_table: bool = False


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read an RTF document. It has no units and no fixed pages."""
    return document_of(path.read_bytes())


def document_of(data: bytes) -> Document:
    """The document that RTF bytes describe (a message's body may be such)."""
    document = Document()
    reader = _Reader(document)
    reader.read(data)
    document.blocks = reader.outline.blocks
    document.title = document.title or reader.outline.first_title
    return document


class _Reader:
    def __init__(self, document: Document) -> None:
        self.outline = Outline()
        self._document = document
        self._report = document.report
        self._state = _State()
        self._stack: list[_State] = []
        self._too_deep = 0
        self._page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = 0
        self._default = -1
        self._styles: dict[int, int] = {}
        self._style = 0
        self._bytes = bytearray()
        self._pair = ""
        self._starred = False
        self._owed = 0
        self._paragraph = _Paragraph()
        self._list: list[str] = []
        self._cells: list[str] = []
        self._cell: list[str] = []
        self._rows: list[list[str]] = []
        self._waiting: list[str] = []
        self._aside: dict[str, list[str]] = {}
        self._margin_texts: dict[str, None] = {}
        self._changed = 0
        self._was_changed = ""
        self._hidden = 0
        self._was_hidden = False

    def read(self, data: bytes) -> None:
        at, size = 0, len(data)
        while at < size:
            token = _TOKEN.match(data, at)
            if token is None:  # pragma: no cover - the pattern knows every byte
                break
            at = token.end()
            word, number, coded, sign, brace, plain = token.groups()
            if word is not None:
                value = int(number) if number else None
                if word == b"bin":
                    at += max(value or 0, 0)
                    self._owed = max(self._owed - 1, 0)
                else:
                    self._control(word.decode("ascii"), value)
            elif coded is not None:
                self._raw(bytes([int(coded, 16)]))
            elif plain is not None:
                self._raw(plain)
            elif brace == b"{":
                self._text_ends()
                if len(self._stack) < _DEEPEST:
                    self._stack.append(replace(self._state))
                else:  # nested deeper than any writer does: such groups share one state
                    self._too_deep += 1
                self._starred = False
            elif brace == b"}":
                self._text_ends()
                if self._too_deep:
                    self._too_deep -= 1
                else:
                    self._close()
            elif sign is not None:
                self._escape(sign)
        self._text_ends()
        self._end_paragraph()
        self._end_rows()
        self._flush()
        self._finish()

    # --- tokens ------------------------------------------------------------------------------

    def _escape(self, sign: bytes) -> None:
        self._text_ends()
        character = sign.decode("latin-1")
        if character == "*":
            self._starred = True
        elif character in "\r\n":
            self._control("par", None)
        elif self._owed:
            self._owed -= 1
        else:
            self._say(_ESCAPED.get(character, ""))

    def _raw(self, data: bytes) -> None:
        """Bytes of text; those that repeat the character of a preceding \\u are stepped over."""
        if self._owed:
            gone = min(self._owed, len(data))
            self._owed -= gone
            data = data[gone:]
        self._bytes += data

    def _text_ends(self) -> None:
        """Decode the bytes gathered; only whole runs can be, for a character may take two."""
        if self._bytes:
            codec = self._state.codec or self._page
            data, self._bytes = bytes(self._bytes), bytearray()
            self._say(data.decode(codec, "replace"))

    def _control(self, word: str, value: int | None) -> None:
        if word == "u" and value is not None:
            self._text_ends()
            self._unicode(value & 0xFFFF)
            self._owed = self._state.skip
            return
        self._text_ends()
        if self._owed and word != "uc":
            self._owed -= 1  # a control word may stand for the repeated character
            if word in _SIGNS:
                return
        starred, self._starred = self._starred, False
        if word in _SIGNS:
            self._say(_SIGNS[word])
        elif word in _NOTES or word in _MARGINS:
            self._enter("note" if word in _NOTES else "margin", word)
        elif word in ("listtext", "pntext"):
            self._enter("mark", word)
        elif word in ("fonttbl", "stylesheet", "info"):
            self._state.place = word
        elif word in _SILENT or (starred and word not in _KEPT):
            if word == "pict" and self._state.place != "silent":
                self._report.pictures += 1
            if self._state.place != "stylesheet" or word != "cs":
                self._state.place = "silent"
        elif self._state.place == "info" and word in ("title", "author", "creatim", "subject"):
            self._enter(f"info {word}", word)
        elif word == "atnauthor":
            self._enter("info annotator", word)
        else:
            self._format(word, value)

    def _enter(self, place: str, word: str) -> None:
        if self._state.place == "silent":
            return
        self._state.place = place
        if place == "note":
            self._aside["note"] = ["Comment: "] if word == "annotation" else []
        elif place != "mark":
            self._aside[place] = []

    def _format(self, word: str, value: int | None) -> None:
        """Words that change the state, or end a paragraph, cell or row."""
        state = self._state
        on = value != 0
        if word == "uc":
            state.skip = max(min(value or 0, 8), 0)
        elif word == "ansicpg" and value:
            self._page = _codec(value) or self._page
        elif word in _PAGES:
            self._page = _PAGES[word]
        elif word == "deff" and value is not None:
            self._default = value
        elif word == "f" and value is not None:
            self._font = value
            if state.place != "fonttbl":
                state.codec = self._fonts.get(value, "")
        elif word == "fcharset" and state.place == "fonttbl" and value is not None:
            if value in _CHARSETS and value != 0:
                self._fonts[self._font] = _CHARSETS[value]
        elif word == "plain":
            state.hidden = state.deleted = False
            state.codec = self._fonts.get(self._default, "")
        elif word == "v" or word == "htmlrtf":
            state.hidden = on
        elif word == "deleted":
            state.deleted = on
        elif word == "revised" and on:
            self._count("ins")
        elif state.place == "silent":
            return
        elif word in ("par", "sect", "page", "column"):
            self._end_paragraph()
        elif word in ("cell", "nestcell"):
            self._end_cell()
        elif word in ("row", "nestrow"):
            self._end_row()
        else:
            self._paragraph_word(word, value)

    def _paragraph_word(self, word: str, value: int | None) -> None:
        paragraph = self._paragraph
        in_styles = self._state.place == "stylesheet"
        if word == "pard":
            paragraph.level = paragraph.depth = paragraph.style = None
            paragraph.in_table = False
        elif word == "s" and value is not None:
            if in_styles:
                self._style = value
            else:
                paragraph.style = value
        elif word == "outlinelevel" and value is not None and 0 <= value < 9:
            if in_styles:
                self._styles[self._style] = value + 1
            else:
                paragraph.level = value + 1
        elif word == "ilvl" and not in_styles:
            paragraph.depth = max(min(value or 0, 9), 0)
        elif word == "ls" and not in_styles and paragraph.depth is None:
            paragraph.depth = 0
        elif word == "intbl" and not in_styles:
            paragraph.in_table = True

    # --- text --------------------------------------------------------------------------------

    def _unicode(self, code: int) -> None:
        """A UTF-16 unit; two of them may make one character."""
        if 0xD800 <= code < 0xDC00:
            self._pair = chr(code)
            return
        text = self._pair + chr(code)
        self._pair = ""
        self._say(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))

    def _say(self, text: str) -> None:
        state = self._state
        if not text or state.place == "silent":
            return
        if state.place == "fonttbl":
            return
        if state.place == "stylesheet":
            if found := _HEADING.match(text):
                self._styles[self._style] = int(found[1]) or 1
            elif text.strip(" ;").lower() == "title":
                self._styles[self._style] = 1
            return
        if state.deleted:
            self._count("del")
            return
        if state.hidden:
            self._hidden += not self._was_hidden and bool(text.strip())
            self._was_hidden = True
            return
        self._was_changed, self._was_hidden = "", False
        if state.place == "mark":
            self._paragraph.mark.append(text)
        elif state.place == "body":
            self._paragraph.parts.append(text)
        elif state.place in self._aside:
            self._aside[state.place].append(text)

    def _count(self, kind: str) -> None:
        """Count a tracked change: a run of text under the same mark is one."""
        if self._was_changed != kind:
            self._changed += 1
        self._was_changed = kind

    def _close(self) -> None:
        place = self._state.place
        self._state = self._stack.pop() if self._stack else _State()
        if place == self._state.place or place not in self._aside:
            return
        text = "".join(self._aside.pop(place)).strip()
        if place == "note":
            self._note(text)
        elif place == "margin":
            if not _NO_TEXT.fullmatch(text):
                self._margin_texts[text] = None
        elif place == "info title":
            self._document.title = " ".join(text.split())
        elif place in ("info author", "info subject") and text:
            self._document.metadata[place.removeprefix("info ")] = " ".join(text.split())

    def _note(self, text: str) -> None:
        if text.removeprefix("Comment:").strip():
            self._waiting.append(text)

    # --- blocks ------------------------------------------------------------------------------

    def _end_paragraph(self) -> None:
        if self._state.place in self._aside:
            self._aside[self._state.place].append("\n")
            return
        if self._state.place != "body":
            return
        paragraph, text = self._paragraph, "".join(self._paragraph.parts).strip()
        if paragraph.in_table and (text or self._cell):
            self._cell.append(self._marked(paragraph, text))
        elif text:
            self._end_rows()
            level = paragraph.level or self._styles.get(paragraph.style or -1)
            mark = "".join(paragraph.mark).strip()
            if level:
                self._flush()
                self.outline.heading(f"{mark} {text}" if mark else text, level)
            elif mark or paragraph.depth is not None:
                self._list.append("  " * (paragraph.depth or 0) + self._marked(paragraph, text))
            else:
                self._flush()
                self.outline.add(Block(text=text))
        self._paragraph = replace(paragraph, parts=[], mark=[])
        if not paragraph.in_table:
            self._notes()

    def _marked(self, paragraph: _Paragraph, text: str) -> str:
        mark = "".join(paragraph.mark).strip()
        if _MARK.fullmatch(mark):
            mark = "-" if mark or paragraph.depth is not None else ""
        return f"{mark} {text}" if mark else text

    def _end_cell(self) -> None:
        if self._state.place != "body":
            return
        text = "".join(self._paragraph.parts).strip()
        self._cell.append(self._marked(self._paragraph, text) if text else "")
        self._cells.append(tables.cell(" ".join(filter(None, self._cell))))
        self._cell = []
        self._paragraph = replace(self._paragraph, parts=[], mark=[])

    def _end_row(self) -> None:
        if self._cells and self._state.place in ("body", "silent"):
            self._flush()
            self._rows.append(self._cells)
            self._cells = []

    def _end_rows(self) -> None:
        """The end of a table: the first paragraph outside."""
        if self._cells:
            self._rows.append(self._cells)
            self._cells = []
        rows = [row for row in self._rows if any(row)]
        self._rows = []
        if rows:
            self._flush()
            for block in tables.blocks(
                rows,
                range(1, len(rows) + 1),
                header_rows=int(tables.has_header(rows)),
                first_id=len(self.outline.blocks),
            ):
                self.outline.add(block)
            self._notes()

    def _flush(self) -> None:
        if self._list:
            self.outline.add(Block(kind="list", text="\n".join(self._list)))
            self._list = []

    def _notes(self) -> None:
        if self._waiting:
            self._flush()
            for text in self._waiting:
                self.outline.add(Block(kind="note", text=text))
            self._waiting = []

    def _finish(self) -> None:
        self._notes()
        for text in self._margin_texts:
            self.outline.blocks.append(Block(kind="note", text=text))
        self._report.note_changes(self._changed)
        self._report.note_hidden(self._hidden)


def _codec(page: int) -> str | None:
    """Python's name of a Windows code page."""
    known = {0: "cp1252", 65001: "utf-8", 10000: "mac_roman", 936: "gbk", 1361: "johab",
             20127: "cp1252", 28591: "cp1252"}  # fmt: skip
    if page in known:
        return known[page]
    pages = "437 708 720 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 949 "
    pages += "950 1250 1251 1252 1253 1254 1255 1256 1257 1258"
    return f"cp{page}" if str(page) in pages.split() and page != 708 else None
