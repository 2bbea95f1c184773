"""Datasets by name: counts, splits, files in the published formats, missing and damaged files."""

import gzip
import hashlib
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch

from quietgraph.data.data import Data
from quietgraph.data.datasets import DATASETS, describe_datasets, load_benchmark
from quietgraph.data.homophily import measure_homophily
from quietgraph.data.sources import find_root
from quietgraph.errors import DataNotFoundError, UnknownNameError, UnreadableFileError
from quietgraph.graph import Graph

REAL = [name for name in DATASETS if name not in {"digits", "sbm", "wiki-cs", "ogbn-arxiv"}]


def sizes(data: Data) -> tuple[int, ...]:
    return tuple(int(mask.sum()) for mask in (data.split.train, data.split.validation, data.split.test))


def split_hash(data: Data) -> str:
    masks = (data.split.train, data.split.validation, data.split.test)
    return hashlib.blake2b(b"".join(mask.numpy().tobytes() for mask in masks), digest_size=4).hexdigest()


def check_facts(name: str) -> None:
    (data, truth), facts = load_benchmark(name), DATASETS[name]
    graph = data.graph
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (facts.nodes, facts.edges, facts.features)
    assert len(data.classes) == facts.classes
    assert measure_homophily(graph, truth.codes).observed == pytest.approx(facts.homophily, abs=5e-4)
    assert {"name": name, "here": "yes"}.items() <= describe_datasets()[list(DATASETS).index(name)].items()


@pytest.mark.parametrize("name", ["digits", "sbm"])
def test_embedded_datasets_have_the_counts_that_are_listed(name: str) -> None:
    check_facts(name)


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_datasets_have_the_counts_that_are_listed(name: str) -> None:
    check_facts(name)


@pytest.mark.parametrize(
    ("name", "split", "seed", "wanted"),
    [
        ("digits", None, 0, "001e7889"),
        ("digits", None, 1, "14a28afb"),
        ("digits", "noisygl", 0, "c4c96245"),
        ("digits", "all-but-test", 1, "223e7bb9"),
        ("sbm", None, 13, "20c8465e"),
    ],
)
def test_the_split_of_a_seed_stays_what_published_results_were_measured_on(
    name: str, split: str | None, seed: int, wanted: str
) -> None:
    assert split_hash(load_benchmark(name, seed=seed, split=split)[0]) == wanted


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "split", "expected"),
    [
        ("cora", None, (140, 500, 1000)),
        ("citeseer", None, (120, 500, 1000)),
        ("pubmed", "noisygl", (60, 500, 1000)),
        ("cora", "per-class", (140, 210, 2358)),
        ("coauthor-cs", None, (300, 450, 17583)),
        ("amazon-photo", "noisygl", (160, 500, 1000)),
        ("texas", None, (87, 59, 37)),
        ("chameleon", None, (1092, 729, 456)),
        ("dblp", None, (177, 2657, 14882)),
    ],
)
def test_real_datasets_have_their_published_splits(name: str, split: str | None, expected: tuple[int, ...]) -> None:
    assert sizes(load_benchmark(name, split=split)[0]) == expected


@pytest.mark.data
def test_the_public_split_is_always_the_same_and_files_of_splits_go_round() -> None:
    cora = [load_benchmark("cora", seed=seed)[0].split.train for seed in (0, 1)]
    assert torch.equal(*cora)
    first, other, eleventh = (load_benchmark("texas", seed=seed)[0].split.train for seed in (0, 1, 10))
    assert torch.equal(first, eleventh)
    assert not torch.equal(first, other)


def test_data_hide_labels_outside_train_and_validation() -> None:
    data, truth = load_benchmark("sbm")
    known = data.split.labelled
    assert torch.equal(data.codes[known], truth.codes[known])
    assert torch.equal(data.known, known)


def test_other_training_nodes_leave_the_test_set_alone() -> None:
    plain, both, rest = (
        load_benchmark("digits", seed=3, split=split)[0].split for split in (None, "train+validation", "all-but-test")
    )
    assert torch.equal(plain.test, both.test)
    assert torch.equal(plain.test, rest.test)
    assert torch.equal(plain.labelled, both.labelled)
    assert torch.equal(rest.labelled, ~plain.test)
    assert [int(one.validation.sum()) for one in (both, rest)] == [500 // 5, int((~plain.test).sum()) // 5]


def test_the_seed_changes_the_split_and_not_the_graph() -> None:
    (first, _), (other, _) = load_benchmark("sbm", seed=0), load_benchmark("sbm", seed=1)
    assert first.graph.fingerprint == other.graph.fingerprint


def test_unknown_names_and_splits_offer_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"no dataset 'corra'\. Did you mean 'cora'"):
        load_benchmark("corra")
    with pytest.raises(UnknownNameError, match="no split of digits 'public'"):
        load_benchmark("digits", split="public")


def test_the_data_root_is_the_given_one_then_the_environment_then_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIETGRAPH_DATA", str(tmp_path / "named"))
    assert find_root(tmp_path) == tmp_path
    assert find_root() == tmp_path / "named"
    monkeypatch.delenv("QUIETGRAPH_DATA")
    assert find_root().parts[-2:] == ("quietgraph", "data")


def test_homophily_counts_edges_between_labelled_nodes() -> None:
    graph = Graph.from_arrays(np.eye(5), [[0, 0, 1, 2, 3], [1, 2, 2, 3, 4]])
    found = measure_homophily(graph, torch.tensor([0, 0, 1, -1, 1]))
    assert found == (pytest.approx(1 / 3), pytest.approx((2 / 3) ** 2 + (1 / 3) ** 2), 3)
    assert measure_homophily(graph, torch.full((5,), -1)).edges == 0


# Small files in the published formats


def test_planetoid_files_are_read_with_nodes_that_are_in_no_file(tmp_path: Path) -> None:
    folder, draws = tmp_path / "Planetoid" / "CiteSeer" / "raw", np.random.default_rng(0)
    folder.mkdir(parents=True)
    features = scipy.sparse.csr_matrix(draws.random((512, 4)).round())
    classes = np.eye(3)[draws.integers(3, size=512)]
    test = [511, 509]  # 510 is in no file
    edges = {node: [(node + 1) % 512, (node + 1) % 512, node] for node in range(512)}
    parts = {"allx": features[:509], "ally": classes[:509], "tx": features[test], "ty": classes[test]}
    parts |= {"x": features[:5], "y": classes[:5], "graph": edges}
    for name, part in parts.items():
        (folder / f"ind.citeseer.{name}").write_bytes(pickle.dumps(part))
    (folder / "ind.citeseer.test.index").write_text("511\n509\n")
    data, truth = load_benchmark("citeseer", data_root=tmp_path)
    assert sizes(data) == (5, 500, 2)
    assert data.graph.num_edges == 512
    wanted = features.toarray()
    wanted[510] = 0
    np.testing.assert_array_equal(data.graph.features, wanted)
    assert truth.codes[test].tolist() == classes[test].argmax(axis=1).tolist()


def test_npz_files_are_read_with_binary_features_where_pyg_has_them_so(tmp_path: Path) -> None:
    matrix = scipy.sparse.csr_matrix(np.array([[0, 2, 0], [0, 0, 1], [0, 0, 3.0]]))
    arrays = {
        f"{kind}_{part}": getattr(matrix, part)
        for kind in ("adj", "attr")
        for part in ("data", "indices", "indptr", "shape")
    }
    for place in ("Amazon/Photo/raw/amazon_electronics_photo.npz", "NoisyGL/flickr.npz"):
        (tmp_path / place).parent.mkdir(parents=True)
        np.savez(tmp_path / place, labels=np.array([0, 1, 0]), **arrays)
    photo, flickr = (load_benchmark(name, data_root=tmp_path)[0].graph for name in ("amazon-photo", "flickr"))
    np.testing.assert_array_equal(photo.features, matrix.toarray() > 0)
    np.testing.assert_array_equal(flickr.features, matrix.toarray())
    assert photo.num_edges == flickr.num_edges == 2  # the loop is dropped
    assert not photo.is_weighted
    assert not (tmp_path / "Amazon" / "Photo" / "processed").exists()


def test_wiki_cs_is_read_undirected_with_its_stopping_set(tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    parts, test = draws.integers(4, size=(20, 40)), draws.random(40) < 0.3
    content = {
        "features": draws.standard_normal((40, 5)).tolist(),
        "labels": (np.arange(40) % 3).tolist(),
        "links": [[(node + 1) % 40, (node + 7) % 40, node] for node in range(40)],
        "train_masks": ((parts == 0) & ~test).tolist(),
        "stopping_masks": ((parts == 2) & ~test).tolist(),
        "test_mask": test.tolist(),
    }
    (tmp_path / "WikiCS" / "raw").mkdir(parents=True)
    (tmp_path / "WikiCS" / "raw" / "data.json").write_text(json.dumps(content))
    data, _ = load_benchmark("wiki-cs", seed=23, data_root=tmp_path)
    assert data.graph.num_edges == 80  # two links a node; loops dropped
    assert data.split.train.tolist() == content["train_masks"][3]
    assert data.split.validation.tolist() == content["stopping_masks"][3]
    assert data.split.test.tolist() == content["test_mask"]
    np.testing.assert_allclose(data.graph.features, content["features"], rtol=1e-6)


def test_arxiv_is_read_undirected_with_its_time_split(tmp_path: Path) -> None:
    tables = {
        "raw/edge": np.array([[1, 0], [2, 0], [0, 2], [3, 1], [4, 4], [9, 5]]),
        "raw/node-feat": np.arange(30).reshape(10, 3) / 4,
        "raw/node-label": np.arange(10) % 4,
        "split/time/train": np.arange(5),
        "split/time/valid": np.array([5, 6]),
        "split/time/test": np.array([7, 8, 9]),
    }
    for name, rows in tables.items():
        path = tmp_path / "ogbn_arxiv" / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt") as file:
            np.savetxt(file, rows, delimiter=",", fmt="%g")
    data, truth = load_benchmark("ogbn-arxiv", data_root=tmp_path)
    assert sizes(data) == (5, 2, 3)
    assert data.graph.num_edges == 4
    assert truth.codes.tolist() == (np.arange(10) % 4).tolist()
    np.testing.assert_array_equal(data.graph.features, tables["raw/node-feat"])


# Missing and damaged files


def test_a_missing_file_is_named_with_its_folder(tmp_path: Path) -> None:
    assert [one["name"] for one in describe_datasets(tmp_path) if one["here"] == "yes"] == ["digits", "sbm"]
    with pytest.raises(DataNotFoundError, match=r"flickr.npz of the dataset flickr is not in .*NoisyGL"):
        load_benchmark("flickr", data_root=tmp_path)


def test_a_download_that_fails_says_why_and_leaves_nothing_behind(tmp_path: Path) -> None:
    root = tmp_path / "file"
    root.touch()  # nothing can be written below a file
    with pytest.raises(DataNotFoundError, match=r"ind.cora.x of the dataset cora .* Put it there, or name another"):
        load_benchmark("cora", data_root=root)
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_is_not_what_it_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "NoisyGL").mkdir()
    (tmp_path / "NoisyGL" / "flickr.npz").write_bytes(b"no archive")
    with pytest.raises(UnreadableFileError, match=r"files of flickr in .*NoisyGL cannot be read"):
        load_benchmark("flickr", data_root=tmp_path)
