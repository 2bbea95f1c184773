"""Labels by an annotator who reads attributes, by a crowd, and from a file."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.simulated_annotators import crowd_answers
from quietgraph.errors import InvalidLabelsError, QuietgraphError


@pytest.mark.parametrize("rate", [0.2, 0.35])
def test_the_rate_of_wrong_labels_is_met(rate: float) -> None:
    data, truth = load_benchmark("sbm")
    observed = apply_noise(data, truth, f"annotator:{rate}", seed=0)
    assert int(truth.wrong(observed).sum()) == round(rate * int(data.known.sum()))


def test_errors_of_a_reader_can_be_predicted_from_attributes_and_symmetric_ones_cannot() -> None:
    data, truth = load_benchmark("sbm", seed=1)
    agreement = {}
    for kind in ("annotator", "symmetric"):
        observed = apply_noise(data, truth, f"{kind}:0.35", seed=1)
        rows, labels = data.graph.features[data.known].numpy(), observed.codes[data.known].numpy()
        agreement[kind] = cross_val_score(LogisticRegression(max_iter=300), rows, labels).mean()
    assert agreement["annotator"] > agreement["symmetric"] + 0.1


def test_an_annotator_needs_true_labels_and_nodes_to_learn_from() -> None:
    data, truth = load_benchmark("sbm")
    with pytest.raises(QuietgraphError, match="benchmark datasets"):
        apply_noise(data, None, "annotator:0.3", seed=0)
    everywhere = load_benchmark("sbm", split="per-class")[0].split
    whole = type(everywhere)(
        everywhere.train | everywhere.test, everywhere.validation, torch.zeros_like(everywhere.test)
    )
    with pytest.raises(InvalidLabelsError, match="nodes outside train and validation"):
        apply_noise(type(data)("all", data.graph, truth.codes, data.classes, whole), truth, "annotator:0.3", seed=0)


def test_members_of_a_crowd_have_their_accuracies() -> None:
    data, truth = load_benchmark("sbm")
    true, labelled = truth.codes.numpy(), data.split.labelled.numpy()
    names, nodes, who, codes = crowd_answers(
        "4:0.9/0.5/reader0.7/spammer", data.graph.features, true, labelled, 4, np.random.default_rng(0)
    )
    assert names == ("0 (0.9)", "1 (0.5)", "2 (reader0.7)", "3 (spammer)")
    assert np.bincount(nodes, minlength=1000)[labelled].tolist() == [4] * 200
    right = [float((codes == true[nodes])[who == one].mean()) for one in range(4)]
    assert right == pytest.approx([0.9, 0.5, 0.7, 0.25], abs=0.11)  # 200 answers: three standard deviations


def test_labels_of_a_file_replace_those_of_labelled_nodes(tmp_path: Path) -> None:
    data, truth = load_benchmark("sbm")
    nodes, outside = (mask.nonzero().squeeze(1).tolist() for mask in (data.known, ~data.known))
    path = tmp_path / "labels.csv"
    rows = [f"{node},2\n" for node in nodes[:5] + outside[:1]] + [f"{nodes[5]},-1\n", f"{nodes[6]},\n"]
    path.write_text("\ufeffNode,LLM_label\n" + "".join(rows))
    observed = apply_noise(data, truth, f"labels:{path}", seed=0)
    assert observed.known.nonzero().squeeze(1).tolist() == nodes[:5]
    assert observed.codes[nodes[:5]].tolist() == [2] * 5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,2\n", "KeyError: 'node'.*a column node or id"),
        ("node,b\n1,2\n", "KeyError: 'label'"),
        ("node,label\n99999,1\n", "nodes are 0 to 999"),
        ("node,label\n1,spam\n", "class 'spam', which is none of 0, 1, 2, 3"),
        ("node,label\nx,1\n", "is no file of labels"),
        ("", "is no file of labels"),
    ],
)
def test_mistakes_in_a_file_of_labels_are_one_sentence(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(content)
    with pytest.raises(QuietgraphError, match=words):
        apply_noise(*load_benchmark("sbm"), f"labels:{path}", seed=0)


@pytest.mark.data
def test_the_labels_of_a_language_model_for_cora() -> None:
    data, truth = load_benchmark("cora")
    observed = apply_noise(data, truth, "labels:cora-gpt35.csv", seed=0)
    wrong = truth.wrong(observed).sum() / observed.known.sum()
    assert float(wrong) == pytest.approx(0.334, abs=0.001)
