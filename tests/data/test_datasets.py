"""Datasets by name: counts, splits, readers, the cache, downloads, wrong names."""

import gzip
import json
import multiprocessing
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from command_line import printed
from pages import blocks
from paths import ROOT
from quietgraph.bench.protocol import execute
from quietgraph.bench.variant import parse_variant
from quietgraph.data import dataset_cache, sources
from quietgraph.data.datasets import DATASETS, describe, load_benchmark
from quietgraph.data.load import load
from quietgraph.data.observation import Observation, Reference
from quietgraph.errors import (
    DataNotFoundError,
    InvalidParameterError,
    UnknownNameError,
    UnreadableFileError,
    UnwritablePathError,
)
from quietgraph.graph import CSR
from quietgraph.paper.accuracy import CLASSIFICATION_MORE
from quietgraph.paper.scope import make_scope

REAL = (
    "cora",
    "citeseer",
    "pubmed",
    "coauthor-cs",
    "amazon-computers",
    "amazon-photo",
    "texas",
    "chameleon",
)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "is_reachable", lambda url: False)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUIETGRAPH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for all tests with real data: its files are large."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("QUIETGRAPH_CACHE", str(folder))
        yield folder
        shutil.rmtree(folder)


def sizes(dataset: Observation) -> tuple[int, int, int]:
    split = dataset.split
    return tuple(int(mask.sum()) for mask in (split.train, split.validation, split.test))


def homophily(reference: Reference) -> float:
    source, target = reference.graph.edge_index
    labels = reference.codes
    return float((labels[source] == labels[target]).double().mean())


# Small files in the published formats


def write_wiki_cs(root: Path, nodes: int = 40, splits: int = 20) -> dict[str, Any]:
    """Write a tiny data.json as Wiki-CS publishes it; the links are directed."""
    random = np.random.default_rng(0)
    parts = random.integers(4, size=(splits, nodes))
    test = random.random(nodes) < 0.3
    content = {
        "features": random.standard_normal((nodes, 5)).tolist(),
        "labels": (np.arange(nodes) % 3).tolist(),
        "links": [[(node + 1) % nodes, (node + 7) % nodes, node] for node in range(nodes)],
        "train_masks": ((parts == 0) & ~test).tolist(),
        "val_masks": ((parts == 1) & ~test).tolist(),
        "stopping_masks": ((parts == 2) & ~test).tolist(),
        "test_mask": test.tolist(),
    }
    folder = root / "WikiCS" / "raw"
    folder.mkdir(parents=True)
    (folder / "data.json").write_text(json.dumps(content))
    return content


def write_csv(path: Path, rows: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        np.savetxt(file, rows, delimiter=",", fmt="%g")


def write_arxiv(root: Path) -> None:
    """Write ten papers as ogb publishes them; citations are directed."""
    folder = root / "ogbn_arxiv"
    edges = np.array([[1, 0], [2, 0], [0, 2], [3, 1], [4, 4], [9, 5]])
    write_csv(folder / "raw" / "edge.csv.gz", edges)
    write_csv(folder / "raw" / "node-feat.csv.gz", np.arange(30).reshape(10, 3) / 4 + 0.1)
    write_csv(folder / "raw" / "node-label.csv.gz", np.arange(10) % 4)
    write_csv(folder / "raw" / "num-node-list.csv.gz", np.array([10]))
    write_csv(folder / "raw" / "num-edge-list.csv.gz", np.array([len(edges)]))
    for part, nodes in (("train", [0, 1, 2, 3, 4]), ("valid", [5, 6]), ("test", [7, 8, 9])):
        write_csv(folder / "split" / "time" / f"{part}.csv.gz", np.array(nodes))


# Embedded datasets


@pytest.mark.parametrize("name", ["digits", "sbm"])
def test_embedded_datasets_have_the_counts_that_are_listed(name: str) -> None:
    (dataset, reference), info = load_benchmark(name), describe(name)
    assert (dataset.graph.num_nodes, dataset.graph.num_edges) == (info.nodes, info.edges)
    assert (dataset.graph.num_features, len(dataset.classes)) == (info.features, info.classes)
    assert homophily(reference) == pytest.approx(info.homophily, abs=5e-4)
    assert info.available
    assert info.path is None
    assert sizes(dataset)[:2] == (20 * info.classes, 30 * info.classes)


def test_labels_for_fit_hide_everything_outside_train_and_validation() -> None:
    dataset, reference = load_benchmark("sbm")
    known = dataset.split.labelled
    assert torch.equal(dataset.codes[known], reference.codes[known])
    assert (dataset.labels[~known] == -1).all()
    assert dataset.labels.tolist() == dataset.codes.tolist()


def test_training_and_validation_labels_can_teach_together() -> None:
    plain = load_benchmark("digits", seed=3)[0].split
    both = load_benchmark("digits", seed=3, split="train+validation")[0].split
    assert torch.equal(plain.test, both.test)
    assert torch.equal(plain.labelled, both.labelled)
    assert int(both.validation.sum()) == int(plain.labelled.sum()) // 5
    assert int((both.train & plain.validation).sum()) > 0


def test_all_nodes_outside_the_test_set_can_teach() -> None:
    plain = load_benchmark("digits", seed=3)[0].split
    rest = load_benchmark("digits", seed=3, split="all-but-test")[0].split
    assert torch.equal(plain.test, rest.test)
    assert torch.equal(rest.labelled, ~plain.test)
    assert int(rest.validation.sum()) == int((~plain.test).sum()) // 5


def test_the_seed_changes_the_split_and_not_the_graph() -> None:
    first, same, other = (load("sbm", seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.split.train, same.split.train)
    assert not torch.equal(first.split.train, other.split.train)
    assert first.graph.fingerprint == other.graph.fingerprint


# Names


def test_an_unknown_name_offers_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match=r"no dataset 'corra'. Did you mean 'cora'"):
        load("corra")


def test_a_path_is_told_from_a_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="is a path, not the name of a dataset"):
        load_benchmark(str(tmp_path))


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no split of digits 'public'"):
        load("digits", split="public")


def test_every_dataset_is_described_without_being_read(cache: Path, tmp_path: Path) -> None:
    infos = [describe(name, data_root=tmp_path) for name in DATASETS]
    assert [info.name for info in infos if info.available] == ["digits", "sbm"]
    assert [info.name for info in infos if not info.measured] == ["wiki-cs", "ogbn-arxiv"]
    assert not cache.exists()


# Places


def test_the_data_root_is_the_given_one_then_the_environment_then_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIETGRAPH_DATA", str(tmp_path / "named"))
    assert sources.find_root(tmp_path) == tmp_path
    assert sources.find_root() == tmp_path / "named"
    monkeypatch.delenv("QUIETGRAPH_DATA")
    monkeypatch.delenv("QUIETGRAPH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert sources.find_root() == tmp_path / "quietgraph" / "data"


# Wiki-CS


def test_wiki_cs_is_read_undirected_with_its_stopping_set(cache: Path, tmp_path: Path) -> None:
    content = write_wiki_cs(tmp_path / "data")
    dataset = load("wiki-cs", seed=23, data_root=tmp_path / "data")
    assert dataset.graph.num_edges == 80  # two links a node; loops dropped
    assert dataset.classes.tolist() == [0, 1, 2]
    assert dataset.split.train.tolist() == content["train_masks"][3]
    assert dataset.split.validation.tolist() == content["stopping_masks"][3]
    assert dataset.split.test.tolist() == content["test_mask"]
    np.testing.assert_allclose(dataset.graph.features, content["features"], rtol=1e-6)


# ogbn-arxiv


# The package ogb asks for newer versions of itself in a thread, which fails without network.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_arxiv_is_read_undirected_with_its_time_split(cache: Path, tmp_path: Path) -> None:
    pytest.importorskip("ogb", reason="the extra [ogb] is not installed")
    write_arxiv(tmp_path)
    dataset, reference = load_benchmark("ogbn-arxiv", data_root=tmp_path)
    edges = {(int(a), int(b)) for a, b in dataset.graph.edge_index.T if a < b}
    assert edges == {(0, 1), (0, 2), (1, 3), (5, 9)}
    assert reference.codes.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert sizes(dataset) == (5, 2, 3)
    assert dataset.graph.features[9].tolist() == pytest.approx([6.85, 7.1, 7.35])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_files_of_wiki_cs_and_arxiv_complete_the_tables_of_the_paper(
    cache: Path, tmp_path: Path
) -> None:
    pytest.importorskip("ogb", reason="the extra [ogb] is not installed")
    scope = make_scope("full", seeds="0-0", data_root=str(tmp_path))
    assert CLASSIFICATION_MORE.needs(scope).accuracy == ()  # their rows say that files are not here
    write_wiki_cs(tmp_path)
    write_arxiv(tmp_path)
    planned = CLASSIFICATION_MORE.needs(scope).accuracy
    assert {run.dataset for run in planned} == {"wiki-cs", "ogbn-arxiv"}
    quick = [
        replace(run, variant=parse_variant("gcn:epochs=2:hidden=4"))
        for run in planned
        if (run.variant.method, str(run.noise)) == ("gcn", "none")
    ]
    assert [execute(run).status for run in quick] == ["done", "done"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_commands_of_the_docs_plan_runs_on_these_files(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ogb", reason="the extra [ogb] is not installed")
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    (commands,) = blocks("", page.partition("### Wiki-CS and ogbn-arxiv")[2])
    monkeypatch.setenv("QUIETGRAPH_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write_wiki_cs(tmp_path)
    write_arxiv(tmp_path)
    lines = [line.partition("#")[0].split()[1:] for line in commands.strip().splitlines()]
    assert [line[0] for line in lines] == ["datasets", *["paper"] * 4]
    listed = {row["name"]: row for row in json.loads(printed("datasets", "--json"))}
    assert listed["wiki-cs"]["available"]
    assert listed["ogbn-arxiv"]["available"]
    for line in lines[1:]:
        said = printed(*(word for word in line if word != "--estimate"), "--estimate", "--json")
        assert json.loads(said)[line[1]]["missing"] > 0


def test_a_downloaded_arxiv_archive_is_unpacked_into_the_data_root(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = pytest.importorskip("ogb.utils.url", reason="the extra [ogb] is not installed")

    def pack(address: str, folder: str) -> str:
        write_arxiv(tmp_path / "remote")
        (tmp_path / "remote" / "ogbn_arxiv").rename(tmp_path / "remote" / "arxiv")
        return shutil.make_archive(str(Path(folder, "arxiv")), "zip", tmp_path / "remote")

    monkeypatch.setattr(sources, "is_reachable", lambda url: True)
    monkeypatch.setattr(url, "download_url", pack)
    assert load("ogbn-arxiv", data_root=tmp_path / "data").graph.num_nodes == 10
    assert describe("ogbn-arxiv", data_root=tmp_path / "data").available


def test_arxiv_without_ogb_says_what_to_install(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_arxiv(tmp_path)
    monkeypatch.setitem(sys.modules, "ogb", None)
    monkeypatch.setitem(sys.modules, "ogb.io.read_graph_raw", None)
    with pytest.raises(DataNotFoundError, match=r"pip install 'quietgraph\[ogb\]'"):
        load("ogbn-arxiv", data_root=tmp_path)


# The cache


def test_nothing_is_written_beside_the_raw_files(cache: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    write_wiki_cs(root)
    load("wiki-cs", data_root=root)
    assert [path.name for path in root.rglob("*") if path.is_file()] == ["data.json"]
    assert len(list(cache.rglob("*.safetensors"))) == 1


def test_a_dataset_is_read_once_and_then_taken_from_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wiki_cs(tmp_path)
    first, reference = load_benchmark("wiki-cs", data_root=tmp_path)
    monkeypatch.setattr(sources, "_read_pyg", None)
    monkeypatch.setattr(dataset_cache, "_read_raw", None)
    again, same = load_benchmark("wiki-cs", data_root=tmp_path)
    assert again.graph.fingerprint == first.graph.fingerprint
    assert again.graph.notes == first.graph.notes
    assert torch.equal(same.codes, reference.codes)
    assert torch.equal(again.split.validation, first.split.validation)


def test_other_raw_files_are_read_afresh(cache: Path, tmp_path: Path) -> None:
    write_wiki_cs(tmp_path)
    load("wiki-cs", data_root=tmp_path)
    shutil.rmtree(tmp_path / "WikiCS")
    write_wiki_cs(tmp_path, nodes=50)
    assert load("wiki-cs", data_root=tmp_path).graph.num_nodes == 50


def test_a_damaged_cache_file_is_made_again(cache: Path, tmp_path: Path) -> None:
    write_wiki_cs(tmp_path)
    first = load("wiki-cs", data_root=tmp_path)
    kept = next(cache.rglob("*.safetensors"))
    kept.write_bytes(kept.read_bytes()[:100])
    assert load("wiki-cs", data_root=tmp_path).graph.fingerprint == first.graph.fingerprint


def test_sparse_features_come_back_from_the_cache_sparse(cache: Path, tmp_path: Path) -> None:
    matrix = np.zeros((6, 100), dtype=np.float32)
    matrix[:, 3] = 2
    graph = sources.Graph.from_arrays(matrix, np.array([[0, 1], [1, 2]]))
    raw = sources.RawDataset(graph, torch.arange(6), torch.zeros((6, 0), dtype=torch.int8))
    dataset_cache._save(raw, tmp_path / "kept.safetensors")
    kept = dataset_cache._load(tmp_path / "kept.safetensors")
    assert kept is not None
    assert isinstance(kept.graph.features, CSR)
    assert kept.graph.fingerprint == graph.fingerprint


def test_a_cache_that_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wiki_cs(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("QUIETGRAPH_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="Set QUIETGRAPH_CACHE"):
        assert load("wiki-cs", data_root=tmp_path).graph.num_nodes == 40


def test_a_cache_without_room_is_a_warning(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise UnwritablePathError("no room")

    write_wiki_cs(tmp_path)
    monkeypatch.setattr(dataset_cache, "write_tensors", full)
    with pytest.warns(RuntimeWarning, match="not kept: no room"):
        assert load("wiki-cs", data_root=tmp_path).graph.num_nodes == 40


def load_fingerprint(root: Path) -> str:
    return load("wiki-cs", data_root=root).graph.fingerprint


def test_several_processes_may_load_at_once(cache: Path, tmp_path: Path) -> None:
    write_wiki_cs(tmp_path, nodes=300)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        fingerprints = pool.map(load_fingerprint, [tmp_path] * 3, chunksize=1)
    assert len(set(fingerprints)) == 1
    assert len(list(cache.rglob("*.safetensors"))) == 1
    assert not [path for path in (cache / "datasets").iterdir() if path.is_dir()]


def test_links_that_cannot_be_made_become_copies(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError("no links here")

    write_wiki_cs(tmp_path)
    monkeypatch.setattr(Path, "symlink_to", refuse)
    assert load("wiki-cs", data_root=tmp_path).graph.num_nodes == 40


def test_a_file_that_is_not_what_it_should_be_is_named(cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "WikiCS" / "raw"
    folder.mkdir(parents=True)
    (folder / "data.json").write_text("{not json")
    with pytest.raises(UnreadableFileError, match=r"files of wiki-cs in .*WikiCS/raw"):
        load("wiki-cs", data_root=tmp_path)


# Downloads


def test_a_missing_file_is_named_with_its_folder(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError) as caught:
        load("cora", data_root=tmp_path)
    folder = tmp_path / "Planetoid" / "Cora" / "raw"
    assert f"the file ind.cora.x (and 7 more) of the dataset cora is not in {folder}" in str(
        caught.value
    )
    assert "https://github.com does not answer" in str(caught.value)


def test_a_missing_arxiv_file_is_sought_in_its_own_folder(cache: Path, tmp_path: Path) -> None:
    write_arxiv(tmp_path)
    missing = tmp_path / "ogbn_arxiv" / "split" / "time" / "valid.csv.gz"
    missing.unlink()
    with pytest.raises(DataNotFoundError) as caught:
        load("ogbn-arxiv", data_root=tmp_path)
    assert f"the file valid.csv.gz of the dataset ogbn-arxiv is not in {missing.parent}" in str(
        caught.value
    )


def fake_download(self: Any) -> None:
    """What PyG does where there is a network."""
    write_wiki_cs(Path(self.root).parent / "remote")
    shutil.copy(Path(self.root).parent / "remote" / "WikiCS" / "raw" / "data.json", self.raw_dir)


def test_downloaded_files_are_kept_in_the_data_root(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch_geometric.datasets import WikiCS

    monkeypatch.setattr(sources, "is_reachable", lambda url: True)
    monkeypatch.setattr(WikiCS, "download", fake_download)
    root = tmp_path / "data"
    assert load("wiki-cs", data_root=root).graph.num_nodes == 40
    assert [path.name for path in root.rglob("*") if path.is_file()] == ["data.json"]
    assert describe("wiki-cs", data_root=root).available


def test_a_download_that_breaks_leaves_nothing_behind(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch_geometric.datasets import WikiCS

    def break_off(self: Any) -> None:
        Path(self.raw_dir, "data.json").write_text('{"features": [[1')
        raise ConnectionResetError("the line went dead")

    monkeypatch.setattr(sources, "is_reachable", lambda url: True)
    monkeypatch.setattr(WikiCS, "download", break_off)
    before = socket.getdefaulttimeout()
    with pytest.raises(DataNotFoundError, match="ConnectionResetError: the line went dead"):
        load("wiki-cs", data_root=tmp_path / "data")
    assert not list((tmp_path / "data").rglob("data.json"))
    assert not [path for path in (cache / "datasets").iterdir() if path.is_dir()]
    assert socket.getdefaulttimeout() == before


def test_a_data_root_that_cannot_be_written_is_said(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(sources, "is_reachable", lambda url: True)
    with pytest.raises(DataNotFoundError, match="that folder cannot be written"):
        load("cora", data_root=tmp_path / "file")


class TestReachable:
    """The question to the network, asked of this machine only."""

    @pytest.fixture(autouse=True)
    def no_network(self) -> None:
        """The real function is under test."""

    def test_a_closed_port_does_not_answer(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        assert not sources.is_reachable(f"http://127.0.0.1:{port}", seconds=2)

    def test_a_silent_host_is_not_waited_for(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            started = time.monotonic()
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            assert not sources.is_reachable(url, seconds=0.3)
            assert time.monotonic() - started < 2


# Real data


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_datasets_have_the_counts_that_are_listed(name: str, shared_cache: Path) -> None:
    (dataset, reference), info = load_benchmark(name), describe(name)
    assert (dataset.graph.num_nodes, dataset.graph.num_edges) == (info.nodes, info.edges)
    assert (dataset.graph.num_features, len(dataset.classes)) == (info.features, info.classes)
    assert homophily(reference) == pytest.approx(info.homophily, abs=5e-4)
    assert info.available


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "split", "expected"),
    [
        ("cora", None, (140, 500, 1000)),
        ("citeseer", None, (120, 500, 1000)),
        ("pubmed", "noisygl", (60, 500, 1000)),
        ("cora", "per-class", (140, 210, 2358)),
        ("coauthor-cs", None, (300, 450, 17583)),
        ("amazon-photo", None, (160, 240, 7250)),
        ("amazon-photo", "noisygl", (160, 500, 1000)),
        ("texas", None, (87, 59, 37)),
        ("chameleon", None, (1092, 729, 456)),
    ],
)
def test_real_datasets_have_their_published_splits(
    name: str, split: str | None, expected: tuple[int, int, int], shared_cache: Path
) -> None:
    assert sizes(load(name, split=split)) == expected


@pytest.mark.data
def test_the_public_split_is_the_same_for_every_seed(shared_cache: Path) -> None:
    first, other = load("cora", seed=0), load("cora", seed=1)
    assert torch.equal(first.split.train, other.split.train)


@pytest.mark.data
def test_geom_gcn_splits_go_round_after_ten_seeds(shared_cache: Path) -> None:
    first, other, eleventh = (load("texas", seed=seed).split.train for seed in (0, 1, 10))
    assert torch.equal(first, eleventh)
    assert not torch.equal(first, other)
