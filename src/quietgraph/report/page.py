"""One self-contained HTML page about a fit."""

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup
from torch import from_numpy

from quietgraph.diagnose import attended_eigenvalues, gram_eigenvalues
from quietgraph.report.fit_figures import accuracy_bars, spectra, training_curves
from quietgraph.report.fit_run import FitRun

_SUSPECTS_SHOWN = 50


def render_page(run: FitRun) -> str:
    """Return the report as HTML that needs no network."""
    environment = Environment(
        loader=PackageLoader("quietgraph.report"), autoescape=select_autoescape(["html"])
    )
    eigenvalues = gram_eigenvalues(from_numpy(run.model.embeddings_))
    suspects = run.model.suspects().head(_SUSPECTS_SHOWN).to_dict("records")
    wrong = run.wrong_labels()
    for row in suspects:
        row["wrong"] = bool(wrong[row["node"]])
    figures = {
        "accuracy": Markup(accuracy_bars(run.comparison())),  # noqa: S704  (our own SVG)
        "training": Markup(training_curves(run.model.history_)),  # noqa: S704
        "spectra": Markup(  # noqa: S704
            spectra(eigenvalues.numpy(), attended_eigenvalues(eigenvalues).numpy())
        ),
    }
    return environment.get_template("report.html").render(
        run=run, facts=run.facts(), suspects=suspects, figures=figures, any_wrong=wrong.any()
    )
