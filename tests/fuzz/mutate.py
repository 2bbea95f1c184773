"""Mutations that know the structure of a file: bytes, words, cells, JSON, arrays, archives."""

import io
import json
import re
import sqlite3
import tempfile
import zipfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

NUMBERS = (0, 1, -1, 2**15, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**64, -(2**63), 10**9, 10**40)
WORDS = (
    *(str(number) for number in NUMBERS),
    *("", "NA", "nan", "inf", "-inf", "1e39", "1e400", "9" * 400, "0.5", "?", "true", "null"),
    *("1,5", "1.234,5", "2020-13-45", "0000-00-00", "99999-01-01", "31/12/2020", "\ufeff", "ä"),
    *(
        "x" * 5000,
        '"',
        '""',
        "'",
        "a;b",
        "=1+1",
        "[" * 2000,
        "{",
        "<!DOCTYPE x>",
        "&lt;",
        "\x1b[31m",
    ),
)
BYTES = (b"\0", b"\xff", b"\n", b"\r", b'"', b",", b";", b"<", b"[", b"{", b"9", b"-", b"\x80")
TYPES = (
    "<f8",
    "<f4",
    "<i8",
    "<i4",
    "|b1",
    "<U3",
    "|S2",
    "<c16",
    "<M8[s]",
    ">f8",
    "|V4",
    "<f2",
    "|O",
)


def mutate_file(path: Path, draws: np.random.Generator) -> None:
    """Change a file in one to three ways, by what it is."""
    for _ in range(int(draws.integers(1, 4))):
        content = path.read_bytes()
        ways = [_flip, _cut, _double]
        if path.suffix in {".csv", ".gml", ".graphml", ".json", ".jsonl"}:
            ways += [_word] * 4
        if path.suffix == ".json":
            ways += [_json] * 4
        if path.suffix == ".npy":
            ways += [_array] * 4
        if path.suffix in {".npz", ".pt"}:
            ways += [_member] * 4
        if path.suffix == ".jsonl":
            ways += [_json_line] * 4
        if path.suffix == ".safetensors":
            ways += [_tensors] * 6
        if path.suffix == ".sqlite":
            ways += [_row] * 6
        path.write_bytes(_pick(draws, ways)(content, draws))


def _pick(draws: np.random.Generator, given: Any) -> Any:
    return given[int(draws.integers(len(given)))]


def _flip(content: bytes, draws: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(draws.integers(1, 5))):
        if changed:
            changed[int(draws.integers(len(changed)))] = int(draws.integers(256))
    return bytes(changed)


def _cut(content: bytes, draws: np.random.Generator) -> bytes:
    first, second = sorted(draws.integers(len(content) + 1, size=2).tolist())
    return content[:first] + content[second:] if draws.integers(2) else content[:second]


def _double(content: bytes, draws: np.random.Generator) -> bytes:
    first, second = sorted(draws.integers(len(content) + 1, size=2).tolist())
    place = int(draws.integers(len(content) + 1))
    inside = content[first:second] if draws.integers(2) else _pick(draws, BYTES)
    return content[:place] + inside + content[place:]


def _word(content: bytes, draws: np.random.Generator) -> bytes:
    """Replace a cell, number or name by a hostile one."""
    found = list(re.finditer(rb"[\w.+-]+", content))
    if not found:
        return content
    one = _pick(draws, found)
    return content[: one.start()] + _pick(draws, WORDS).encode() + content[one.end() :]


def _json(content: bytes, draws: np.random.Generator) -> bytes:
    """Change, drop or replace one value of a JSON document."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return content
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    if isinstance(document, dict | list):
        walk(document)
    if places:
        node, key = _pick(draws, places)
        values = [*NUMBERS, *WORDS, None, True, 0.5, 1e300, [], {}, [[]], ["x"], [1], node]
        if draws.integers(4) == 0:
            del node[key]
        else:
            node[key] = _pick(draws, values[:-1])
    return json.dumps(document).encode()


def _array(content: bytes, draws: np.random.Generator) -> bytes:
    """Change type, shape or entries of an `.npy` file."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # a file that was harmed before
        return _flip(content, draws)
    way = int(draws.integers(5))
    if way == 0:
        head = {"descr": _pick(draws, TYPES), "fortran_order": bool(draws.integers(2))}
        shape = [int(_pick(draws, NUMBERS[:6])) for _ in range(int(draws.integers(3)))]
        head["shape"] = tuple(shape) if draws.integers(2) else array.shape
        text = repr(head).encode().ljust(117) + b"\n"
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + array.tobytes()
    if way == 1 and array.size:
        flat = array.reshape(-1).copy()
        if flat.dtype.kind in "iufb":
            value = _pick(draws, (0, 1, -1, 99, 2**30, 1e39, float("nan"), 1e-40))
            with np.errstate(all="ignore"):
                place = int(draws.integers(len(flat)))
                flat[place] = np.array(value).astype(flat.dtype)
        array = flat.reshape(array.shape)
    elif way == 2:
        array = array[: int(draws.integers(len(array) + 1))] if array.ndim else array
    elif way == 3 and array.dtype.kind in "iufb":
        with np.errstate(all="ignore"):
            array = array.astype(_pick(draws, ("f8", "f4", "i8", "i4", "b1", "u8", "c16", "U5")))
    else:
        array = array.reshape(_pick(draws, [(-1,), (1, -1), (-1, 1), array.shape]))
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _member(content: bytes, draws: np.random.Generator) -> bytes:
    """Change, drop, rename or repack a member of an archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = [(one.filename, packed.read(one)) for one in packed.infolist()]
    except Exception:
        return _flip(content, draws)
    if not members:
        return content
    place = int(draws.integers(len(members)))
    name, inside = members[place]
    way = int(draws.integers(5))
    if way == 0:
        members.pop(place)
    elif way == 1:
        other = _pick(draws, ("x", "edge_index", "y", "adj_shape", "ids", "../x", "weights"))
        members[place] = (f"{other}.npy", inside)
    else:
        is_array = name.endswith(".npy")
        members[place] = (name, _array(inside, draws) if is_array else _flip(inside, draws))
    buffer = io.BytesIO()
    packing = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    chosen = packing[int(draws.integers(4))] if draws.integers(4) == 0 else packing[0]
    with zipfile.ZipFile(buffer, "w", chosen) as packed:
        for member, data in members:
            packed.writestr(member, data)
    return buffer.getvalue()


def _json_line(content: bytes, draws: np.random.Generator) -> bytes:
    """Change one line of a file of JSON lines."""
    lines = content.split(b"\n")
    place = int(draws.integers(len(lines)))
    lines[place] = _json(lines[place], draws)
    return b"\n".join(lines)


def _tensors(content: bytes, draws: np.random.Generator) -> bytes:
    """Change the header of a safetensors file, or one of its numbers."""
    size = int.from_bytes(content[:8], "little")
    header, data = content[8 : 8 + size], content[8 + size :]
    way = int(draws.integers(4))
    if way == 0:
        header = _json(header, draws)
    elif way == 1:
        header = _facts(header, draws)
    elif way == 2:
        header = _word(header, draws)
    else:
        numbers = np.frombuffer(data[: len(data) // 4 * 4], "<f4").copy()
        if len(numbers):
            values = (np.nan, np.inf, -1.0, 1e38, 0.0)
            numbers[int(draws.integers(len(numbers)))] = _pick(draws, values)
        data = numbers.tobytes() + data[len(numbers) * 4 :]
    return len(header).to_bytes(8, "little") + header + data


def _facts(header: bytes, draws: np.random.Generator) -> bytes:
    """Change the JSON that we keep inside of the header of a safetensors file."""
    try:
        document = json.loads(header)
        facts = document["__metadata__"]["facts"]
        document["__metadata__"]["facts"] = _json(facts.encode(), draws).decode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _word(header, draws)
    return json.dumps(document).encode()


def _row(content: bytes, draws: np.random.Generator) -> bytes:
    """Change one cell, the tables or the header of an SQLite file."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "changed.sqlite"
        path.write_bytes(content)
        with suppress(sqlite3.Error, UnicodeError), closing(sqlite3.connect(path)) as file:
            names = "SELECT name FROM sqlite_master WHERE type = 'table'"
            table = _pick(draws, file.execute(names).fetchall())[0]
            columns = [row[1] for row in file.execute(f'PRAGMA table_info("{table}")')]
            column = _pick(draws, columns)
            value = _pick(draws, (*NUMBERS[:8], *WORDS, None, 0.5, float("inf"), b"\xff\0"))
            way = int(draws.integers(8))
            if way == 0:
                file.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
            elif way == 1:
                file.execute(f"PRAGMA user_version = {int(draws.integers(5))}")
            elif way == 2:
                file.execute(f'DELETE FROM "{table}"')
            else:
                file.execute("PRAGMA ignore_check_constraints = 1")
                rows = f'SELECT rowid FROM "{table}" ORDER BY random() LIMIT 1'
                if way > 5 or "rowid" not in columns:
                    file.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ?', (value,))
                else:
                    change = f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ({rows})'
                    file.execute(change, (value,))
            file.commit()
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.read_bytes()
