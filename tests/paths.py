"""Where things lie in the repository."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
