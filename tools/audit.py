"""Look up known vulnerabilities of what is installed.

Exit code 0: none is known. 1: some are, printed one a line. 3: the database cannot be reached.
"""

import json
import subprocess
import sys
from pathlib import Path

SECONDS = 240


def look_up() -> tuple[int, str]:
    """Return exit code and text of pip-audit; code -1 where it does not end."""
    command = [Path(sys.executable).parent / "pip-audit", "--local", "--format", "json"]
    command += ["--progress-spinner", "off", "--timeout", "20"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return -1, ""
    return done.returncode, done.stdout


def told(code: int, text: str) -> tuple[int, list[str]]:
    """Return the exit code and what to print for an answer of pip-audit."""
    try:
        packages = json.loads(text)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = "it did not answer in time" if code < 0 else f"pip-audit ended with {code}"
        return 3, [
            f"The database of vulnerabilities cannot be reached ({reason}). Run `make audit` "
            "where there is a connection to it."
        ]
    found = [
        f"{one['name']} {one['version']}: {flaw['id']}, fixed in "
        f"{', '.join(flaw['fix_versions']) or 'no version'}"
        for one in packages
        for flaw in one.get("vulns", ())
    ]
    return int(bool(found)), found or [f"{len(packages)} packages, no known vulnerability."]


if __name__ == "__main__":
    status, lines = told(*look_up())
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(status)
