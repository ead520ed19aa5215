"""Outputs as Markdown: the text, then what it cites."""

from __future__ import annotations

from services.studio.export.flow import cited_sources, label, place, quote, reference
from services.studio.models import StudioOutput
from services.studio.writing.composing import plain


def export(output: StudioOutput) -> bytes:
    """UTF-8."""
    language = output.options.language
    pieces = [f"# {plain(output.title)}", output.content]
    if output.citations:
        pieces.append(f"## {label('passages', language)}")
        pieces.append(
            "\n".join(
                f"- [{citation.number}] {plain(place(citation, language))}: "
                f"“{plain(quote(citation))}”"
                for citation in output.citations
            )
        )
    if sources := cited_sources(output):
        pieces.append(f"## {label('sources', language)}")
        pieces.append("\n".join(f"- {plain(reference(used))}" for used in sources))
    return ("\n\n".join(pieces) + "\n").encode("utf-8", "replace")


def check(data: bytes) -> None:
    data.decode("utf-8")
