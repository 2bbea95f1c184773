"""Labels by an annotator who reads attributes, and labels from a file."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.errors import InvalidLabelsError, InvalidParameterError, QuietgraphError


@pytest.mark.parametrize("rate", [0.2, 0.35])
def test_the_rate_of_wrong_labels_is_met(rate: float) -> None:
    clean, reference = load_benchmark("sbm", seed=0)
    observed = apply_noise(clean, parse_noise(f"annotator:{rate}"), seed=0, reference=reference)
    wrong = reference.wrong(observed)
    assert int(wrong.sum()) == round(rate * int(clean.known.sum()))
    assert torch.equal(observed.known, clean.known)


def test_its_errors_can_be_predicted_from_attributes_and_symmetric_ones_cannot() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    clean, reference = load_benchmark("sbm", seed=1)
    agreement = {}
    for kind in ("annotator", "symmetric"):
        setting = parse_noise(f"{kind}:0.35")
        observed = apply_noise(clean, setting, seed=1, reference=reference)
        rows = np.asarray(clean.graph.features)[clean.known.numpy()]
        labels = observed.codes[clean.known].numpy()
        agreement[kind] = cross_val_score(LogisticRegression(max_iter=300), rows, labels).mean()
    assert agreement["annotator"] > agreement["symmetric"] + 0.1


def test_a_draw_depends_on_the_seed_and_repeats() -> None:
    clean, reference = load_benchmark("sbm", seed=0)
    setting = parse_noise("annotator:0.3")
    first, again, other = (
        apply_noise(clean, setting, seed=seed, reference=reference).codes for seed in (3, 3, 4)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_an_annotator_needs_true_labels_to_learn_from() -> None:
    clean, _ = load_benchmark("sbm", seed=0)
    with pytest.raises(QuietgraphError, match="benchmark datasets"):
        apply_noise(clean, parse_noise("annotator:0.3"), seed=0)


def test_labels_of_a_file_replace_those_of_labelled_nodes(tmp_path: Path) -> None:
    clean, _ = load_benchmark("sbm", seed=0)
    nodes = clean.known.nonzero().squeeze(1).tolist()
    path = tmp_path / "labels.csv"
    path.write_text("node,label\n" + "".join(f"{node},2\n" for node in nodes[:5]))
    setting = parse_noise(f"labels:{path}")
    observed = apply_noise(clean, setting, seed=0)
    assert observed.codes[nodes[:5]].tolist() == [2] * 5
    assert int(observed.known.sum()) == 5
    assert parse_noise(str(setting)) == setting


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,2\n", "column of nodes"),
        ("node,label\n99999,1\n", "nodes are 0 to"),
        ("node,label\n1,spam\n", "class 'spam'"),
        ("node,label\nx,1\n", "no readable file"),
    ],
)
def test_mistakes_in_a_file_of_labels_are_one_sentence(
    tmp_path: Path, content: str, words: str
) -> None:
    clean, _ = load_benchmark("sbm", seed=0)
    path = tmp_path / "labels.csv"
    path.write_text(content)
    with pytest.raises(QuietgraphError, match=words):
        apply_noise(clean, parse_noise(f"labels:{path}"), seed=0)


@pytest.mark.data
def test_the_labels_of_a_language_model_for_cora(data_root: Path) -> None:
    clean, reference = load_benchmark("cora", seed=0)
    path = data_root / "real-noise" / "cora-gpt35.csv"
    observed = apply_noise(clean, parse_noise(f"labels:{path}"), seed=0)
    wrong = reference.wrong(observed).float().sum() / observed.known.sum()
    assert float(wrong) == pytest.approx(0.334, abs=0.001)


def test_answers_of_a_file_are_the_annotations_of_labelled_nodes(tmp_path: Path) -> None:
    clean, reference = load_benchmark("sbm")
    inside, outside = (
        torch.nonzero(mask)[:3, 0].tolist() for mask in (clean.split.labelled, clean.split.test)
    )
    names = [str(name) for name in clean.classes]
    table = pd.DataFrame({"node": inside + outside, "annotator": "ann", "label": names[0]})
    table["ranking"] = [[names[0], names[1]]] * len(table)
    table.to_parquet(tmp_path / "crowd.parquet")
    setting = parse_noise(f"annotations:{tmp_path / 'crowd.parquet'}")
    seen = apply_noise(clean, setting, seed=0, reference=reference)
    assert seen.annotations is not None
    assert sorted(seen.annotations.nodes.tolist()) == sorted(inside)
    assert seen.annotations.ranks[:, 1].tolist() == [1, 1, 1]
    assert torch.equal(torch.nonzero(seen.known)[:, 0], torch.tensor(sorted(inside)))
    assert parse_noise(str(setting)) == setting
    table.assign(label=names[1], ranking=None).to_parquet(tmp_path / "crowd.parquet")
    with pytest.raises(InvalidParameterError, match="has changed"):
        parse_noise(str(setting))
    table.iloc[3:].to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(InvalidLabelsError, match=r"no answer of .*test\.csv is about a training"):
        apply_noise(clean, parse_noise(f"annotations:{tmp_path / 'test.csv'}"), seed=0)
