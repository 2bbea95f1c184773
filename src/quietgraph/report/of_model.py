"""The page of a model that was fitted in Python, without a run folder."""

from pathlib import Path

from quietgraph.data.noise_setting import NoiseSetting
from quietgraph.files import write_file
from quietgraph.methods import NodeClassifier
from quietgraph.report.fit_run import FitRun
from quietgraph.report.page import render_page


def run_of(model: NodeClassifier) -> FitRun:
    """Return a fitted model and what it was fitted on as a run; no true labels are known."""
    return FitRun(
        source=model.observation_.name,
        noise=NoiseSetting(),
        model=model,
        observation=model.observation_,
        reference=None,
        metrics={},
        beside={},
        command=f"{type(model).__name__}().fit(...)",
    )


def write_page(model: NodeClassifier, path: Path) -> Path:
    """Write the report of a fitted model to a file; return its path."""
    model.quality()  # the page shows what out-of-fold predictions say
    write_file(path, render_page(run_of(model)))
    return path
