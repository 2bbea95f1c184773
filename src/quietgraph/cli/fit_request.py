"""What `quietgraph fit` is asked for, parsed and checked before anything is read or trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self, Unpack

from quietgraph.bench.variant import Variant, parse_variants
from quietgraph.cli.options import DEFAULT_SOURCE
from quietgraph.cli.reading import Reading, Tables, split_pairs
from quietgraph.cli.scale import newer_of, set_partitions
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.load import is_path, load
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import NoiseSetting, parse_noise
from quietgraph.data.observation import Observation, Reference
from quietgraph.errors import InvalidParameterError
from quietgraph.graph.io import Corrections, read_corrections
from quietgraph.methods import NodeClassifier
from quietgraph.methods.base.device import find_device
from quietgraph.report.run_files import ANNOTATIONS_FILE
from quietgraph.review.run import read_decisions

DEFAULT_METHOD = "quiet"
DEFAULT_OF_SEVERAL = "gcl-lr-attention"  # trains in several processes


class FitOptions(Tables):
    """The options of the command that say what is fitted, on which labels."""

    source: str
    method: str | None
    settings: list[str] | None
    beside: str
    noise: str
    columns: list[str] | None
    fix: Path | None
    annotations: list[Path] | None
    verified: list[Path] | None
    drop_suspects: int
    seed: int
    data_root: str | None
    partitions: str
    parts: str | None
    distributed: bool


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """What to fit.

    Attributes:
        source: A dataset by name, or the path of own data.
        name: The name of the method.
        model: The method with its settings.
        others: Methods to compare with, on the same labels.
        noise: To make labels of a dataset wrong with.
        reading: How own tables are read.
        annotations: Files of annotators' answers.
        decisions: What people decided about labels before.
        drop_suspects: How many labels to leave out of a second fit.
        seed: Of split, noise and training.
        data_root: Where the files of datasets are.
    """

    source: str
    name: str
    model: NodeClassifier
    others: list[NodeClassifier]
    noise: NoiseSetting
    reading: Reading
    annotations: list[Path] | None
    decisions: Corrections
    drop_suspects: int
    seed: int
    data_root: str | None

    @classmethod
    def of(cls, **options: Unpack[FitOptions]) -> Self:
        """Return the request, all of it checked that can be without reading the graph."""
        noise, seed = parse_noise(options["noise"]), options["seed"]
        reading = Reading.of(options, options["columns"])
        source = reading.name_of(options["source"], default=DEFAULT_SOURCE)
        dataset = None if is_path(source) or reading.is_given else source
        name = options["method"]
        if name is None:
            name = DEFAULT_OF_SEVERAL if options["distributed"] else DEFAULT_METHOD
        model = _estimator(name, options["settings"], dataset, seed)
        beside = parse_variants(filter(None, options["beside"].split(",")))
        others = [variant.estimator(dataset, seed=seed) for variant in beside]
        for one in (model, *others):
            find_device(one.device)
        set_partitions(model, newer_of(options["partitions"], options["parts"]))
        return cls(
            source=source,
            name=name,
            model=model,
            others=others,
            noise=noise,
            reading=reading,
            annotations=_answer_files(options["annotations"]),
            decisions=_read_decisions(options["verified"], options["fix"]),
            drop_suspects=options["drop_suspects"],
            seed=seed,
            data_root=options["data_root"],
        )

    @property
    def is_one_fit(self) -> bool:
        """Whether one method is fitted, and once."""
        return not (self.others or self.drop_suspects)

    def observe(self) -> tuple[Observation, Reference | None]:
        """Return the observation, and true labels to score with where the source is a dataset."""
        if is_path(self.source) or self.reading.is_given:
            if str(self.noise) != "none":
                raise InvalidParameterError(
                    "--noise needs clean labels to make wrong, and nobody knows those of "
                    f"{self.source}. Leave it out, or name a dataset."
                )
            given, options = self.reading.source_of(self.source), self.reading.options()
            return load(given, seed=self.seed, annotations=self.annotations, **options), None
        clean, reference = load_benchmark(self.source, seed=self.seed, data_root=self.data_root)
        observed = apply_noise(clean, self.noise, seed=self.seed, reference=reference)
        return (observed.annotate(self.annotations) if self.annotations else observed), reference


def _estimator(
    method: str, settings: list[str] | None, dataset: str | None, seed: int
) -> NodeClassifier:
    """Return the method with the settings published for the dataset, those of --set on top."""
    own = split_pairs("--set", settings)
    if "seed" in own:
        raise InvalidParameterError("the seed is set with --seed, not with --set.")
    return Variant(method, tuple(own.items())).estimator(dataset, seed=seed)


def _answer_files(paths: list[Path] | None) -> list[Path] | None:
    """Return files of answers; of a run folder, those that its fit was given."""
    if not paths:
        return None
    return [path / ANNOTATIONS_FILE if path.is_dir() else path for path in paths]


def _read_decisions(verified: list[Path] | None, fix: Path | None) -> Corrections:
    """Return all decisions that are given, those of --fix last."""
    found = Corrections(Path(), {})
    for path in verified or []:
        found = found.updated(read_decisions(path))
    return found.updated(read_corrections(fix)) if fix else found
