# SPDX-License-Identifier: Apache-2.0
"""Runs one way of exchange_benchmark, once, with small vectors: workers check the sum, and the benchmark the counters.

WAY "refusals": what the benchmark prints without a library, and that it refuses workers that bypass the network.

Usage: exchange_test.py PATH/exchange_benchmark WAY   (exit status 77: skipped, the reason on standard output)
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WORKERS = 8
MB = 1  # the smallest vectors whose traffic is printed

# A worker that reports times without a network.
PRETENDER = """#!/bin/sh
echo '{"began_s": [1], "ended_s": [2], "busy_s": 1, "library": "pretender"}'
"""


def run(benchmark: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [benchmark, "--rates", "500", "--sizes", str(MB), "--repetitions", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def rows(markdown: str) -> list[list[str]]:
    """Returns the cells of every line of a table."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in markdown.splitlines() if line.startswith("|")]


def test_way(benchmark: str, way: str) -> None:
    result = run(benchmark, "--ways", way)
    assert result.returncode == 0, result.stdout + result.stderr
    head, _, times, _, _, (name, library, traffic) = rows(result.stdout)
    assert (head[-1], name, times[0]) == (way, way, str(WORKERS)), result.stdout
    if library.startswith("not installed: "):
        assert times[-1] == "not installed", result.stdout
        print(f"SKIPPED: {way} is {library}")
        sys.exit(77)
    print(f"{way}: {library}, {times[-1]}, {traffic}")
    assert any(character.isdigit() for character in library) or library == "Thinpipe", library
    # Every all-reduce carries the vector over a bottleneck once; the best of rings of eight, 1.75 times; headers, the
    # acknowledgements of the other direction and the start of a job add to that.
    assert 1 <= float(traffic) < 4, result.stdout


def test_missing_library(benchmark: str) -> None:
    os.environ.pop("THINPIPE_CURRENT_PYTORCH", None)
    result = run(benchmark, "--ways", "island", "pytorch2")
    assert result.returncode == 0, result.stderr
    table = rows(result.stdout)
    assert table[2][-1] == "not installed", result.stdout
    assert table[-1][:2] == ["pytorch2", 'not installed: give --current-pytorch "$(scripts/current_pytorch.sh)"'], table
    assert table[-2][0] == "island", result.stdout  # the others are measured
    assert re.search(r"^exchange_benchmark · cpu .+ \(\d+ cores\) · commit \w+", result.stdout, re.M), result.stdout


def test_unused_network(benchmark: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pretender = Path(folder) / "python3"
        pretender.write_text(PRETENDER, encoding="utf-8")
        pretender.chmod(0o755)
        result = run(benchmark, "--ways", "pytorch2", "--current-pytorch", str(pretender))
    assert result.returncode == 1, result.stdout
    assert "pytorch2: left->middle sent" in result.stderr, result.stderr
    assert "the workers did not use the network" in result.stderr, result.stderr


def main() -> None:
    benchmark, way = sys.argv[1:]
    if not Path(benchmark).exists():
        print(f"SKIPPED: {benchmark} is not built; build the target benchmarks")
        sys.exit(77)
    if way == "refusals":
        test_missing_library(benchmark)
        test_unused_network(benchmark)
    else:
        test_way(benchmark, way)


if __name__ == "__main__":
    main()
