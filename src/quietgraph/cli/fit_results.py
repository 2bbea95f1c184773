"""What `quietgraph fit` prints at the end."""

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from quietgraph.cli.console import results
from quietgraph.report.fit_run import FitRun

_MOST_ROWS = 20  # of annotators


def print_results(run: FitRun, folder: Path) -> None:
    """Print scores of all fitted methods, the statement of quality, and where the report is."""
    scores = {"test accuracy": "test_accuracy", "macro-F1": "test_macro_f1"}
    if run.reference is None:
        scores = {"out-of-fold agreement with observed labels": "out_of_fold_accuracy"}
    table = Table("method", *scores, "seconds", "settings")
    for row in run.comparison():
        numbers = [f"{row[name]:.3f}" for name in scores.values()]
        table.add_row(row["method"], *numbers, f"{row['seconds']:.1f}", escape(row["settings"]))
    results.print(table)
    for sentence in run.model.quality().sentences:
        results.print(escape(sentence))
    _print_annotators(run)
    results.print(escape(run.suspects_sentence()))
    for advice in run.model.quality().advice:
        results.print(escape(f"what to try next: {advice}"))
    results.print(f"report: {folder / 'report.html'}")


def _print_annotators(run: FitRun) -> None:
    rows = run.annotators()
    if not rows:
        return
    table = Table("annotator", "answers", "accuracy", "95 % interval", "note")
    for row in rows[:_MOST_ROWS]:
        accuracy, interval, note = "", "", "nobody checks it"
        if row["accuracy"] is not None:
            accuracy = f"{row['accuracy']:.3f}"
            interval = f"{row['accuracy_low']:.2f} to {row['accuracy_high']:.2f}"
            note = "random" if row["is_random"] else ""
        table.add_row(escape(row["annotator"]), str(row["answers"]), accuracy, interval, note)
    results.print(table)
    if len(rows) > _MOST_ROWS:
        results.print(f"{len(rows) - _MOST_ROWS:,} more annotators are in annotators.csv.")
