"""Take the finished runs of a store into a file of results/; runs of the same draw are replaced.

    python studies/keep_runs.py STORE results/fresh-9100.csv [--methods gcn,quiet] [--datasets cora]

So a sweep that goes on in the background can be committed again and again, and no run of an older
method stands beside its successor.
"""

import argparse
from pathlib import Path

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.record import Record
from quietgraph.bench.runs_csv import read_runs, write_runs
from quietgraph.bench.store import Store


def draw(record: Record) -> tuple[str, ...]:
    """Return what two runs of one draw share, whatever their parameters."""
    key = record.key
    return key.dataset, key.noise, key.method, str(key.seed), key.split


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--methods", help="only these")
    parser.add_argument("--datasets", help="only these")
    parser.add_argument("--noise", default="", help="only settings that begin so")
    parser.add_argument("--seeds", help="only these draws, such as 1000-1009")
    parser.add_argument("--since", default="", help="only runs that started then or later")
    options = parser.parse_args()
    wanted = {"method": options.methods, "dataset": options.datasets}
    filters = {name: text.split(",") for name, text in wanted.items() if text}
    with Store(options.store, read_only=True) as store:
        done = [one for one in store.records(**filters) if one.status == "done"]
    new = {
        draw(one): one
        for one in done
        if one.key.noise.startswith(options.noise)
        and one.started >= options.since
        and (not options.seeds or one.key.seed in parse_seeds(options.seeds))
    }
    kept = read_runs(options.file) if options.file.exists() else []
    found = {draw(one): one for one in kept} | new
    write_runs(options.file, [found[key] for key in sorted(found)], is_compact=True)
    print(f"{options.file}: {len(new)} runs of the store, {len(found)} in all")


if __name__ == "__main__":
    main()
