"""What README and first page say of their picture is what `quiet` answers."""

import importlib.util
import sys

import pytest

from paths import ROOT


@pytest.mark.slow
def test_the_picture_is_described_as_quiet_answers_now() -> None:
    pytest.importorskip("PIL", reason="the picture is drawn with Pillow")
    spec = importlib.util.spec_from_file_location("picture", ROOT / "studies" / "picture.py")
    assert spec is not None
    assert spec.loader is not None
    picture = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = picture  # dataclasses look their module up here
    spec.loader.exec_module(picture)
    words = picture.learn().words()
    for page in ("README.md", "docs/index.md"):
        assert f"![{words}](" in (ROOT / page).read_text(encoding="utf-8"), page
