"""Where public datasets come from: their files, and the reader that understands them."""

import contextlib
import os
import shutil
import socket
import sys
import threading
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import platformdirs
import torch
from torch import Tensor

from quietgraph.data.matrix_file import read_matrices
from quietgraph.data.safe_pickle import arrays_only
from quietgraph.errors import DataNotFoundError, QuietgraphError
from quietgraph.files import whole_file
from quietgraph.graph import Graph
from quietgraph.types import Labels

TRAIN, VALIDATION, TEST = 1, 2, 3  # codes of the parts of a split; 0 = in none
_WAIT_SECONDS = 5.0  # for a host to answer at all
_STALL_SECONDS = 60.0  # without a byte before a download counts as dead


@dataclass(frozen=True, eq=False)
class RawDataset:
    """A graph with true classes and the splits that its publishers made."""

    graph: Graph
    labels: Labels
    parts: Tensor  # [nodes, splits] int8, TRAIN, VALIDATION, TEST or 0; no column = no split


@dataclass(frozen=True)
class Source:
    """The files of a dataset and how to read them.

    Attributes:
        folder: Where the files lie, relative to the data root.
        files: Their paths, relative to the folder.
        read: Reads a data root; downloads what is not there.
        url: The host that the reader downloads from.
    """

    folder: str
    files: tuple[str, ...]
    read: Callable[[Path], RawDataset]
    url: str = "https://github.com"

    def missing(self, root: Path) -> list[str]:
        """Return the files that the data root does not hold."""
        return [name for name in self.files if not (root / self.folder / name).is_file()]


def find_root(data_root: str | Path | None = None) -> Path:
    """Return the folder of raw files: this one, or QUIETGRAPH_DATA, or in the user's cache."""
    chosen = data_root or os.environ.get("QUIETGRAPH_DATA")
    return Path(chosen).expanduser() if chosen else user_cache() / "data"


def find_label_file(path: str | Path) -> Path:
    """Return a file of labels: where the path says, else in real-noise/ of the data folder."""
    given = Path(path)
    beside = find_root() / "real-noise" / given
    return beside if not given.exists() and beside.is_file() else given


def user_cache() -> Path:
    """Return the folder for what can be made again: QUIETGRAPH_CACHE, or in the user's cache."""
    chosen = os.environ.get("QUIETGRAPH_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    before = Path.home() / ".cache" / "quietgraph"  # on every system, in the first release
    if before.exists() and not os.environ.get("XDG_CACHE_HOME"):
        return before
    return platformdirs.user_cache_path("quietgraph", appauthor=False)


def fetch(name: str, source: Source, root: Path, *, stage: Path) -> None:
    """Download the files of a dataset into the data root, or say where to put them.

    Args:
        name: The dataset, for messages.
        source: Its files.
        root: The data root that shall hold them.
        stage: An empty folder, so that half a download never looks like a file of the root.
    """
    why = None
    if not _is_writable(root):
        why = "that folder cannot be written"
    elif not is_reachable(source.url):
        why = f"{source.url} does not answer"
    else:
        try:
            with _socket_timeout(_STALL_SECONDS):
                source.read(stage)
        except QuietgraphError:
            raise
        except Exception as error:  # whatever a reader and its network library raise
            why = f"{type(error).__name__}: {error}"
    missing = source.missing(stage)
    if why is not None or missing:
        raise not_found(name, source, root, why or f"{missing[0]} did not arrive")
    for file in source.missing(root):
        with whole_file(root / source.folder / file) as scratch:
            shutil.copyfile(stage / source.folder / file, scratch)


def not_found(name: str, source: Source, root: Path, why: str) -> DataNotFoundError:
    """Return the error that names a missing file and the folder it belongs to."""
    missing = source.missing(root)
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    place = (root / source.folder / missing[0]).parent
    return DataNotFoundError(
        f"the file {Path(missing[0]).name}{more} of the dataset {name} is not in {place} and "
        f"cannot be downloaded: {why}. Put it there, or name another folder with "
        "QUIETGRAPH_DATA or --data-root."
    )


def link_files(source: Source, root: Path, stage: Path) -> None:
    """Lay out the raw files of the data root in another folder without writing to the root."""
    for file in source.files:
        target = stage / source.folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        original = (root / source.folder / file).resolve()
        try:
            target.symlink_to(original)
        except OSError:  # a file system without links
            shutil.copyfile(original, target)


def is_reachable(url: str, *, seconds: float = _WAIT_SECONDS) -> bool:
    """Return whether a host answers in time, even where its name cannot be resolved in time."""
    answers = []

    def ask() -> None:
        with contextlib.suppress(OSError):
            try:
                request = urllib.request.Request(url, method="HEAD")  # noqa: S310  (our own urls)
                urllib.request.urlopen(request, timeout=seconds).close()  # noqa: S310
            except urllib.error.HTTPError:
                pass  # an answer, if not a kind one
            answers.append(True)

    # Name resolution knows no timeout, so the question is left behind in a thread.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(answers)


@contextlib.contextmanager
def _socket_timeout(seconds: float) -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)  # the readers offer no setting of their own
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _is_writable(folder: Path) -> bool:
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def _read_pyg(root: Path, reader: str, **options: Any) -> RawDataset:
    with warnings.catch_warnings():
        # Importing PyG's readers warns, and one of them edits the global warning filters.
        warnings.simplefilter("ignore", DeprecationWarning)
        from torch_geometric import datasets  # noqa: PLC0415  (takes seconds)
        from torch_geometric.io import planetoid  # noqa: PLC0415

        with arrays_only(planetoid):
            data = getattr(datasets, reader)(str(root / reader), **options)[0]
    parts = torch.zeros((data.num_nodes, 0), dtype=torch.int8)
    if "train_mask" in data:
        # Wiki-CS keeps one set for stopping and choosing within a run, and another for choosing
        # hyper-parameters across runs; what a method may look at while it fits is the former.
        validation = data.stopping_mask if "stopping_mask" in data else data.val_mask
        parts = _parts(data.train_mask, validation, data.test_mask)
    return RawDataset(Graph.from_pyg(data), data.y.long().reshape(-1), parts)


def _parts(train: Tensor, validation: Tensor, test: Tensor) -> Tensor:
    """Return masks, [nodes] or [nodes, splits], as one table [nodes, splits]."""
    chosen, held_out, scored = (mask.reshape(len(mask), -1) for mask in (train, validation, test))
    parts = torch.zeros((1, 1), dtype=torch.int8)
    # Were a node in two parts, the later wins: what is scored is never learned from.
    for code, mask in ((TRAIN, chosen), (VALIDATION, held_out), (TEST, scored)):
        parts = torch.where(mask.bool(), torch.tensor(code, dtype=torch.int8), parts)
    return parts


def _read_npz(root: Path, file: str) -> RawDataset:
    """Read a file with the keys of shchur/gnn-benchmark: adj_*, attr_*, labels."""
    adjacency, features, labels = read_matrices(root / file)
    parts = torch.zeros((len(labels), 0), dtype=torch.int8)
    return RawDataset(Graph.from_scipy(adjacency, features), labels, parts)


def _read_arxiv(root: Path) -> RawDataset:
    os.environ.setdefault("OUTDATED_IGNORE", "1")  # ogb asks for newer versions when imported
    try:
        from ogb.io.read_graph_raw import read_csv_graph_raw  # noqa: PLC0415
        from ogb.utils.url import download_url, extract_zip  # noqa: PLC0415
    except ImportError as error:
        raise DataNotFoundError(
            "the dataset ogbn-arxiv is read by the package ogb, which is not installed. "
            "Install it with: pip install 'quietgraph[ogb]'"
        ) from error
    folder = root / "ogbn_arxiv"
    with contextlib.redirect_stdout(sys.stderr):  # ogb prints its progress
        if not folder.exists():
            url = "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
            extract_zip(download_url(url, str(root)), str(root))
            (root / "arxiv").rename(folder)
        graph = read_csv_graph_raw(str(folder / "raw"))[0]
    labels = _read_numbers(folder / "raw" / "node-label.csv.gz")
    parts = torch.zeros((len(labels), 1), dtype=torch.int8)
    for code, part in ((TRAIN, "train"), (VALIDATION, "valid"), (TEST, "test")):
        parts[_read_numbers(folder / "split" / "time" / f"{part}.csv.gz"), 0] = code
    checked = Graph.from_arrays(graph["node_feat"], graph["edge_index"])
    return RawDataset(checked, labels, parts)


def _read_numbers(path: Path) -> Tensor:
    return torch.from_numpy(np.loadtxt(path, dtype=np.int64, ndmin=1))


def _planetoid(name: str) -> Source:
    endings = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    files = tuple(f"ind.{name.lower()}.{ending}" for ending in endings)
    return Source(f"Planetoid/{name}/raw", files, partial(_read_pyg, reader="Planetoid", name=name))


def _shchur(reader: str, name: str, file: str) -> Source:
    folder = f"{reader}/{name}/raw"
    return Source(folder, (file,), partial(_read_shchur, file=f"{folder}/{file}", reader=reader))


def _read_shchur(root: Path, file: str, reader: str) -> RawDataset:
    if (root / file).is_file():  # else PyG fetches it
        read_matrices(root / file)
    return _read_pyg(root, reader, name=Path(file).parts[1])


def _npz(folder: str, file: str) -> Source:
    return Source(folder, (file,), partial(_read_npz, file=f"{folder}/{file}"))


def _geom_gcn(reader: str, name: str, folder: str) -> Source:
    splits = [f"{name}_split_0.6_0.2_{number}.npz" for number in range(10)]
    files = ("out1_node_feature_label.txt", "out1_graph_edges.txt", *splits)
    return Source(folder, files, partial(_read_pyg, reader=reader, name=name))


_ARXIV_FILES: Final = (
    *(f"raw/{name}.csv.gz" for name in ("edge", "node-feat", "node-label")),
    *(f"raw/{name}.csv.gz" for name in ("num-node-list", "num-edge-list")),
    *(f"split/time/{name}.csv.gz" for name in ("train", "valid", "test")),
)

SOURCES: Final[dict[str, Source]] = {
    "cora": _planetoid("Cora"),
    "citeseer": _planetoid("CiteSeer"),
    "pubmed": _planetoid("PubMed"),
    "coauthor-cs": _shchur("Coauthor", "CS", "ms_academic_cs.npz"),
    "amazon-computers": _shchur("Amazon", "Computers", "amazon_electronics_computers.npz"),
    "amazon-photo": _shchur("Amazon", "Photo", "amazon_electronics_photo.npz"),
    "dblp": _npz("CitationFull/dblp/raw", "dblp.npz"),
    "blogcatalog": _npz("NoisyGL", "blogcatalog.npz"),
    "flickr": _npz("NoisyGL", "flickr.npz"),
    "texas": _geom_gcn("WebKB", "texas", "WebKB/texas/raw"),
    "chameleon": _geom_gcn(
        "WikipediaNetwork", "chameleon", "WikipediaNetwork/chameleon/geom_gcn/raw"
    ),
    "wiki-cs": Source(
        "WikiCS/raw", ("data.json",), partial(_read_pyg, reader="WikiCS", is_undirected=True)
    ),
    "ogbn-arxiv": Source("ogbn_arxiv", _ARXIV_FILES, _read_arxiv, "http://snap.stanford.edu"),
}
