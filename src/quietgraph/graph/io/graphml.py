"""What NetworkX lets pass in a `.graphml` file: repeated ids, edges to nobody, endless text."""

from pathlib import Path
from typing import Final
from xml.parsers import expat

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.limits import MAX_LINE

_CHUNK: Final = 2**20  # bytes


class _Scan:
    """Notes ids and edges while the file streams by; nothing else of it is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids: set[str] = set()
        self.ends: dict[str, str] = {}  # each end of an edge, and whether source or target
        self.text = 0  # characters since the last tag

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take in a node or an edge."""
        self.text = 0
        kind = name.rpartition(":")[2]
        if kind == "node":
            self._add(attributes.get("id", ""))
        elif kind == "edge":
            for end in ("source", "target"):
                self.ends.setdefault(attributes.get(end, ""), end)

    def data(self, piece: str) -> None:
        """Take in text, and refuse it before it fills the memory."""
        self.text += len(piece)
        if self.text > MAX_LINE:
            raise too_long(self.path)

    def _add(self, node: str) -> None:
        if not node:
            raise UnreadableFileError(f"{self.path} must give every node an id. Fill them in.")
        if node in self.ids:
            raise UnreadableFileError(
                f"{self.path} gives the id '{node}' to more than one node. Keep one of them."
            )
        self.ids.add(node)


def too_long(path: Path) -> UnreadableFileError:
    """Return the error of a file whose text does not end."""
    return UnreadableFileError(
        f"{path} holds a piece of text longer than {MAX_LINE:,} characters, which no graph does. "
        f"Check that it is a {path.suffix} file."
    )


def check_graphml(path: Path) -> None:
    """Raise where ids repeat, an edge names no node, or a piece of text is too long to hold."""
    scan, parser = _Scan(path), expat.ParserCreate()
    parser.StartElementHandler = scan.start
    parser.CharacterDataHandler = scan.data
    fed = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            parser.Parse(chunk, False)
            fed += len(chunk)
            if fed - max(parser.CurrentByteIndex, 0) > MAX_LINE + _CHUNK:  # inside one tag
                raise too_long(path)
        parser.Parse(b"", True)
    lost = [(node, end) for node, end in scan.ends.items() if node not in scan.ids]
    if lost:
        node, end = lost[0]
        raise UnreadableFileError(
            f"{path} has an edge with the {end} '{node}', which is no id of a node. "
            "Add the node or remove the edge."
        )
