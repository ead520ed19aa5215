"""``halo``: the workspace from the command line.

``--json`` prints one JSON document on stdout and nothing else. Exit status: 0 done, 1 failed,
2 wrong usage. Work is done by the same services as the screen's; nothing heavy is imported before a
command needs it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from services.errors import AmbiguousNameError, HaloError
from services.lance_import import spare_pandas
from services.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from interfaces.shapes import Spot
    from services.context import Context
    from services.ingestion import SourceView
    from services.models import Block, Hit, Quote
    from services.pipeline import Pipeline


def run() -> None:
    """The ``halo`` program."""
    spare_pandas()
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has seen enough
        status = 1
    # The system takes the models' memory back at once; freeing it piece by piece takes 0.4 s.
    os._exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace, Workspace], int] = options.command
    try:
        return command(options, open_workspace(options.notebook))
    except HaloError as error:
        if options.json:
            _print_json({"error": error.as_dict()})
        else:
            print(f"halo: {error}", file=sys.stderr)
        return 2 if isinstance(error, AmbiguousNameError) else 1
    except KeyboardInterrupt:
        print("halo: stopped; what was finished is kept", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="halo", description="A local research workspace: sources in, cited answers out."
    )
    verbs = parser.add_subparsers(metavar="COMMAND", required=True)

    def verb(name: str, function: Callable[..., int], help_: str) -> argparse.ArgumentParser:
        one = verbs.add_parser(name, help=help_, description=help_)
        one.add_argument("--notebook", metavar="N", help="a notebook's title or id")
        one.add_argument("--json", action="store_true", help="print one JSON document")
        one.set_defaults(command=function)
        return one

    add = verb("add", _add, "Add files, folders or links and wait until they can be asked.")
    add.add_argument("paths", nargs="+", metavar="PATH|URL")
    add.add_argument("--password", help="opens a protected file; used once, never stored")
    add.add_argument("--replace", action="store_true", help="replace sources of the same name")
    verb("list", _list, "List the sources.")
    show = verb("show", _show, "Show what was read of a source.")
    show.add_argument("source", metavar="SOURCE")
    search = verb("search", _search, "Find passages.")
    search.add_argument("query", metavar="QUERY")
    search.add_argument("--k", type=_count, default=10, help="how many (default 10)")
    search.add_argument("--mode", choices=("hybrid", "vector", "text"), default="hybrid")
    search.add_argument(
        "--context",
        type=_characters,
        metavar="CHARS",
        help="show the sections around the passages, at most so many characters each",
    )
    _source_option(search)
    ask = verb("ask", _ask, "Answer a question from the sources, with citations.")
    ask.add_argument("question", metavar="QUESTION")
    _source_option(ask)
    visualize = verb("visualize", _visualize, "Draw the best passage for a query on its page.")
    visualize.add_argument("source", metavar="SOURCE")
    visualize.add_argument("query", metavar="QUERY")
    visualize.add_argument("--out", type=Path, required=True, metavar="FILE.png")
    visualize.add_argument("--password", help="opens a protected file; used once, never stored")
    studio = verb("studio", _studio, "Make a finished output from the sources.")
    studio.add_argument("action", choices=("make",), help="make: one output, into a file")
    studio.add_argument(
        "kind", metavar="KIND", help="report ..., or a template: briefing, faq, timeline ..."
    )
    studio.add_argument("--format", metavar="FORMAT", help="docx, pdf, md ... (FILE's ending)")
    studio.add_argument("--out", type=Path, required=True, metavar="FILE")
    studio.add_argument("--focus", default="", metavar="WORDS", help="only what has to do with it")
    studio.add_argument("--column", action="append", metavar="NAME", help="of a table; repeated")
    studio.add_argument("--length", choices=("short", "medium", "long"), default=None)
    studio.add_argument("--language", choices=("en", "de"), default="en", help="of the headings")
    _source_option(studio)
    rename = verb("rename", _rename, "Give a source another name.")
    rename.add_argument("source", metavar="SOURCE")
    rename.add_argument("name", metavar="NAME")
    rm = verb("rm", _rm, "Delete sources.")
    rm.add_argument("sources", nargs="+", metavar="SOURCE")
    reindex = verb("reindex", _reindex, "Read sources again from their originals (default: all).")
    reindex.add_argument("sources", nargs="*", metavar="SOURCE")
    reindex.add_argument(
        "--language", metavar="CODE", help="spoken in these recordings: en, de ... or auto"
    )
    serve = verb("serve", _serve, "Serve this notebook to other programs over HTTP.")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    serve.add_argument("--port", type=_port, default=8502, help="port to listen on (8502)")
    doctor = verb("doctor", _doctor, "Check the data folder, the index and the embedder.")
    doctor.add_argument("--repair", action="store_true", help="mend what can be mended")
    return parser


def _source_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--source",
        action="append",
        metavar="SOURCE",
        help="only this source, by its id or name; may be repeated",
    )


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 1000:
        raise argparse.ArgumentTypeError("must lie between 1 and 1000")
    return number


def _characters(text: str) -> int:
    number = int(text)
    if not 100 <= number <= 1_000_000:
        raise argparse.ArgumentTypeError("must lie between 100 and 1000000")
    return number


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError("must lie between 0 and 65535")
    return number


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


# --- commands -----------------------------------------------------------------------------------


def _add(options: argparse.Namespace, workspace: Workspace) -> int:
    from interfaces import shapes
    from services import adding, intake
    from services.pipeline import Pipeline

    _prepare_embedder()
    files: list[intake.Incoming] = []
    links = [typed for typed in options.paths if _is_link(typed)]
    for path in [Path(typed) for typed in options.paths if typed not in links]:
        inside = intake.folder_files(str(path)) if path.is_dir() else [path]
        files += [intake.Incoming(file.name, file) for file in inside]
    added = adding.add_files(
        workspace,
        files,
        same_name="replace" if options.replace else "keep",
        password=options.password,
    )
    added += adding.add_links(workspace, links, password=options.password)
    worker = Pipeline(lambda: [workspace]).start()
    ids = [item.source_id for item in added if item.source_id]
    show = None if options.json else _progress_line()
    attached = _wait(worker, workspace, ids, show)
    worker.stop()
    results = [
        result.model_dump(mode="json")
        for result in shapes.with_attached(workspace, added, attached)
    ]
    if options.json:
        _print_json({"sources": results})
    else:
        for result in results:
            print(_line(result))
    return 0 if all(r["status"] in ("ready", "duplicate") for r in results) else 1


def _is_link(typed: str) -> bool:
    """An address with its scheme; anything else names a file."""
    return "://" in typed and not Path(typed).exists()


def _wait(
    worker: Pipeline,
    workspace: Workspace,
    ids: list[str],
    show: Callable[[list[SourceView]], None] | None,
) -> dict[str, list[str]]:
    """Wait for sources and for those made of their attachments, which it returns by source."""
    from interfaces.shapes import attached_to

    attached: dict[str, list[str]] = {}
    while ids:
        worker.wait(workspace, ids, on_progress=show)
        attached |= attached_to(workspace, ids)
        ids = [child for key in ids for child in attached[key] if child not in attached]
    return attached


def _prepare_embedder() -> None:
    """Convert the bundled weights with a word about it, before anything waits for them."""
    from services import embeddings
    from services.settings import embedder_name

    if embedder_name() != "local" or embeddings.prepared():
        return
    print("halo: preparing the bundled embedder, once (about ten seconds) ...", file=sys.stderr)
    embeddings.prepare()


def _progress_line() -> Callable[[list[SourceView]], None] | None:
    if not sys.stderr.isatty():
        return None

    def show(views: list[SourceView]) -> None:
        ready = sum(view.status == "ready" for view in views)
        passages = sum(view.done for view in views if view.status == "text_ready")
        print(f"\r{ready} of {len(views)} ready, {passages} vectors", end="  ", file=sys.stderr)

    return show


def _line(result: dict[str, Any]) -> str:
    units = ", ".join(f"{number} {unit}" for unit, number in result["units"].items())
    detail = result["error"]["message"] if result["error"] else units
    return f"{result['status']:<15} {result['name']}" + (f"  ({detail})" if detail else "")


def _list(options: argparse.Namespace, workspace: Workspace) -> int:
    from interfaces.shapes import listed
    from services.ingestion import list_sources

    views = list_sources(workspace)
    if options.json:
        rows = [listed(view).model_dump(mode="json") for view in views]
        _print_json({"sources": rows})
        return 0
    if not views:
        print("No sources yet. “halo add PATH” adds some.")
    for view in views:
        source = view.source
        print(f"{source.id}  {view.status:<14} {source.type_label:<10} {source.name}")
        if source.error:
            print(f"{'':<34}{source.error['message']}")
    return 0


def _show(options: argparse.Namespace, workspace: Workspace) -> int:
    from interfaces.shapes import shown
    from services.storage import find_source

    source = shown(workspace, find_source(options.source, workspace).id)
    if options.json:
        _print_json(source.model_dump(mode="json"))
    else:
        print("\n\n".join(map(_timed, source.blocks)))
    return 0


def _timed(block: Block) -> str:
    """A block's text, after its time where it has one: [1:02:03]."""
    from services.speech import clock

    return block.text if block.time is None else f"[{clock(block.time)}] {block.text}"


def _load_embedder(workspace: Workspace) -> None:
    """Start loading the embedder beside everything else that a question needs loaded."""
    from services.embeddings import get_embedder, warm
    from services.storage import load_sources

    if any(source.vectors for source in load_sources(workspace)):
        warm(get_embedder())


def _search(options: argparse.Namespace, workspace: Workspace) -> int:
    source_ids = _meant(workspace, options.source)
    if options.mode != "text":
        _load_embedder(workspace)
    from interfaces import shapes
    from services.search import search

    result = search(workspace, options.query, k=options.k, mode=options.mode, source_ids=source_ids)
    hits = [
        {
            "rank": rank,
            "score": hit.score,
            "text": hit.chunk.text,
            **shapes.place(hit, options.query).model_dump(),
        }
        for rank, hit in enumerate(result.hits, 1)
    ]
    around = _around(workspace, result.hits, options.context) if options.context else None
    if options.json:
        told = {"query": options.query, "mode": result.mode, "hits": hits}
        told["notices"] = [notice.message for notice in result.notices]
        if around is not None:
            told["contexts"] = [
                {**asdict(context), "hits": [at + 1 for at in context.hits]} for context in around
            ]
        _print_json(told)
        return 0
    for notice in result.notices:
        print(f"halo: {notice.message}", file=sys.stderr)
    for context in around or ():
        where = f", p. {context.page}" if context.page else ""
        print(f"{context.hits[0] + 1}. {context.source_name}{where}\n\n{context.text}\n")
    for rank, hit in enumerate(result.hits if around is None else (), 1):
        spot = shapes.spot(hit, options.query)
        print(f"{rank}. {hit.source_name}{_where(spot)}\n   {_short(hit.chunk.text)}\n")
    if not hits:
        print("Nothing found.")
    return 0


def _around(workspace: Workspace, hits: Sequence[Hit], room: int) -> list[Context]:
    """The sections around hits;"""
    from services.context import expand
    from services.ingestion import load_document

    return expand(hits, lambda hit: load_document(workspace, hit.source_id, hit.revision), room)


def _visualize(options: argparse.Namespace, workspace: Workspace) -> int:
    from services.errors import from_os_error
    from services.storage import find_source
    from services.visual import draw_passage

    source = find_source(options.source, workspace)
    _load_embedder(workspace)
    drawn = draw_passage(workspace, source.id, options.query, password=options.password)
    try:
        options.out.write_bytes(drawn.png)
    except OSError as error:
        raise from_os_error(error, f"writing {options.out.name}") from error
    if options.json:
        _print_json(
            {
                "file": str(options.out),
                "source_id": drawn.hit.source_id,
                "chunk_id": drawn.hit.chunk_id,
                "page": drawn.page,
                "boxes": [asdict(box) for box in drawn.boxes],
            }
        )
    else:
        print(f"{options.out}: page {drawn.page}, {len(drawn.boxes)} lines")
    return 0


def _studio(options: argparse.Namespace, workspace: Workspace) -> int:
    from services.errors import UserInputError, from_os_error
    from services.studio import export, outputs, runs
    from services.studio.models import Options
    from services.studio.templates import template

    chosen = template(options.kind)
    name = options.format or options.out.suffix[1:].lower() or chosen.formats[0]
    if name not in chosen.formats:
        raise UserInputError(
            f"“{chosen.name('en')}” cannot be written as “{name}”.",
            code="no_such_format",
            step=f"Choose one of: {', '.join(chosen.formats)}.",
            name=name,
            known=", ".join(chosen.formats),
        )
    wanted = Options(
        language=options.language,
        length=options.length or chosen.defaults.length,
        focus=options.focus or chosen.defaults.focus,
        columns=options.column or [],
        source_ids=_meant(workspace, options.source) or [],
    )
    output_id = runs.start(workspace, chosen.id, wanted)
    try:
        output = runs.wait(workspace, output_id)
    except KeyboardInterrupt:
        runs.cancel(workspace, output_id)
        output = runs.wait(workspace, output_id)
    if output.error:
        raise outputs.failure(output)
    try:
        options.out.write_bytes(export.export(output, name))
    except OSError as error:
        raise from_os_error(error, f"writing {options.out.name}") from error
    made = {
        "id": output.output_id,
        "template_id": output.template_id,
        "title": output.title,
        "sources": output.sources,
        "files": {name: str(options.out)},
    }
    return _done(options, {"output": made}, f"{options.out}: {output.title}")


def _where(spot: Spot | Quote) -> str:
    """ ", p. 12" or ", at 1:02:03"; "" for what has neither."""
    from services.speech import clock

    if spot.time is not None:
        return f", at {clock(spot.time)}"
    return f", p. {spot.page}" if spot.page else ""


def _short(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _meant(workspace: Workspace, typed: Sequence[str] | None) -> list[str] | None:
    """The ids of the sources that somebody named, None where nobody named any."""
    from services.storage import find_source

    found = [find_source(one, workspace).id for one in typed or ()]
    return list(dict.fromkeys(found)) or None


def _ask(options: argparse.Namespace, workspace: Workspace) -> int:
    source_ids = _meant(workspace, options.source)
    _load_embedder(workspace)
    from interfaces.shapes import MOST_CITATIONS, answered
    from services.chat import answer_question

    answer = answer_question(workspace, options.question, source_ids, most_citations=MOST_CITATIONS)
    if options.json:
        _print_json(answered(answer).model_dump(mode="json"))
        return 0
    from services.chat import citation_line

    print(answer.text)
    for passage in answer.looked_at:
        print(f"\nLooked at {passage.source_name}{_where(passage)}: {_short(passage.quote)}")
    for citation in answer.citations:
        print(f"\n{citation_line(citation)}")
    for notice in answer.notices:
        print(f"halo: {notice.message}", file=sys.stderr)
    return 0


def _rename(options: argparse.Namespace, workspace: Workspace) -> int:
    from services.ingestion import rename_source
    from services.storage import find_source, get_source

    source_id = find_source(options.source, workspace).id
    rename_source(workspace, source_id, options.name)
    source = get_source(source_id, workspace)
    return _done(options, {"id": source.id, "name": source.name}, f"Renamed to “{source.name}”.")


def _rm(options: argparse.Namespace, workspace: Workspace) -> int:
    from services.ingestion import delete_sources
    from services.storage import get_source

    ids = _meant(workspace, options.sources) or []
    names = [get_source(source_id, workspace).name for source_id in ids]
    entry = delete_sources(workspace, ids)
    said = f"Deleted “{names[0]}”." if len(ids) == 1 else f"Deleted {len(ids)} sources."
    if not entry:
        said += " The disk is full, so nothing of it was kept."
    return _done(options, {"deleted": ids, "trash_id": entry}, said)


def _reindex(options: argparse.Namespace, workspace: Workspace) -> int:
    from interfaces.shapes import read_again
    from services import probes
    from services.ingestion import reindex_sources, set_language
    from services.pipeline import Pipeline

    _prepare_embedder()
    chosen = _meant(workspace, options.sources)
    if options.language:
        set_language(workspace, chosen or [], options.language)
    ids = reindex_sources(workspace, chosen)
    worker = Pipeline(lambda: [workspace]).start()
    worker.wait(workspace, ids, on_progress=None if options.json else _progress_line())
    worker.stop()
    results = [result.model_dump(mode="json") for result in read_again(workspace, ids)]
    failed = sum(result["status"] != "ready" for result in results)
    lost = probes.after(workspace)
    said = f"{len(results) - failed} of {len(results)} ready."
    if lost:
        said += f" {len(lost)} recent questions find less than before: “halo doctor” names them."
    _done(options, {"sources": results}, said)
    return 1 if failed else 0


def _serve(options: argparse.Namespace, workspace: Workspace) -> int:
    from interfaces.api import serve

    def tell(url: str) -> None:
        _done(options, {"url": url}, f"HALO answers at {url}. Stop it with Ctrl-C.")
        sys.stdout.flush()

    serve(workspace, options.host, options.port, tell)
    return 0


def _doctor(options: argparse.Namespace, workspace: Workspace) -> int:
    from services.doctor import examine, repair

    mended = repair(workspace) if options.repair else []
    checks = examine(workspace)
    if options.json:
        rows = [check.as_dict() for check in checks]
        _print_json({"ok": all(check.ok for check in checks), "checks": rows, "repaired": mended})
    else:
        for line in mended:
            print(f"mended  {line}")
        for check in checks:
            print(f"{'ok' if check.ok else 'FAULT':<7} {check.name}: {check.says}")
    return 0 if all(check.ok for check in checks) else 1


def _done(options: argparse.Namespace, value: dict[str, Any], said: str) -> int:
    if options.json:
        _print_json(value)
    else:
        print(said)
    return 0


if __name__ == "__main__":
    run()
