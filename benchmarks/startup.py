"""How long the command line takes to show version and help; the bar is half a second.

    python benchmarks/startup.py --repeats 10

The fastest of the repeats counts: it is the one that other processes disturbed least. Processor
time stands beside it, which a busy machine changes little.
"""

import argparse
import resource
import subprocess
import sys
import time

CALLS = (("--version",), ("--help",), ("fit", "--help"), ("bench", "run", "--help"))
BAR_SECONDS = 0.5


def seconds(words: tuple[str, ...]) -> float:
    clock = time.perf_counter()
    command = [sys.executable, "-m", "quietgraph", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - clock


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    repeats = parser.parse_args().repeats
    seconds(CALLS[0])  # compiles what was never imported before
    slow = False
    for words in CALLS:
        before = processor_seconds()
        times = sorted(seconds(words) for _ in range(repeats))
        processor = (processor_seconds() - before) / repeats
        slow |= times[0] > BAR_SECONDS
        print(
            f"quietgraph {' '.join(words):20} fastest {times[0]:.2f} s, "
            f"median {times[len(times) // 2]:.2f} s, processor {processor:.2f} s "
            f"(bar {BAR_SECONDS} s)"
        )
    sys.exit(int(slow))


if __name__ == "__main__":
    main()
