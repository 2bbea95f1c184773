"""The claims of a Parquet footer are read as pyarrow reads them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quietgraph.graph.io.parquet_footer import claimed_sizes


@pytest.mark.parametrize("options", [{}, {"row_group_size": 7}, {"compression": "zstd"}])
def test_sizes_are_those_of_pyarrow(options: dict[str, Any], tmp_path: Path) -> None:
    columns = {"whole": range(50), "list": [[1.0, 2.0]] * 50, "text": ["x"] * 50}
    table = pa.table({**columns, "none": [None] * 50, "struct": [{"a": 1}] * 50})
    pq.write_table(table, tmp_path / "t.parquet", **options)
    facts = pq.ParquetFile(tmp_path / "t.parquet").metadata
    groups = [facts.row_group(place) for place in range(facts.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    cells, size = claimed_sizes(tmp_path / "t.parquet")
    assert cells == sum(chunk.num_values for chunk in chunks)
    assert size == sum(chunk.total_uncompressed_size for chunk in chunks)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\xff" * 8 + b"\x08\0\0\0PAR1", b"none"])
def test_another_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"it|number"):
        claimed_sizes(tmp_path / "t.parquet")


def test_a_footer_that_is_nested_for_ever_is_refused(tmp_path: Path) -> None:
    nested = b"\x1c" * 5_000
    ends = len(nested).to_bytes(4, "little") + b"PAR1"
    (tmp_path / "t.parquet").write_bytes(nested + ends)
    with pytest.raises(ValueError, match="nested too deeply"):
        claimed_sizes(tmp_path / "t.parquet")
