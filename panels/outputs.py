"""Outputs in the Studio panel: those in the making, the list, and one opened to read or edit."""

from __future__ import annotations

import html
import re

import streamlit as st

from panels import frame, live, make_dialog, state
from panels.actions import action
from panels.citing import Shown
from panels.text import error, label, language, t, when
from services.errors import NotFoundError
from services.studio import export, outputs, runs
from services.studio.models import StudioOutput
from services.studio.templates import Template, template
from services.workspace import Workspace

ROWS = 25
ICONS = {
    "open": "visibility",
    "rename": "edit",
    "again": "refresh",
    "as_source": "library_add",
    "delete": "delete",
}
FORMAT_ICONS = {
    "docx": "description",
    "pdf": "picture_as_pdf",
    "xlsx": "table_chart",
    "csv": "csv",
    "md": "article",
    "html": "language",
}


def _template(output: StudioOutput) -> Template | None:
    """Its template, None where that file is gone."""
    try:
        return template(output.template_id)
    except NotFoundError:
        return None


def section(workspace: Workspace) -> None:
    """What is being made, then the finished outputs, newest first."""
    found = outputs.list_outputs(workspace)
    for output in found:
        if output.state == "running":
            running(workspace, output)
    rest = [output for output in found if output.state != "running"]
    if not rest:
        return
    st.html(f'<h3 class="sec-h outs">{html.escape(t("outputs.title"))}</h3>')
    limit = st.session_state.setdefault("output_rows", ROWS)
    with st.container(key="output_rows_box", gap=None):
        for output in rest[:limit]:
            row(workspace, output)
    if len(rest) > limit:
        st.button(
            t("notes.more", n=len(rest) - limit),
            icon=":material/expand_more:",
            type="tertiary",
            key="outputs_more",
            on_click=show_more,
        )


def running(workspace: Workspace, output: StudioOutput) -> None:
    """A card that follows the work; it can be stopped where it is this process's own."""
    output_id = output.output_id

    def draw() -> bool:
        run = runs.run_of(workspace, output_id)
        with st.container(key=f"making_{output_id}", gap=None):
            with st.container(
                horizontal=True, vertical_alignment="center", gap=None, key=f"makehead_{output_id}"
            ):
                st.html(f"<b>{html.escape(output.title)}</b>")
                frame.gap()
                if run:
                    st.button(
                        t("outputs.stop"),
                        icon=":material/stop_circle:",
                        type="tertiary",
                        key=f"icon_stop_{output_id}",
                        on_click=stop,
                        args=(workspace, output_id),
                    )
            step = run.step if run else "elsewhere"
            share = run.done / run.total if run and run.total else 0.0
            done, total = (run.done, run.total) if run else (0, 0)
            st.html(
                f'<div class="bar"><i style="width:{share:.0%}"></i></div>'
                f'<span class="st num">'
                f"{html.escape(t(f'outputs.step.{step}', done=done, total=total))}</span>"
            )
        return run is not None

    live.live(draw, running=runs.run_of(workspace, output_id) is not None)


def row(workspace: Workspace, output: StudioOutput) -> None:
    mark = {"failed": "fail_", "interrupted": "need_", "cancelled": "need_"}.get(output.state, "")
    key = output.output_id
    with st.container(key=f"row_{mark}output_{key}", horizontal=True, gap=None, wrap=False):
        with st.container(key=f"mid_output_{key}", gap=None):
            form = _template(output)
            st.button(
                label(output.title),
                icon=f":material/{form.icon if form else 'article'}:",
                type="tertiary",
                key=f"name_output_{key}",
                wrap=False,
                on_click=state.open_output,
                args=(key,),
            )
            about, css = _about(workspace, output)
            st.html(f'<span class="st cut num {css}" title="{about}">{about}</span>')
        menu(workspace, output, [option for option in ICONS if _possible(output, option)])


def _possible(output: StudioOutput, option: str) -> bool:
    return bool(output.content) or option not in ("open", "as_source")


def _about(workspace: Workspace, output: StudioOutput) -> tuple[str, str]:
    """The line below an output's name, escaped, and its class."""
    match output.state:
        case "failed" if output.error:
            return html.escape(error(output.error)), "fail"
        case "interrupted" | "cancelled":
            return html.escape(t(f"outputs.{output.state}")), "need"
    form = _template(output)
    pieces = [form.name(language()) if form else "", when(output.generated_at or output.created_at)]
    line = html.escape(" · ".join(piece for piece in pieces if piece))
    if outputs.stale(workspace, output):
        line += f" · {html.escape(t('outputs.stale'))}"
        return line, "need"
    return line, ""


def menu(workspace: Workspace, output: StudioOutput, options: list[str]) -> None:
    st.menu_button(
        t("outputs.menu"),
        options,
        icon=":material/more_vert:",
        type="tertiary",
        key=f"menu_output_{output.output_id}",
        format_func=lambda option: f":material/{ICONS[option]}: {t(f'outputs.{option}')}",
        on_click=chosen,
        args=(workspace, output),
    )


def show_more() -> None:
    st.session_state["output_rows"] += ROWS


# -- one output -----------------------------------------------------------------------------------


def opened(workspace: Workspace) -> StudioOutput | None:
    """The output that is open; one that was deleted elsewhere closes."""
    output_id = state.opened_output()
    if not output_id:
        return None
    try:
        return outputs.get_output(workspace, output_id)
    except NotFoundError:
        state.open_output(None)
        st.toast(t("gone"), icon=":material/info:")
        return None


def head(workspace: Workspace, output: StudioOutput) -> None:
    """The panel's top row while an output is open."""
    form = _template(output)
    icon = form.icon if form else "article"
    frame.title_with_back(output.title, icon, t("studio.back"), "icon_note_back", close)
    frame.gap()
    if output.content and output.data.table is None:  # a table's text is made of its cells
        editing = _editing(output)
        st.button(
            t("notes.read" if editing else "notes.edit"),
            icon=f":material/{'visibility' if editing else 'edit'}:",
            type="tertiary",
            key="note_mode",
            on_click=read if editing else edit,
            args=() if editing else (output,),
        )
    if output.content:
        formats = [name for name in (form.formats if form else ["md"]) if name in export.FORMATS]
        st.menu_button(
            t("outputs.export"),
            formats,
            icon=":material/download:",
            key="output_export",
            format_func=lambda name: f":material/{FORMAT_ICONS[name]}: {t(f'format.{name}')}",
            on_click=download,
            args=(output,),
        )
    menu(workspace, output, [name for name in ICONS if name != "open" and _possible(output, name)])


def body(workspace: Workspace, output: StudioOutput, shown: Shown) -> None:
    if output.state == "running":
        with st.container(key="making_box", gap=None):
            running(workspace, output)
    else:
        state_strip(workspace, output)
    if _editing(output):
        editor(workspace, output)
        return
    with st.container(key=f"doc_{output.output_id}", gap=None):
        st.html(
            f'<span class="meta num">{html.escape(_claims(output))}</span>'
            f'<h1 class="serif">{html.escape(output.title)}</h1>'
        )
        cited = shown.cited(output.output_id, output.content, output.citations, output.claims)
        st.markdown(cited.markdown, anchors=False)


def _claims(output: StudioOutput) -> str:
    """English, made without a model, and how many claims are held by their passages."""
    states = [claim.support for claim in output.claims]
    pieces = [make_dialog.LANGUAGES.get(output.options.language, output.options.language)]
    if output.written_by == "extractive":
        pieces.append(t("outputs.extractive"))
    if states:
        pieces.append(t("outputs.claims", n=len(states)))
        pieces += [
            t(f"outputs.{support}", n=states.count(support))
            for support in ("supported", "partly", "unsupported")
            if support in states
        ]
    return " · ".join(pieces)


def state_strip(workspace: Workspace, output: StudioOutput) -> None:
    """Why an output should be made again, and the button for it."""
    stale = outputs.stale(workspace, output)
    if output.error:
        said = html.escape(error(output.error))
    elif output.state in ("interrupted", "cancelled"):
        said = html.escape(t(f"outputs.{output.state}"))
    elif stale:
        pieces = [
            t("outputs.changed", n=len(stale.changed)) if stale.changed else "",
            t("outputs.removed", n=len(stale.removed)) if stale.removed else "",
            t("outputs.parts", names=list(stale.parts)) if stale.parts else "",
        ]
        said = f"<b>{html.escape(t('outputs.stale'))}.</b> " + html.escape(
            " ".join(piece for piece in pieces if piece)
        )
    else:
        return
    update = t("outputs.update")
    frame.strip("stale", "history", said, update, "stale_update", again, workspace, output)


def editor(workspace: Workspace, output: StudioOutput) -> None:
    """The text as Markdown; its claims are checked again when it is stored."""
    key = f"output_text_{output.output_id}"
    st.session_state.setdefault(key, output.content)
    with st.container(key="note_editor", gap="small"):
        st.text_area(
            t("notes.field_text"),
            key=key,
            label_visibility="collapsed",
            height=560,
            on_change=store,
            args=(workspace, output.output_id),
        )
        st.html(f'<span class="meta">{html.escape(t("outputs.edit_hint"))}</span>')


def _editing(output: StudioOutput) -> bool:
    return bool(st.session_state.get("output_editing") == output.output_id)


# -- what a press does ----------------------------------------------------------------------------


def close() -> None:
    st.session_state["output_editing"] = None
    state.open_output(None)


def edit(output: StudioOutput) -> None:
    st.session_state[f"output_text_{output.output_id}"] = output.content
    st.session_state["output_editing"] = output.output_id


def read() -> None:
    st.session_state["output_editing"] = None


@action
def store(workspace: Workspace, output_id: str) -> None:
    outputs.edit_output(workspace, output_id, st.session_state[f"output_text_{output_id}"])


@action
def stop(workspace: Workspace, output_id: str) -> None:
    runs.cancel(workspace, output_id)


@action
def again(workspace: Workspace, output: StudioOutput) -> None:
    """Make it again with the same options, from those of its sources that are left."""
    runs.again(workspace, output.output_id)


@action
def download(output: StudioOutput) -> None:
    name = st.session_state["output_export"]
    data = export.export(output, name)
    title = re.sub(r"[^\w .-]+", " ", output.title).strip()[:80] or "output"
    state.ask_download(f"{title}.{name}", export.FORMATS[name].mime, lambda: data)


@action
def chosen(workspace: Workspace, output: StudioOutput) -> None:
    """Do what was chosen in an output's menu."""
    match st.session_state[f"menu_output_{output.output_id}"]:
        case "open":
            state.open_output(output.output_id)
        case "rename":
            state.ask_name("output", output.output_id, output.title)
        case "again":
            make_dialog.open_for(template(output.template_id).kind, output.output_id)
        case "as_source":
            added = outputs.output_as_source(workspace, output.output_id)
            known = added.outcome == "duplicate"
            st.toast(t("notes.already" if known else "notes.added"), icon=":material/check:")
        case "delete":
            trash_id = outputs.delete_output(workspace, output.output_id)
            if state.opened_output() == output.output_id:
                close()
            state.offer_undo("output", trash_id, output.title)
