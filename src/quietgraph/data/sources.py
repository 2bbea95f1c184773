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
from quietgraph.types import AnyArray, IntArray, Labels

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
    files, root = FILES[name], find_root(data_root)
    why = "it has no public address"
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
    neighbours: dict[int, list[int]] = load("graph")
    features = scipy.sparse.lil_matrix((len(neighbours), load("allx").shape[1]))
    classes = np.zeros((len(neighbours), load("ally").shape[1]))
    first = len(load("ally"))
    features[:first], classes[:first] = load("allx"), load("ally")
    features[test], classes[test] = load("tx"), load("ty")  # CiteSeer: a test node in no file is a row of zeros
    sources = np.repeat(list(neighbours), [len(ends) for ends in neighbours.values()])
    edges = np.vstack([sources, np.concatenate(list(neighbours.values())).astype(np.int64)])
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
    return Raw(Graph.from_arrays(features, edges.reshape(-1, 2).T), labels, _parts(masks))


def _read_wiki_cs(folder: Path) -> Raw:
    """Read the 20 splits; nodes of the stopping sets validate, those for choices across runs are in no part."""
    content = json.loads((folder / "data.json").read_text())
    ends = [np.asarray(one, dtype=np.int64) for one in content["links"]]
    edges = np.vstack([np.repeat(np.arange(len(ends)), [len(one) for one in ends]), np.concatenate(ends)])
    masks = [np.array(content[f"{part}_masks"], dtype=bool).T for part in ("train", "stopping")]
    masks.append(np.array(content["test_mask"], dtype=bool)[:, None])
    features = np.array(content["features"], dtype=np.float32)
    return Raw(Graph.from_arrays(features, edges), torch.tensor(content["labels"]), _parts(masks))


def _read_arxiv(folder: Path) -> Raw:
    def read(name: str) -> AnyArray:
        return pd.read_csv(folder / f"{name}.csv.gz", header=None).to_numpy(copy=True)

    labels: IntArray = read("raw/node-label").reshape(-1)
    parts = torch.zeros((len(labels), 1), dtype=torch.int8)
    for code, part in ((TRAIN, "train"), (VALIDATION, "valid"), (TEST, "test")):
        parts[torch.from_numpy(read(f"split/time/{part}").reshape(-1)), 0] = code
    graph = Graph.from_arrays(read("raw/node-feat").astype(np.float32), read("raw/edge").T)
    return Raw(graph, torch.from_numpy(labels), parts)


def _parts(masks: list[AnyArray]) -> Tensor:
    """Return masks of train, validation and test [nodes, splits] as one table; a node in two is in the later one."""
    train, validation, test = masks
    codes = np.where(test, TEST, np.where(validation, VALIDATION, np.where(train, TRAIN, 0)))
    return torch.from_numpy(codes.astype(np.int8))


def _planetoid(name: str) -> Files:
    endings = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    names = tuple(f"ind.{name.lower()}.{ending}" for ending in endings)
    read = partial(_read_planetoid, name=name.lower())
    return Files(f"Planetoid/{name}/raw", names, read, partial(_download, reader="Planetoid", name=name))


def _npz(reader: str, name: str, file: str, *, binary: bool = True) -> Files:
    read = partial(_read_npz, file=file, binary=binary)
    folder = name.lower() if reader == "CitationFull" else name
    return Files(f"{reader}/{folder}/raw", (file,), read, partial(_download, reader=reader, name=name))


def _geom_gcn(reader: str, name: str, folder: str) -> Files:
    splits = (f"{name}_split_0.6_0.2_{number}.npz" for number in range(10))
    names = ("out1_node_feature_label.txt", "out1_graph_edges.txt", *splits)
    download = partial(_download, reader=reader, name=name)
    return Files(f"{reader}/{name}/{folder}", names, partial(_read_geom_gcn, name=name), download)


_ARXIV: Final = tuple(
    f"{name}.csv.gz"
    for name in (
        "raw/edge",
        "raw/node-feat",
        "raw/node-label",
        *(f"split/time/{p}" for p in ("train", "valid", "test")),
    )
)
FILES: Final[dict[str, Files]] = {
    "cora": _planetoid("Cora"),
    "citeseer": _planetoid("CiteSeer"),
    "pubmed": _planetoid("PubMed"),
    "coauthor-cs": _npz("Coauthor", "CS", "ms_academic_cs.npz"),
    "amazon-computers": _npz("Amazon", "Computers", "amazon_electronics_computers.npz"),
    "amazon-photo": _npz("Amazon", "Photo", "amazon_electronics_photo.npz"),
    "dblp": _npz("CitationFull", "DBLP", "dblp.npz", binary=False),
    "blogcatalog": Files("NoisyGL", ("blogcatalog.npz",), partial(_read_npz, file="blogcatalog.npz", binary=False)),
    "flickr": Files("NoisyGL", ("flickr.npz",), partial(_read_npz, file="flickr.npz", binary=False)),
    "texas": _geom_gcn("WebKB", "texas", "raw"),
    "chameleon": _geom_gcn("WikipediaNetwork", "chameleon", "geom_gcn/raw"),
    "wiki-cs": Files("WikiCS/raw", ("data.json",), _read_wiki_cs, partial(_download, reader="WikiCS")),
    "ogbn-arxiv": Files("ogbn_arxiv", _ARXIV, _read_arxiv, _download_arxiv),
}
