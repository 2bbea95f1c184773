"""`quietgraph review`: decide on suspicious labels in the browser, alone or with others."""

import os
import threading
import webbrowser
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from rich.markup import escape

from quietgraph.cli.console import say, tell
from quietgraph.cli.outputs import checked_output
from quietgraph.errors import UnreadableFileError, UnwritablePathError
from quietgraph.extras import MissingExtraError
from quietgraph.files import write_file
from quietgraph.report.earlier import earlier_run
from quietgraph.report.run_files import DECISIONS_FILE
from quietgraph.review.access import is_loopback
from quietgraph.review.decisions import DecisionStore, check_reviewer
from quietgraph.review.run import ReviewRun, open_run

_ROOM: Final = 1_000_000  # bytes that must be free: many thousand decisions


def review(
    *,
    run_dir: Path,
    host: str,
    port: int,
    reviewer: str,
    browser: bool,
    export: Path | None,
    as_json: bool,
) -> None:
    """Serve the report of a run to reviewers and save their decisions."""
    run = open_run(run_dir)
    path = run_dir / DECISIONS_FILE
    if export is not None:
        _export(run, path, export, as_json=as_json)
        return
    if reviewer:
        check_reviewer(reviewer)
    _check_room(run_dir)
    served = partial(_serve, reviewer=reviewer, browser=browser, as_json=as_json)
    served(run, DecisionStore(path), (host, port))


def _check_room(folder: Path) -> None:
    """Say at once where decisions could not be saved."""
    probe = folder / f".room-{os.getpid()}"
    try:
        probe.write_bytes(bytes(_ROOM))
    except OSError as error:
        raise UnwritablePathError(
            f"decisions cannot be saved in {folder}: {error.strerror}. Make room, or copy the run "
            "to a folder that you may write to."
        ) from error
    finally:
        with suppress(OSError):
            probe.unlink()


def _serve(
    run: ReviewRun,
    store: DecisionStore,
    address: tuple[str, int],
    *,
    reviewer: str,
    browser: bool,
    as_json: bool,
) -> None:
    try:
        from quietgraph.review.listen import listen, make_server  # noqa: PLC0415  (needs the extra)
        from quietgraph.review.server import Review  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            f"quietgraph review needs the package {error.name}, which is not installed. "
            "Install it with: pip install 'quietgraph[review]'"
        ) from error
    host, port = address
    with listen(host, port) as listener:
        served = Review(run, store, host, reviewer)
        link = served.link(listener.getsockname()[1])
        if not is_loopback(host):
            say(
                f"[yellow]note:[/] everybody who reaches {escape(host)} and has the link can see "
                "and decide; the connection is not encrypted."
            )
        tell(f"review: {link}", {"review": link, "decisions": store.path}, as_json=as_json)
        say(f"decisions are saved to {escape(str(store.path))}; stop with Ctrl-C")
        if browser:
            threading.Timer(0.5, webbrowser.open, [link]).start()
        make_server(served).run(sockets=[listener])


def _export(run: ReviewRun, path: Path, target: Path, *, as_json: bool) -> None:
    if not path.is_file() and not run.earlier.decisions:
        replaced = earlier_run(path.parent)
        way_out = f"Make some with: quietgraph review {path.parent}"
        if replaced is not None:
            way_out = (
                f"Those of the run that it replaced are in {replaced}: give them to a fit with "
                f"--verified {replaced}"
            )
        raise UnreadableFileError(f"there are no decisions yet in {path.parent}. {way_out}")
    text, counts = run.export(DecisionStore(path).after() if path.is_file() else [])
    write_file(checked_output(target), text)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if kind != "conflict")
    left = f"; {counts['conflict']} conflicts left as unsure" if counts["conflict"] else ""
    earlier = len(run.earlier.decisions)
    before = f", and {earlier} from earlier runs" if earlier else ""
    tell(
        f"{counts.total()} labels decided ({kinds or 'none'}{left}){before}: {target}",
        {"decided": dict(counts), "earlier": earlier, "file": target},
        as_json=as_json,
    )
    say(f"next: {escape(run.next_command(str(target)))}")
