"""The lock file holds what the constraints pin, and the audit says what it found."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

from paths import ROOT


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_pinned_version_has_hashes() -> None:
    lock = tool("lock")
    pinned = lock.pinned((ROOT / "constraints.txt").read_text())
    locked = (ROOT / "requirements.lock").read_text()
    wanted = {one for one in pinned if one[0] not in lock.UNHASHED}
    assert set(lock.pinned(locked)) ^ wanted == set(), "write it anew: make lock INDEX=..."
    for entry in locked.split("\n")[1:]:
        assert not entry or "==" in entry or entry.startswith("    --hash=sha256:")


def test_hashes_are_those_of_one_version() -> None:
    lock = tool("lock")
    files = (
        "a_b-1.0-py3-none-any.whl",
        "a-b-1.0.tar.gz",
        "a_b-1.0.1-py3-none-any.whl",
        "c-1.0.zip",
    )
    page = "".join(
        f'<a href="../x/{file}#sha256={str(place) * 64}">{file}</a>'
        for place, file in enumerate(files)
    )
    assert lock.hashes(page, "a-b", "1.0") == ["0" * 64, "1" * 64]


def test_the_audit_tells_flaws_and_that_it_could_not_look() -> None:
    audit = tool("audit")
    flaw = {"id": "X-1", "fix_versions": ["2"]}
    packages = [{"name": "a", "version": "1", "vulns": [flaw]}, {"name": "b", "skip_reason": "x"}]
    assert audit.told(1, json.dumps({"dependencies": packages})) == (1, ["a 1: X-1, fixed in 2"])
    none = json.dumps({"dependencies": packages[1:]})
    assert audit.told(0, none) == (0, ["1 packages, no known vulnerability."])
    code, (sentence,) = audit.told(1, "")
    assert code == 3
    assert "cannot be reached" in sentence


def test_the_makefile_names_both() -> None:
    text = Path(ROOT / "Makefile").read_text()
    assert "--require-hashes -r requirements.lock" in text
    assert "tools/audit.py" in text
