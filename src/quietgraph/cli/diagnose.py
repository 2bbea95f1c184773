"""`quietgraph diagnose`: how low-frequency, how complex, how trustworthy an embedding is."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Output, command

if TYPE_CHECKING:
    from quietgraph.diagnostics.summary import Diagnosis


class Diagnose(Output):
    """Which embedding is looked at."""

    source: str = Field("digits", description="Dataset, or folder of a run.", json_schema_extra=ARGUMENT)
    method: str = Field("gcl-lr-attention", description="Method that learns the embedding.")
    embeddings: Path | None = Field(None, description="An embedding of your own: .npy [nodes, dim].")
    noise: str = Field("symmetric:0.4", description="Label noise of a dataset.")
    seed: int = Field(0, ge=0, description="Seed of split, noise and training.")
    out: Path | None = Field(None, description="Folder for the figures.")


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, Diagnose, panel="Measure")(diagnose)


def diagnose(options: Diagnose) -> None:
    """Show spectrum, label projections, kernel complexity and the bound of an embedding."""
    from quietgraph.cli.console import show_table, tell

    found = _of_run(Path(options.source)) if (Path(options.source) / "run.json").exists() else _of_dataset(options)
    if options.out is not None:
        _write_figures(found, options.out)
    if options.json_:
        tell("", found.to_dict(), as_json=True)
    else:
        show_table(*found.table())


def _of_run(run: Path) -> "Diagnosis":
    """Return the diagnosis of the embeddings of a run against the labels it learned from."""
    from quietgraph.diagnostics.summary import diagnose as diagnose_model
    from quietgraph.methods.storage import load_model

    return diagnose_model(load_model(run / "model"))


def _of_dataset(options: Diagnose) -> "Diagnosis":
    """Return the diagnosis of an embedding of a dataset against its true labels."""
    import numpy as np
    import torch

    from quietgraph.bench.grid import method_of
    from quietgraph.data.datasets import load_benchmark
    from quietgraph.data.noise import apply_noise
    from quietgraph.diagnostics.summary import diagnose_benchmark
    from quietgraph.progress import progress

    data, truth = load_benchmark(options.source, seed=options.seed)
    if options.embeddings is not None:
        rows = torch.from_numpy(np.load(options.embeddings, allow_pickle=False)).float()
    else:
        model = method_of(options.method, options.source)[1].set_params(seed=options.seed)
        with progress(f"fitting {options.method}") as show:
            model.fit(apply_noise(data, truth, options.noise, seed=options.seed), on_epoch=show)
        rows = model.fitted_.embeddings
    return diagnose_benchmark(data, truth, rows, options.noise, seed=options.seed)


def _write_figures(found: "Diagnosis", folder: Path) -> None:
    from quietgraph import plots
    from quietgraph.cli.console import save_figure

    folder.mkdir(parents=True, exist_ok=True)
    figures = {
        "projections": lambda: plots.projections(found.signal, found.noise),
        "spectrum": lambda: plots.spectrum(found.spectrum, found.attended_spectrum),
        "bound": lambda: plots.bound(found.bound),
    }
    for name, draw in figures.items():
        save_figure(draw(), folder / f"{name}.svg")
