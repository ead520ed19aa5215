"""Outputs as one web page that needs nothing else: no script, no address of another machine."""

from __future__ import annotations

import html
from collections.abc import Sequence

from services.studio.export.flow import (
    Part,
    Run,
    cited_sources,
    label,
    parts,
    place,
    quote,
    reference,
)
from services.studio.models import StudioOutput

_STYLE = """
:root { color-scheme: light dark; --line: #d8d8d4; --soft: #666; --accent: #0b5c68 }
@media (prefers-color-scheme: dark) { :root { --line: #3a3d40; --soft: #a5a8aa; --accent: #6cc3cf } }
body { font: 17px/1.6 Georgia, "Noto Serif", serif; max-width: 44rem; margin: 3rem auto; padding: 0 1.25rem }
h1, h2, h3 { line-height: 1.25; margin: 2em 0 .5em } h1 { margin-top: 0 }
table { border-collapse: collapse; width: 100%; font: 15px/1.45 system-ui, sans-serif }
th, td { text-align: start; vertical-align: top; padding: .5em .75em .5em 0; border-bottom: 1px solid var(--line) }
sup a, nav a, a { color: var(--accent); text-decoration: none } sup { line-height: 0; font-size: .75em }
nav, .refs { font: 15px/1.5 system-ui, sans-serif } nav ol, nav li { padding: 0; list-style: none }
nav .l3 { margin-left: 1.5em } .refs { border-top: 1px solid var(--line); margin-top: 3em }
.refs li { margin: .75em 0 } .refs q { color: var(--soft); display: block } :target { outline: 2px solid var(--accent); outline-offset: 4px }
pre { overflow-x: auto }
"""  # noqa: E501


def export(output: StudioOutput) -> bytes:
    """UTF-8, with a table of contents and a link from each marker to its passage and back."""
    language = output.options.language
    body = parts(output.content)
    heads = [part for part in body if part.kind == "heading"]
    title = html.escape(output.title)
    pieces = [f'<h1 dir="auto">{title}</h1>']
    if len(heads) > 2:
        rows = (
            f'<li class="l{part.level}"><a href="#h{n}">{html.escape(part.text)}</a></li>'
            for n, part in enumerate(heads)
        )
        pieces.append(f"<nav><ol>{''.join(rows)}</ol></nav>")
    pieces.append(_body(body))
    if output.citations:
        rows = (
            f'<li id="c{c.number}" value="{c.number}">{html.escape(place(c, language))}'
            f'<q dir="auto">{html.escape(quote(c))}</q></li>'
            for c in output.citations
        )
        pieces.append(
            f'<section class="refs"><h2>{label("passages", language)}</h2><ol>{"".join(rows)}</ol>'
        )
        used = "".join(f"<li>{html.escape(reference(u))}</li>" for u in cited_sources(output))
        pieces.append(f"<h2>{label('sources', language)}</h2><ul>{used}</ul></section>")
    page = (
        f'<!doctype html>\n<html lang="{html.escape(language)}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{chr(10).join(pieces)}\n</body></html>\n"
    )
    return page.encode("utf-8", "replace")


def _body(body: Sequence[Part]) -> str:
    found: list[str] = []
    number = 0
    listing = ""
    for part in body:
        tag = ("ol" if part.ordered is not None else "ul") if part.kind == "item" else ""
        if tag != listing:
            found.append(f"</{listing}>" * bool(listing) + f"<{tag}>" * bool(tag))
            listing = tag
        inner = _inner(part.runs)
        match part.kind:
            case "heading":
                level = min(max(part.level, 2), 6)
                found.append(f'<h{level} id="h{number}" dir="auto">{inner}</h{level}>')
                number += 1
            case "item":
                found.append(f'<li dir="auto">{inner}</li>')
            case "quote":
                found.append(f'<blockquote dir="auto">{inner}</blockquote>')
            case "code":
                found.append(f"<pre>{inner}</pre>")
            case "table":
                found.append(_table(part))
            case _:
                found.append(f'<p dir="auto">{inner}</p>')
    return "\n".join(found) + f"</{listing}>" * bool(listing)


def _table(part: Part) -> str:
    def line(cells: Sequence[Sequence[Run]], tag: str) -> str:
        return "".join(f'<{tag} dir="auto">{_inner(cell)}</{tag}>' for cell in cells)

    head, *rest = part.rows
    rows = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rest)
    return f"<table><thead><tr>{line(head, 'th')}</tr></thead><tbody>{rows}</tbody></table>"


def _inner(runs: Sequence[Run]) -> str:
    return "".join(map(_run, runs))


def _run(run: Run) -> str:
    if run.note is not None:
        return f'<sup><a href="#c{run.note}">[{run.note}]</a></sup>'
    text = html.escape(run.text).replace("\n", "<br>" if not run.code else "\n")
    for wanted, tag in ((run.code, "code"), (run.italic, "em"), (run.bold, "strong")):
        text = f"<{tag}>{text}</{tag}>" if wanted else text
    link = f'<a href="{html.escape(run.link)}" rel="noreferrer">' if run.link else ""
    return f"{link}{text}</a>" if link else text


def check(data: bytes) -> None:
    data.decode("utf-8")
