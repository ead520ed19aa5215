"""The opened source, in place of the list: what was read of it, its text, its pages, the file.

The content is one fragment, so turning a page draws nothing else. A citation opens at its passage:
the quote is found again where the source was read anew, and the kept quote is shown when the
source is gone.
"""

from __future__ import annotations

import base64
import html
import mimetypes
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from panels import components, frame, guide, reading, source_menu, state, text
from panels.places import address, file_name, icon_of, page_place
from panels.state import Place
from panels.text import t
from services import citations, ingestion, pages
from services.errors import HaloError, NotFoundError, PasswordNeededError
from services.ingestion import SourceView
from services.models import Citation, Document, Source
from services.pages import Box
from services.workspace import Workspace

SHARP = 1100
"""Width in pixels of a page picture; twice that when zoomed."""
ZOOMS = (1.0, 1.5, 2.0)
LARGEST_PLAYED = 512_000_000
"""Bytes of a recording that is played here; Streamlit holds it in memory while it is open."""
SILENT = frozenset("avi wmv wma aiff flv mpg mpeg amr".split())
"""Endings of recordings that browsers cannot play."""


@dataclass(frozen=True)
class View:
    """Everything one drawing of the viewer needs."""

    workspace: Workspace
    source: SourceView
    document: Document
    citation: Citation | None
    hit: reading.Span | None

    @property
    def path(self) -> Path:
        return ingestion.original_path(self.workspace, self.source.source.id)

    @property
    def paged(self) -> bool:
        return self.document.kind in ("pdf", "image")

    @property
    def recorded(self) -> bool:
        return self.document.kind in ("audio", "video")

    @property
    def page_count(self) -> int:
        return max(self.document.units.get("pages", 0), 1)


def draw(workspace: Workspace, views: list[SourceView]) -> None:
    opened = state.opened_source()
    assert opened is not None
    source = next((view for view in views if view.source.id == opened.source_id), None)
    if source is None or source.source.revision is None:
        removed(opened.citation)
        return
    try:
        document = read(workspace, source.source.id, source.source.revision)
    except HaloError as error:
        broken(source, error)
        return
    hit = None
    if opened.citation:
        hit = citations.locate(document, opened.citation.quote, opened.citation.start)
    view = View(workspace, source, document, opened.citation, hit)
    with frame.head("sources"):
        heading(source.source.name, icon_of(source.source.name, source.source.origin))
        frame.gap()
        source_menu.draw(workspace, source, where="viewer")
    guide.draw(workspace, source.source, document)
    if source.source.url:
        came_from(source.source, document)
    content(view)


@st.cache_resource(max_entries=4, show_spinner=False)
def read(workspace: Workspace, source_id: str, revision: str) -> Document:
    """The parsed document; a revision never changes, so it is read once."""
    return ingestion.load_document(workspace, source_id, revision)


def heading(name: str, icon: str) -> None:
    frame.title_with_back(name, icon, t("viewer.back"), "icon_viewer_back", state.close_source)


def removed(citation: Citation | None) -> None:
    """The source is gone: say so, and show the passage that was kept with the citation."""
    with frame.head("sources"):
        name = citation.source_name if citation else t("viewer.gone_title")
        heading(name, icon_of(name))
    with frame.body("sources"):
        kept = ""
        if citation:
            kept = f"<blockquote>{html.escape(citation.quote)}</blockquote>"
        words = html.escape(t("viewer.removed" if citation else "viewer.gone"))
        st.html(f'<div class="gone"><p class="rep warn">{words}</p>{kept}</div>')


def broken(source: SourceView, error: HaloError) -> None:
    """The source is there, but its text cannot be read: say why, and leave its menu usable."""
    with frame.head("sources"):
        heading(source.source.name, icon_of(source.source.name, source.source.origin))
    with frame.body("sources"):
        words = html.escape(text.error(error))
        st.html(f'<div class="gone"><p class="rep warn">{words}</p></div>')


def came_from(source: Source, document: Document) -> None:
    """Where a link leads, in a new tab; what the page says of itself, and when it was fetched."""
    url = html.escape(source.url or "")
    said = [document.metadata.get("author", "")[:80], text.day(document.metadata.get("date", ""))]
    if source.fetched:
        how = "unchanged" if source.fetched.unchanged else "fetched"
        said.append(t(f"extent.{how}", date=text.date(source.fetched.at)))
    facts = html.escape(" · ".join(fact for fact in said if fact))
    st.html(
        f'<p class="came meta num"><i class="ic">link</i><a href="{url}" target="_blank" '
        f'rel="noopener noreferrer" title="{url}">{html.escape(address(source.url or ""))}</a>'
        f"<span>{facts}</span></p>"
    )


# -- text, page, original ------------------------------------------------------------------------


@st.fragment
def content(view: View) -> None:
    if view.recorded:
        player(view)
    offered = ["text", "page", "original"] if view.paged else ["text", "original"]
    with st.container(
        key="view_tools", horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False
    ):
        tab = st.segmented_control(
            t("viewer.show"),
            offered,
            default="page" if view.paged else "text",
            required=True,
            format_func=lambda tab: t(f"viewer.{tab_words(view, tab)}"),
            label_visibility="collapsed",
            key=f"view_tab_{state.view_count()}",
        )
        st.space("stretch")
        cut = reading.parts(view.document)
        if tab == "page":
            page_tools(view)
        elif tab == "text":
            text_tools(view, cut)
    with frame.body("sources"):
        if view.citation and view.hit is None:
            lost(view.citation)
        if tab == "page":
            page(view)
        elif tab == "text":
            index = part_index(view, cut)
            several = not view.paged or view.page_count > 1
            plays = playable(view)
            st.html(reading.part_html(cut[index], view.hit, places=several, plays=plays))
            show_hit(view, index)
        else:
            original(view)


def tab_words(view: View, tab: str) -> str:
    """A picture has no pages to speak of."""
    return "picture" if tab == "page" and view.document.kind == "image" else tab


def unplayed(view: View) -> str | None:
    """Why the recording cannot be played in the viewer: the key of the sentence, or None."""
    source = view.source.source
    if file_name(source).rpartition(".")[2].lower() in SILENT:
        return "viewer.no_player"
    return "viewer.too_large_to_play" if source.size > LARGEST_PLAYED else None


def playable(view: View) -> bool:
    return view.recorded and unplayed(view) is None


def player(view: View) -> None:
    """The recording, ready to play from the cited passage; times in the transcript play it too.

    Only the browser knows whether it can: ``components.times`` shows the sentence that fits.
    """
    with st.container(key="player"):
        try:
            path = str(view.path)
        except NotFoundError:
            st.html(f'<p class="meta">{html.escape(t("viewer.no_original"))}</p>')
            return
        if why := unplayed(view):
            st.html(f'<p class="meta">{html.escape(t(why))}</p>')
            return
        at = view.document.time_at(view.hit[0]) if view.hit else None
        name = file_name(view.source.source)
        mime = mimetypes.guess_type(name)[0] or f"{view.document.kind}/mp4"
        play = st.video if view.document.kind == "video" else st.audio
        play(path, format=mime, start_time=int(at or 0), alt=view.source.source.name)
        picture, sound = html.escape(t("viewer.no_film")), html.escape(t("viewer.no_player"))
        st.html(f'<p class="meta no_film">{picture}</p><p class="meta no_player">{sound}</p>')
        components.times()


def lost(citation: Citation) -> None:
    """The source was read anew and no longer holds the passage."""
    words = html.escape(t("viewer.lost"))
    quote = html.escape(citation.quote)
    st.html(
        f'<div class="gone"><p class="rep warn">{words}</p><blockquote>{quote}</blockquote></div>'
    )


def show_hit(view: View, place: int) -> None:
    if view.hit:
        components.scroll_to(".hit", f"{state.view_count()} {place}")


def current(view: View) -> Place:
    """What is shown: where the passage is, until the reader turns."""
    shown = state.view_place()
    if shown is None:
        page = reading.page_of(view.document, view.hit[0]) if view.hit else None
        shown = Place(page or (view.citation.page if view.citation else None) or 1)
        state.turn_to(shown)
    return Place(min(max(shown.page, 1), view.page_count), shown.part)


def label_of(view: View, page: int) -> str | None:
    found = (block.page_label for block in view.document.blocks if block.page == page)
    return next(found, None)


def turner(name: str, target: Place, *, possible: bool, icon: str) -> None:
    st.button(
        t(f"viewer.{name}"),
        icon=f":material/{icon}:",
        type="tertiary",
        key=f"icon_turn_{name}",
        disabled=not possible,
        on_click=state.turn_to,
        args=(target,),
    )


def page_tools(view: View) -> None:
    if view.page_count > 1:
        shown = current(view).page
        turner("previous", Place(shown - 1), possible=shown > 1, icon="chevron_left")
        where = t(
            "viewer.of",
            place=page_place(shown, label_of(view, shown)),
            total=view.page_count,
        )
        st.html(f'<span class="where num">{html.escape(where)}</span>', width="content")
        turner("next", Place(shown + 1), possible=shown < view.page_count, icon="chevron_right")
    turn = "zoom_in" if zoomed() < ZOOMS[-1] else "zoom_out"
    st.button(
        t(f"viewer.{turn}"),
        icon=f":material/{turn}:",
        type="tertiary",
        key="icon_zoom",
        on_click=zoom_on,
    )


def zoomed() -> float:
    zoom: float = st.session_state.get("view_zoom", 1.0)
    return zoom


def zoom_on() -> None:
    at = ZOOMS.index(zoomed())
    st.session_state["view_zoom"] = ZOOMS[(at + 1) % len(ZOOMS)]


@st.cache_data(max_entries=24, show_spinner=False)
def picture(path: str, number: int, width: int) -> tuple[str, float, float]:
    """A page as a data URI, with the page's size."""
    data = base64.b64encode(pages.render_page(Path(path), number, width=width)).decode()
    wide, high = pages.page_size(Path(path), number)
    return f"data:image/jpeg;base64,{data}", wide, high


def page(view: View) -> None:
    """The page as a picture; the cited passage boxed, its number in the margin."""
    shown, zoom = current(view).page, zoomed()
    source = view.source.source
    try:
        uri, wide, high = picture(str(view.path), shown, SHARP if zoom == 1 else SHARP * 2)
        boxes = boxed(view, shown)
    except HaloError as error:  # the file is locked, damaged or gone; its text is still there
        locked = isinstance(error, PasswordNeededError)
        words = html.escape(t("viewer.locked_picture" if locked else "viewer.no_picture"))
        st.html(f'<div class="gone"><p class="rep">{words}</p></div>')
        return
    alt = html.escape(t("viewer.alt", page=str(shown), name=source.name))
    marks = "".join(_mark(box, first=number == 0) for number, box in enumerate(boxes))
    if boxes and view.citation:
        marks += (
            f'<span class="pin num" style="top:{boxes[0].top:.2%}">{view.citation.number}</span>'
        )
    st.html(
        f'<div class="pgwrap"><div class="page" style="width:{zoom:.0%};'
        f'aspect-ratio:{wide:.1f}/{high:.1f}"><img src="{uri}" alt="{alt}">{marks}</div></div>'
    )
    show_hit(view, shown)


def boxed(view: View, shown: int) -> list[Box]:
    """Where the cited passage stands on this page."""
    if view.citation is None or view.hit is None:
        return []
    first = reading.page_of(view.document, view.hit[0])
    last = reading.page_of(view.document, max(view.hit[1] - 1, view.hit[0]))
    if first is None or not first <= shown <= (last or first):
        return []
    recognised = view.document.recognised.get(shown, ())
    return pages.passage_boxes(view.path, shown, view.citation.quote, recognised=recognised)


def _mark(box: Box, *, first: bool) -> str:
    return (
        f'<span class="hl{" hit" if first else ""}" style="left:{box.left:.2%};top:{box.top:.2%};'
        f'width:{box.right - box.left:.2%};height:{box.bottom - box.top:.2%}"></span>'
    )


def part_index(view: View, cut: list[list[reading.Piece]]) -> int:
    """The part of the text that is shown: the passage's, the page's, or the one turned to."""
    shown = current(view)
    if shown.part is not None:
        return min(shown.part, len(cut) - 1)
    if view.hit and (not view.paged or reading.page_of(view.document, view.hit[0]) == shown.page):
        return reading.part_of(cut, view.hit[0])
    return reading.first_part_of_page(cut, shown.page) if view.paged else 0


def text_tools(view: View, cut: list[list[reading.Piece]]) -> None:
    """Turn the parts of a long text; the page view follows."""
    if len(cut) < 2:
        return
    index = part_index(view, cut)

    def target(part: int) -> Place:
        inside = cut[part] if 0 <= part < len(cut) else []
        page = next((piece.block.page for piece in inside if piece.block.page), None)
        return Place(page or current(view).page, part)

    turner("previous_part", target(index - 1), possible=index > 0, icon="chevron_left")
    where = t("viewer.part", part=index + 1, total=len(cut))
    st.html(f'<span class="where num">{html.escape(where)}</span>', width="content")
    turner("next_part", target(index + 1), possible=index < len(cut) - 1, icon="chevron_right")


def original(view: View) -> None:
    """The file itself: what it is, and the way to get it."""
    source = view.source.source
    facts = " · ".join(
        [text.size(source.size), t("viewer.added", date=text.date(source.created_at))]
    )
    try:
        path = view.path
    except NotFoundError:
        st.html(f'<p class="original meta">{html.escape(t("viewer.no_original"))}</p>')
        return
    with st.container(key="original", gap="small"):
        st.html(f"<b>{html.escape(source.name)}</b><br><span class='meta num'>{facts}</span>")
        st.download_button(
            t("menu.original"),
            path.read_bytes,
            file_name=file_name(source),
            mime=mimetypes.guess_type(file_name(source))[0] or "application/octet-stream",
            icon=":material/download:",
            key="original_get",
            on_click="ignore",
        )
