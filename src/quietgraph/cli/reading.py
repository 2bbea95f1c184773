"""What a user says on the command line about the files to read."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self, TypedDict

from quietgraph.errors import InvalidParameterError
from quietgraph.graph.io import ReadOptions


class Tables(TypedDict):
    """What the options of `options.TableOptions` hold."""

    nodes: Path | None
    edges: Path | None
    unknown: list[str] | None
    drop_dangling: bool
    limit: str | None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options of `read_graph`, as commands take them."""

    columns: dict[str, str]
    nodes: Path | None
    edges: Path | None
    unknown: list[str]
    drop_dangling: bool
    limit: str | None

    @classmethod
    def of(cls, tables: Tables, columns: list[str] | None = None) -> Self:
        """Return the options from what the command line gives."""
        return cls(
            columns=split_pairs("--column", columns),
            nodes=tables["nodes"],
            edges=tables["edges"],
            unknown=tables["unknown"] or [],
            drop_dangling=tables["drop_dangling"],
            limit=tables["limit"],
        )

    @property
    def is_given(self) -> bool:
        """Whether the user said anything."""
        return any(asdict(self).values())

    def options(self) -> ReadOptions:
        """Return them as keyword arguments."""
        return ReadOptions(
            columns=self.columns,
            nodes=self.nodes,
            edges=self.edges,
            unknown=self.unknown,
            drop_dangling=self.drop_dangling,
            limit=self.limit,
        )

    def name_of(self, source: str, *, default: str = "") -> str:
        """Return the source, or the tables in its place; both at once are refused.

        Args:
            source: What the command was given.
            default: What it is without being given.
        """
        tables = self.nodes or self.edges
        if tables is not None and source not in {"", default}:
            raise InvalidParameterError(
                "give either a source, or --nodes and --edges, not both: "
                f"got {source} and {tables}."
            )
        return str(tables or source)

    def source_of(self, source: str) -> str | None:
        """Return the source; None where tables are given in its place."""
        return None if self.nodes or self.edges else source


def split_pairs(option: str, pairs: list[str] | None) -> dict[str, str]:
    """Return key=value texts of an option as a dictionary."""
    found = {}
    for pair in pairs or []:
        name, sign, value = pair.partition("=")
        if not sign:
            raise InvalidParameterError(f"{option} takes key=value, got '{pair}'.")
        found[name] = value
    return found
