"""Progress, random streams, declared parameters, errors, eigenvalues."""

from dataclasses import dataclass

import pytest
import torch

from quietgraph.embed.train import Epoch
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.linalg import eigen
from quietgraph.params import check_parameters, param, parameters, parse_assignments
from quietgraph.progress import Step, progress
from quietgraph.rng import derive_seed, isolated_stream, numpy_generator, torch_generator


@dataclass
class Settings:
    width: int = param(8, "columns", low=1)
    rate: float = param(0.5, "fraction", low=0, high=1)
    kind: str = param("plain", "form", choices=("plain", "fancy"))
    exact: bool = param(False, "slow and exact")
    limit: float | None = param(None, "largest")


def test_progress_is_silent_where_stderr_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with progress("fitting") as show:
        show(Epoch("training", 3, 60, {"loss": 1.0}))
        show(Step("folds", 1, 5))
    assert capfd.readouterr() == ("", "")


def test_progress_shows_what_is_done_on_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with progress("fitting") as show:
        show(Step("folds", 2, 5))
    out, shown = capfd.readouterr()
    assert not out
    assert "fitting: folds" in shown
    assert "2/5" in shown


def test_every_purpose_has_its_own_stream() -> None:
    draws = [
        torch.rand(3, generator=torch_generator(*names)).tolist() for names in ((0, "a"), (0, "a"), (0, "b"), (1, "a"))
    ]
    assert draws[0] == draws[1]
    assert len({str(one) for one in draws}) == 3
    assert numpy_generator(0, "a").random() == numpy_generator(0, "a").random()
    assert derive_seed(0, "splits", 3) == 4857341850621075475  # the same in every process and version


def test_an_isolated_stream_leaves_the_callers_state_alone() -> None:
    before = torch.get_rng_state()
    with isolated_stream(0, "fit"):
        first = torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    with isolated_stream(0, "fit"):
        assert torch.equal(torch.rand(3), first)


def test_texts_become_checked_values() -> None:
    texts = {"width": "3", "rate": "1", "kind": "fancy", "exact": "True", "limit": "none"}
    wanted = {"width": 3, "rate": 1.0, "kind": "fancy", "exact": True, "limit": None}
    assert parse_assignments(Settings, texts) == wanted
    with pytest.raises(UnknownNameError, match=r"no parameter of Settings 'widht'\. Did you mean 'width'"):
        parse_assignments(Settings, {"widht": "3"})
    with pytest.raises(InvalidParameterError, match=r"width must be int, got '3\.5'"):
        parse_assignments(Settings, {"width": "3.5"})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"width": 0}, "width must lie between 1 and inf, got 0"),
        ({"width": True}, "width must be int, got True"),
        ({"rate": float("nan")}, "rate must lie between 0 and 1, got nan"),
        ({"kind": "odd"}, "kind must be one of plain, fancy, got 'odd'"),
        ({"exact": 1}, "exact must be bool"),
    ],
)
def test_values_out_of_their_rule_are_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        check_parameters(Settings(**wrong))


def test_parameters_are_listed_with_default_and_help() -> None:
    found = parameters(Settings)
    assert list(found) == ["width", "rate", "kind", "exact", "limit"]
    assert (found["limit"].kind_name, found["rate"].default, found["kind"].help) == ("float | None", 0.5, "form")
    check_parameters(Settings(rate=1, limit=2))  # whole numbers are floats, too


def test_an_unknown_name_is_a_sentence_with_the_nearest_or_all() -> None:
    assert str(UnknownNameError("method", "gnc", ["gcn", "quiet"])) == "there is no method 'gnc'. Did you mean 'gcn'?"
    assert str(UnknownNameError("method", "xyz", ["quiet", "gcn"])).endswith("Known: gcn, quiet.")
    assert str(UnknownNameError("class", "a", ["b"], where="v.csv")).startswith("v.csv: there is")


def test_eigenvectors_are_found_where_zero_is_repeated_many_times() -> None:
    rows = torch.zeros(300, 200)
    rows[:, :3] = torch.rand(300, 3, generator=torch.Generator().manual_seed(0))
    gram = rows.T @ rows
    values, vectors = eigen(gram)
    torch.testing.assert_close(vectors * values @ vectors.T, gram, atol=1e-3, rtol=1e-4)
    assert eigen(torch.full((2, 2), float("nan"))).values.isnan().all()
