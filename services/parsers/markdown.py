"""Markdown: headings, paragraphs, lists, code and tables as plain text; front matter as a note."""

from __future__ import annotations

import re
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.decoding import decode
from services.parsers.outline import Outline

_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(
    r"^(title|author|authors|date|lang|language):[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE
)
_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>]*>", re.DOTALL)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a Markdown file. It has no units and no pages; links and pictures are not followed."""
    decoded = decode(path.read_bytes())
    document = Document()
    decoded.tell(document.report)
    text = decoded.text
    outline = Outline()
    if front := _FRONT.match(text):
        text = text[front.end() :]
        for field, value in _FIELD.findall(front[1]):
            document.metadata[field.lower()] = value.strip().strip("\"'")
        if front[1].strip():
            outline.add(Block(kind="note", text=front[1].strip()))
    add_markdown(text, outline)
    document.blocks = outline.blocks
    document.title = document.metadata.pop("title", "") or outline.first_title
    return document


def add_markdown(text: str, outline: Outline) -> None:
    """Add the blocks of Markdown text to an outline."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    _Walk(parser.parse(text), outline).blocks()


class _Walk:
    """Turns the flat list of tokens into blocks."""

    def __init__(self, tokens: list[Token], outline: Outline) -> None:
        self._tokens = tokens
        self._outline = outline
        self._at = 0

    def blocks(self) -> None:
        while self._at < len(self._tokens):
            token = self._next()
            if token.type == "heading_open":
                self._outline.heading(_plain(self._next()), int(token.tag[1]))
            elif token.type in ("bullet_list_open", "ordered_list_open"):
                self._add("list", "\n".join(self._list(token)))
            elif token.type == "table_open":
                self._table()
            elif token.type in ("fence", "code_block"):
                self._add("code", token.content.rstrip())
            elif token.type == "inline":
                self._add("paragraph", _plain(token))
            elif token.type == "html_block":
                self._add("paragraph", _without_tags(token.content))

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _add(self, kind: str, text: str) -> None:
        if text.strip():
            self._outline.add(Block.model_validate({"kind": kind, "text": text}))

    def _list(self, opening: Token, depth: int = 0) -> list[str]:
        number = int(opening.attrGet("start") or 1)
        ordered = opening.type == "ordered_list_open"
        lines: list[str] = []
        fresh = False
        while (token := self._next()).type != opening.type.replace("open", "close"):
            indent = "  " * depth
            if token.type == "list_item_open":
                fresh = True
            elif token.type == "list_item_close":
                number += 1
            elif token.type in ("bullet_list_open", "ordered_list_open"):
                lines += self._list(token, depth + 1)
            elif token.type in ("inline", "fence", "code_block", "html_block"):
                text = _plain(token) if token.type == "inline" else _without_tags(token.content)
                mark = (f"{number}. " if ordered else "- ") if fresh else "  "
                lines += [f"{indent}{mark}{text.strip()}".replace("\n", f"\n{indent}  ")]
                fresh = False
        return lines

    def _table(self) -> None:
        rows: list[list[str]] = []
        header_rows = 0
        while (token := self._next()).type != "table_close":
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(tables.cell(_plain(token)))
            elif token.type == "thead_close":
                header_rows = len(rows)
        for block in tables.blocks(
            rows,
            range(1, len(rows) + 1),
            header_rows=header_rows,
            first_id=len(self._outline.blocks),
        ):
            block.row = None
            self._outline.add(block)


def _plain(token: Token) -> str:
    """Inline content without its marks: links as their text, pictures as their description."""
    parts: list[str] = []
    for child in token.children or []:
        if child.type == "softbreak" or child.type == "hardbreak":
            parts.append("\n")
        elif child.type == "html_inline":
            parts.append("\n" if _BREAK.fullmatch(child.content) else "")
        else:
            parts.append(child.content)
    return "".join(parts).strip()


def _without_tags(html: str) -> str:
    return _TAG.sub("", _BREAK.sub("\n", html)).strip()
