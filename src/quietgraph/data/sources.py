"""Where the raw files of public datasets lie, and who reads them."""

import json
import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import platformdirs
import scipy.sparse
import torch
from torch import Tensor

from quietgraph.errors import DataNotFoundError, UnreadableFileError
from quietgraph.graph import Graph
from quietgraph.types import AnyArray, Labels

TRAIN, VALIDATION, TEST = 1, 2, 3  # codes of the parts of a split; 0 = in none


class Raw(NamedTuple):
    """A graph with true classes and the splits that its publishers made."""

    graph: Graph
    labels: Labels
    parts: Tensor  # [nodes, splits] int8: TRAIN, VALIDATION, TEST or 0; no column = no split


@dataclass(frozen=True)
class Files:
    """The raw files of a dataset, laid out as PyTorch Geometric downloads them."""

    folder: str  # relative to the data root
    names: tuple[str, ...]
    read: Callable[[Path], Raw]  # of the folder
    download: Callable[[Path], object] | None = None  # into a data root

    def missing(self, root: Path) -> list[Path]:
        """Return the files that the data root does not hold."""
        return [path for path in (root / self.folder / name for name in self.names) if not path.is_file()]


def find_root(data_root: str | Path | None = None) -> Path:
    """Return the folder of raw files: this one, or QUIETGRAPH_DATA, or one in the user's cache."""
    chosen = data_root or os.environ.get("QUIETGRAPH_DATA")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("quietgraph", appauthor=False) / "data"


def read_files(name: str, data_root: str | Path | None = None) -> Raw:
    """Return a dataset from its raw files, which are downloaded where they are missing."""
    files, root, why = FILES[name], find_root(data_root), "it has no public address"
    if files.missing(root) and files.download is not None:
        try:
            files.download(root)
        except Exception as error:  # whatever PyG and its network library raise
            why = f"{type(error).__name__}: {error}"
    for path in files.missing(root):
        raise DataNotFoundError(
            f"the file {path.name} of the dataset {name} is not in {path.parent} and cannot be downloaded ({why}). "
            "Put it there, or name another folder with QUIETGRAPH_DATA or --data-root."
        )
    try:
        return files.read(root / files.folder)
    except Exception as error:  # whatever a reader raises on a file that is not what it expects
        raise UnreadableFileError(
            f"the files of {name} in {root / files.folder} cannot be read ({type(error).__name__}: {error}). "
            "Replace them by the published ones."
        ) from error


def _download(root: Path, reader: str, **options: Any) -> None:
    from torch_geometric import datasets  # takes seconds

    getattr(datasets, reader)(str(root / reader), **options)


def _download_arxiv(root: Path) -> None:
    from torch_geometric.data import download_url, extract_zip

    extract_zip(download_url("http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip", str(root)), str(root))
    (root / "arxiv").rename(root / "ogbn_arxiv")


class _Unpickler(pickle.Unpickler):
    """Reads arrays of old versions of SciPy and NumPy without their warnings; anything else is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class by where it lies today."""
        if name not in {"csr_matrix", "_reconstruct", "ndarray", "dtype", "defaultdict", "list", "encode"}:
            raise pickle.UnpicklingError(f"{module}.{name} is no array.")
        now = {"scipy.sparse.csr": "scipy.sparse", "numpy.core.multiarray": "numpy._core.multiarray"}
        return super().find_class(now.get(module, module), name)


def _read_planetoid(folder: Path, name: str) -> Raw:
    """Read the public split: the first rows train, the next 500 validate, those of test.index test."""

    def load(part: str) -> Any:
        with (folder / f"ind.{name}.{part}").open("rb") as file:
            return _Unpickler(file, encoding="latin1").load()

    test = np.loadtxt(folder / f"ind.{name}.test.index", dtype=np.int64)
    neighbours, rows, targets = load("graph"), load("allx"), load("ally")
    features = scipy.sparse.lil_matrix((len(neighbours), rows.shape[1]))
    classes = np.zeros((len(neighbours), targets.shape[1]))
    features[: len(targets)], classes[: len(targets)] = rows, targets
    features[test], classes[test] = load("tx"), load("ty")  # CiteSeer: a test node in no file is a row of zeros
    edges = np.array([(node, end) for node, ends in neighbours.items() for end in ends]).T
    parts, taught = torch.zeros((len(classes), 1), dtype=torch.int8), len(load("y"))
    parts[:taught], parts[taught : taught + 500], parts[torch.from_numpy(test)] = TRAIN, VALIDATION, TEST
    return Raw(Graph.from_arrays(features.tocsr(), edges), torch.from_numpy(classes.argmax(axis=1)), parts)


def _read_npz(folder: Path, file: str, *, binary: bool) -> Raw:
    """Read the keys of shchur/gnn-benchmark: adj_*, attr_*, labels; features 0 and 1 as PyG has them where asked."""
    with np.load(folder / file, allow_pickle=False) as arrays:
        adjacency, features = (
            scipy.sparse.csr_matrix(tuple(arrays[f"{kind}_{part}"] for part in ("data", "indices", "indptr")), shape)
            for kind, shape in (("adj", tuple(arrays["adj_shape"])), ("attr", tuple(arrays["attr_shape"])))
        )
        labels = torch.from_numpy(arrays["labels"]).long()
    for matrix in (adjacency, features):
        matrix.check_format(full_check=True)
    if binary:
        features.data[features.data > 0], adjacency.data[:] = 1, 1
    return Raw(Graph.from_scipy(adjacency, features), labels, torch.zeros((len(labels), 0), dtype=torch.int8))


def _read_geom_gcn(folder: Path, name: str) -> Raw:
    lines = [line.split("\t") for line in (folder / "out1_node_feature_label.txt").read_text().splitlines()[1:]]
    features = np.array([np.fromstring(line[1], sep=",", dtype=np.float32) for line in lines])
    edges = np.loadtxt(folder / "out1_graph_edges.txt", dtype=np.int64, skiprows=1)
    splits = [np.load(folder / f"{name}_split_0.6_0.2_{number}.npz") for number in range(10)]
    masks = [np.stack([one[f"{part}_mask"] for one in splits], axis=1) for part in ("train", "val", "test")]
    labels = torch.tensor([int(line[2]) for line in lines])
    return Raw(Graph.from_arrays(features, edges.T), labels, _parts(*masks))


def _read_wiki_cs(folder: Path) -> Raw:
    """Read the 20 splits; nodes of the stopping sets validate, those for choices across runs are in no part."""
    content = json.loads((folder / "data.json").read_text())
    edges = [(node, end) for node, ends in enumerate(content["links"]) for end in ends]
    train, stopping, test = (np.array(content[name]).T for name in ("train_masks", "stopping_masks", "test_mask"))
    features = np.array(content["features"], dtype=np.float32)
    return Raw(
        Graph.from_arrays(features, np.array(edges).T),
        torch.tensor(content["labels"]),
        _parts(train, stopping, test[:, None]),
    )


def _read_arxiv(folder: Path) -> Raw:
    def read(name: str) -> AnyArray:
        return pd.read_csv(folder / f"{name}.csv.gz", header=None).to_numpy(copy=True)

    labels, *nodes = (torch.from_numpy(read(name).ravel()) for name in ("raw/node-label", *_TIMES))
    parts = torch.zeros((len(labels), 1), dtype=torch.int8)
    for code, members in zip((TRAIN, VALIDATION, TEST), nodes, strict=True):
        parts[members] = code
    return Raw(Graph.from_arrays(read("raw/node-feat").astype(np.float32), read("raw/edge").T), labels, parts)


def _parts(train: AnyArray, validation: AnyArray, test: AnyArray) -> Tensor:
    """Return masks [nodes, splits] as one table; a node in two is in the later one."""
    codes = np.where(test, TEST, np.where(validation, VALIDATION, np.where(train, TRAIN, 0)))
    return torch.from_numpy(codes.astype(np.int8))


def _planetoid(name: str) -> Files:
    endings = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    names = tuple(f"ind.{name.lower()}.{ending}" for ending in endings)
    read = partial(_read_planetoid, name=name.lower())
    return Files(f"Planetoid/{name}/raw", names, read, partial(_download, reader="Planetoid", name=name))


def _npz(folder: str, file: str, reader: str = "", name: str = "") -> Files:
    read = partial(_read_npz, file=file, binary=reader in {"Coauthor", "Amazon"})
    return Files(folder, (file,), read, partial(_download, reader=reader, name=name) if reader else None)


def _geom_gcn(reader: str, name: str, folder: str) -> Files:
    splits = (f"{name}_split_0.6_0.2_{number}.npz" for number in range(10))
    names = ("out1_node_feature_label.txt", "out1_graph_edges.txt", *splits)
    download = partial(_download, reader=reader, name=name)
    return Files(f"{reader}/{name}/{folder}", names, partial(_read_geom_gcn, name=name), download)


_TIMES: Final = ("split/time/train", "split/time/valid", "split/time/test")
_ARXIV: Final = tuple(f"{name}.csv.gz" for name in ("raw/edge", "raw/node-feat", "raw/node-label", *_TIMES))
FILES: Final[dict[str, Files]] = {
    "cora": _planetoid("Cora"),
    "citeseer": _planetoid("CiteSeer"),
    "pubmed": _planetoid("PubMed"),
    "coauthor-cs": _npz("Coauthor/CS/raw", "ms_academic_cs.npz", "Coauthor", "CS"),
    "amazon-computers": _npz("Amazon/Computers/raw", "amazon_electronics_computers.npz", "Amazon", "Computers"),
    "amazon-photo": _npz("Amazon/Photo/raw", "amazon_electronics_photo.npz", "Amazon", "Photo"),
    "dblp": _npz("CitationFull/dblp/raw", "dblp.npz", "CitationFull", "DBLP"),
    "blogcatalog": _npz("NoisyGL", "blogcatalog.npz"),
    "flickr": _npz("NoisyGL", "flickr.npz"),
    "texas": _geom_gcn("WebKB", "texas", "raw"),
    "chameleon": _geom_gcn("WikipediaNetwork", "chameleon", "geom_gcn/raw"),
    "wiki-cs": Files("WikiCS/raw", ("data.json",), _read_wiki_cs, partial(_download, reader="WikiCS")),
    "ogbn-arxiv": Files("ogbn_arxiv", _ARXIV, _read_arxiv, _download_arxiv),
}
