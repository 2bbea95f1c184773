"""Write requirements.lock: the versions of constraints.txt with the SHA-256 of all their files.

python tools/lock.py --index ADDRESS      (a package index as PEP 503 describes it)

torch is left out: which of its builds is right depends on the machine (a CPU build here, CUDA
elsewhere), and builds of one version have different hashes. `make locked` installs it first, from
where pip is set up to look, by its pinned version.
"""

import argparse
import re
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNHASHED = {"torch"}
_LINK = re.compile(r'href="[^"]*?/([^/"#]+)#sha256=([0-9a-f]{64})"', re.IGNORECASE)


def pinned(text: str) -> list[tuple[str, str]]:
    """Return name and version of each line of a constraints file."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", text, re.MULTILINE)
    return [(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in found]


def hashes(page: str, name: str, version: str) -> list[str]:
    """Return the hashes of all files of one version on the page of a package."""
    stem = re.escape(name).replace(r"\-", "[-_.]+")
    file = re.compile(rf"{stem}-{re.escape(version)}(-.*\.whl|\.tar\.gz|\.zip)", re.IGNORECASE)
    found = {digest for link, digest in _LINK.findall(page) if file.fullmatch(link)}
    return sorted(found)


def entry(name: str, version: str, index: str) -> str:
    """Return the lines of one package; fail where the index has no file of it."""
    request = urllib.request.Request(f"{index}/{name}/", headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found = hashes(answer.read().decode(), name, version)
    if not found:
        sys.exit(f"{name} {version}: the index has no file with a hash")
    return " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{one}" for one in found)])


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", required=True)
    index = parser.parse_args().index.rstrip("/")
    packages = pinned((ROOT / "constraints.txt").read_text())
    wanted = [(name, version) for name, version in packages if name not in UNHASHED]
    with ThreadPoolExecutor(8) as pool:
        lines = list(pool.map(lambda one: entry(*one, index), wanted))
    head = "# Made by tools/lock.py from constraints.txt; `make locked` installs it.\n"
    (ROOT / "requirements.lock").write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
