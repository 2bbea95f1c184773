"""Take a table that a benchmark or study prints into results/tables, for the docs to show.

    python benchmarks/quiet_cost.py | python studies/keep_table.py quiet-cost

Every Markdown table of the input is taken: the first as NAME.csv, further ones as NAME-2.csv and so
on. The input is passed on, so that a terminal still shows it. A table of a new name needs an entry
in results/manifest.json: what it is, the command, the pages that show it.
"""

import argparse
import csv
import io
import sys

from study.records import TABLES


def tables_in(text: str) -> list[list[list[str]]]:
    """Return the Markdown tables of a text, each a list of rows of cells, the heads first."""
    found: list[list[list[str]]] = []
    was_table = False
    for line in text.splitlines():
        is_table = line.startswith("|")
        if is_table and not was_table:
            found.append([])
        if is_table and not set(line) <= set("|:- "):
            found[-1].append([cell.strip() for cell in line.strip().strip("|").split("|")])
        was_table = is_table
    for rows in found:
        if len({len(row) for row in rows}) != 1:
            raise SystemExit("a table has rows of several lengths. Check what was printed.")
    return found


def as_csv(rows: list[list[str]]) -> str:
    """Return the rows of a table as the text of a CSV file."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="of the table, without .csv")
    name = parser.parse_args().name
    text = sys.stdin.read()
    print(text, end="")
    found = tables_in(text)
    if not found:
        raise SystemExit("no Markdown table in the input. Nothing was written.")
    TABLES.mkdir(exist_ok=True)
    for number, rows in enumerate(found, 1):
        path = TABLES / f"{name if number == 1 else f'{name}-{number}'}.csv"
        path.write_text(as_csv(rows), encoding="utf-8")
        print(f"{path.name}: {len(rows) - 1} rows", file=sys.stderr)


if __name__ == "__main__":
    main()
