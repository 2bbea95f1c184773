"""`quietgraph review`: decide on suspicious labels in the browser, alone or with others."""

import threading
import webbrowser
from pathlib import Path

from rich.markup import escape

from quietgraph.bench.extras import MissingExtraError
from quietgraph.cli.console import results, say
from quietgraph.errors import UnreadableFileError
from quietgraph.files import write_file
from quietgraph.report.fit_run import DECISIONS_FILE
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import ReviewRun, open_run


def review(
    *,
    run_dir: Path,
    host: str,
    port: int,
    reviewer: str,
    browser: bool,
    export: Path | None,
) -> None:
    """Serve the report of a run and save the decisions of its reviewers as they are made."""
    run = open_run(run_dir)
    path = run_dir / DECISIONS_FILE
    if export is not None:
        _export(run, path, export)
        return
    _serve(run, DecisionStore(path), (host, port), reviewer=reviewer, browser=browser)


def _serve(
    run: ReviewRun, store: DecisionStore, address: tuple[str, int], *, reviewer: str, browser: bool
) -> None:
    try:
        from quietgraph.review.server import (  # noqa: PLC0415  (needs the extra)
            Review,
            is_loopback,
            listen,
            serve,
        )
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
        results.print(f"review: {escape(link)}", style="bold")
        say(f"decisions are saved to {escape(str(store.path))}; stop with Ctrl-C")
        if browser:
            threading.Timer(0.5, webbrowser.open, [link]).start()
        serve(served, listener)


def _export(run: ReviewRun, path: Path, target: Path) -> None:
    if not path.is_file():
        raise UnreadableFileError(
            f"there are no decisions yet in {path.parent}. Make some with: "
            f"quietgraph review {path.parent}"
        )
    text, counts = run.corrections(DecisionStore(path).after())
    write_file(target, text)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if kind != "conflict")
    left = f"; {counts['conflict']} conflicts left as unsure" if counts["conflict"] else ""
    results.print(
        f"{counts.total()} labels decided ({kinds or 'none'}{left}): {escape(str(target))}"
    )
