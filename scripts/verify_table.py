#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how faithfully this machine emulates: the table of docs/results/fidelity.md.

    scripts/verify_table.py [--runs N] [--rates RATE...] [--topology TOPOLOGY] [--program FILE]

Runs `thinpipe verify` N times at each cap of the bottlenecks and prints the range of each quantity over all directions and
runs, relative to what was specified. Takes some 85 seconds per run with three-switch. Nothing else should run on the machine.
Exits with 1 if a run found a deviation, which it then prints.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = [
    "goodput of one flow",
    "goodput of four flows",
    "goodput, both directions at once",
    "rate of all frames, both directions",
    "1 MiB after a pause",
    "64 KiB after a pause",
    "evenness of four flows",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rates", nargs="+", default=["100 Mbit/s", "500 Mbit/s", "1 Gbit/s"])
    parser.add_argument("--topology", default="three-switch")
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "thinpipe")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    print("| cap | " + " | ".join(COLUMNS) + " |")
    print("| :--- |" + " ---: |" * len(COLUMNS), flush=True)
    deviations = []
    for rate in options.rates:
        measurements = [one for _ in range(options.runs) for one in verify(options, rate)]
        print(f"| {rate} | " + " | ".join(ratios(measurements, what) for what in COLUMNS) + " |", flush=True)
        deviations += [f"{rate}: {one['subject']}: {one['what']}: {one['note']}" for one in measurements if not one["ok"]]
    print(f"\n{len(deviations)} of the checks found a deviation.")
    print("".join(f"{line}\n" for line in deviations), end="")
    return 1 if deviations else 0


def verify(options: argparse.Namespace, rate: str) -> list[dict]:
    """Returns the measurements of one run."""
    command = [options.program, "verify", options.topology, "--set", f"bottleneck.rate={rate}", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if not result.stdout:  # otherwise, the status says whether all is as specified
        sys.exit(f"{' '.join(map(str, command))}: status {result.returncode}: {result.stderr.strip()}")
    return json.loads(result.stdout)["measurements"]


def ratios(measurements: list[dict], what: str) -> str:
    """Returns the lowest and the highest ratio of measured to specified."""
    found = sorted(
        one["measured"] / one["specified"]
        for one in measurements
        if one["what"] == what and one["specified"] and one["measured"] is not None
    )
    if not found:
        return "-"
    low, high = f"{found[0]:.3f}", f"{found[-1]:.3f}"
    return low if low == high else f"{low}-{high}"


if __name__ == "__main__":
    sys.exit(main())
