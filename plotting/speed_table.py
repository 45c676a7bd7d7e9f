#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates how fast each method encodes and decodes, and whether that costs more time than it saves."""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Mapping, Sequence

from shared.destination import add_destination, write_to_destination
from shared.markdown_table import UNKNOWN, in_markdown
from shared.number_text import three_digits
from shared.report import InputError

BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
SMALL, RESNET50, LARGE = 1 << 20, 25_000_000, 1 << 26
HEADINGS = [
    "method",
    "GB/s, 1 Mi",
    "time / memcpy, 1 Mi",
    "GB/s, 64 Mi",
    "time / memcpy, 64 Mi",
    "encode (ms), 25 M",
    "decode (ms), 25 M",
    "saved (ms), 25 M",
    "cost / saved",
]
NOTES = [
    "One of eight workers, on one thread, encodes its gradient and decodes the messages of all eight; time in collectives "
    "is not included. ok_topk, zen and both omnireduce run with a single worker, because their peers send different "
    "messages. For sbc and diloco, times are of one exchange, which happens once in several steps. GB/s are of float32 "
    "gradient.",
    "Saved: the time of a dense ring all-reduce of 25 million entries among eight workers over 1 Gbit/s, minus the time of "
    "the method's bytes. Cost / saved: encode plus decode time over the saved time; above 1, in bold, the method costs more "
    "time than it saves. Even below 1 it may not overlap with communication.",
]

Runs = Mapping[tuple[str, int], Mapping[str, Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="speed_table.py",
        description="Tabulate how fast methods encode and decode, from the output of synchroniser_benchmarks.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example, which also creates the file:\n  scripts/encode_speed.sh\n\n"
        "exit codes: 0 made, 1 the table could not be written, 2 wrong input",
    )
    parser.add_argument("file", type=Path, help="JSON, from synchroniser_benchmarks --benchmark_out=FILE")
    add_destination(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    return write_to_destination("speed_table", lambda: table(read(options.file)), options, BEGIN, END)


def read(path: Path) -> dict[str, Any]:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if not isinstance(result, dict) or "benchmarks" not in result or "context" not in result:
        raise InputError(f"{path}: is not the output of a benchmark with --benchmark_out=FILE")
    return result


def table(result: Mapping[str, Any]) -> str:
    runs = runs_of(result)
    methods = list(dict.fromkeys(method for method, _ in runs))
    if not methods:
        raise InputError("the file has no benchmark of synchronise/")
    lines = [HEADINGS, [":---"] + ["---:"] * (len(HEADINGS) - 1)]
    lines += [[in_markdown(method), *row(method, runs)] for method in methods]
    rows = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return "\n".join([rows, "".join(f"{note}\n" for note in NOTES), in_markdown(origin(result["context"])) + "\n"])


def runs_of(result: Mapping[str, Any]) -> Runs:
    """Returns the runs by method and number of entries, from names such as synchronise/topk_0.01/1048576/manual_time."""
    runs = {}
    for run in result["benchmarks"]:
        parts = run["name"].split("/")
        if parts[0] == "synchronise":
            if run.get("error_occurred"):
                raise InputError(f"{run['name']} failed: {run.get('error_message')}")
            runs[parts[1], int(parts[2])] = run
    return runs


def row(method: str, runs: Runs) -> list[str]:
    cells = []
    for size in (SMALL, LARGE):
        run = runs.get((method, size))
        cells += [three_digits(run["bytes_per_second"] / 1e9), three_digits(run["times_memcpy"])] if run else [UNKNOWN] * 2
    run = runs.get((method, RESNET50))
    if not run:
        return [*cells, *[UNKNOWN] * 4]
    share = run.get("share_of_saving")
    return [
        *cells,
        three_digits(run["encode_ms"]),
        three_digits(run["decode_ms"]),
        three_digits(1e3 * run["saved_s"]) if run["saved_s"] > 0 else "none",
        UNKNOWN if share is None else (f"**{three_digits(share)}**" if share > 1 else three_digits(share)),
    ]


def origin(context: Mapping[str, Any]) -> str:
    cpu = context.get("cpu", "unknown cpu")
    return (
        f"synchroniser_benchmarks · cpu {cpu} ({context['num_cpus']} cores), one used · "
        f"commit {context.get('commit', 'unknown')} · run on {context['date'][:10]}"
    )


if __name__ == "__main__":
    sys.exit(main())
