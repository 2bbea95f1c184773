"""`quietgraph diagnose`: how low-frequency, how complex, how trustworthy an embedding is."""

import json
from pathlib import Path

import torch
import typer
from rich.table import Table

from quietgraph.bench.theory import diagnose_on_dataset, read_embeddings
from quietgraph.bench.variant import parse_variant
from quietgraph.cli.console import progress_bars, results
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.diagnose import BoundSettings, Diagnosis
from quietgraph.errors import InvalidParameterError
from quietgraph.files import write_file
from quietgraph.methods import load_model
from quietgraph.report.run_files import RUN_FILE, read_facts
from quietgraph.report.theory_figures import (
    bound_figure,
    projection_figure,
    save_figure,
    spectrum_figure,
)


def diagnose(
    *,
    source: str,
    method: str,
    embeddings: Path | None,
    noise: str,
    seed: int,
    scale: str,
    constant: float,
    out: Path | None,
    data_root: str | None,
    as_json: bool,
) -> None:
    """Spectrum, kernel complexity and bound of an embedding."""
    if scale not in {"unit", "raw"}:
        raise InvalidParameterError(f"--scale must be unit or raw, got '{scale}'.")
    settings = BoundSettings(constant=constant, scale=scale)  # type: ignore[arg-type]
    if (Path(source) / RUN_FILE).exists():
        facts = read_facts(Path(source))
        if facts.is_own_data:  # own data: no clean labels to compare with
            _tell(load_model(Path(source) / "model").diagnose(), source, out, as_json)
            return
        embeddings = embeddings or Path(source) / "embeddings.npy"
        source, noise, seed = facts.source, facts.noise, facts.seed
    setting = parse_noise(noise)
    clean, reference = load_benchmark(source, seed=seed, data_root=data_root)
    if embeddings is None:
        with progress_bars():
            model = parse_variant(method).estimator(source, seed=seed)
            model.fit(apply_noise(clean, setting, seed=seed, reference=reference))
        matrix = torch.from_numpy(model.embeddings_)
    else:
        matrix = read_embeddings(embeddings)
    found = diagnose_on_dataset(clean, reference, matrix, setting, seed=seed, settings=settings)
    _tell(found, source, out, as_json)


def _tell(found: Diagnosis, title: str, out: Path | None, as_json: bool) -> None:
    if out is not None:
        _write(found, title, out)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=1))
    else:
        _print(found)


def _write(found: Diagnosis, title: str, folder: Path) -> None:
    save_figure(projection_figure({title: (found.signal, found.noise)}), folder / "projection")
    save_figure(spectrum_figure(found), folder / "spectrum")
    save_figure(bound_figure(found.bound, title=title), folder / "bound")
    write_file(folder / "diagnosis.json", json.dumps(found.to_dict(), indent=1))


def _print(found: Diagnosis) -> None:
    columns = [
        ("embeddings", found.spectrum, found.bound),
        ("plain F", found.attended_spectrum, found.attended_bound),
    ]
    if found.features_spectrum is not None and found.features_bound is not None:
        columns.append(("classified features", found.features_spectrum, found.features_bound))
    names, spectra, bounds = zip(*columns, strict=True)
    table = Table("", *names)
    rank = found.signal.rank_holding(0.8)
    table.add_row("effective rank", *(f"{one.effective_rank:.1f}" for one in spectra))
    table.add_row("numerical rank", *(str(one.numerical_rank) for one in spectra))
    table.add_row("kernel complexity KC", *(f"{one.complexity.value:.3f}" for one in bounds))
    table.add_row("at rank", *(str(one.complexity.rank) for one in bounds))
    best = [int(one.upper_bound.argmin()) for one in bounds]
    pick = list(zip(bounds, best, strict=True))
    table.add_row("steps t with the lowest bound", *(str(one.best_step) for one in bounds))
    table.add_row("L1 there", *(f"{float(one.signal_loss[t]):.2f}" for one, t in pick))
    table.add_row("L2 there", *(f"{float(one.noise_loss[t]):.2f}" for one, t in pick))
    table.add_row("upper bound there", *(f"{float(one.upper_bound[t]):.3f}" for one, t in pick))
    measured = [
        "unknown" if one.test_loss is None else f"{float(one.test_loss[t]):.3f}" for one, t in pick
    ]
    table.add_row("measured test loss there", *measured)
    results.print(table)
    words = f"{rank} directions" if rank else "not even all directions"
    results.print(f"80 % of the label signal lies in {words} of {found.dim}")
