#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what watching a run costs: the time of an iteration with the time series of the links, the samples of the TCP
connections and the times of all workers, as by default, over the time without them.

    scripts/watching_cost.py [--rounds N] [--experiment FILE] [--program FILE]

Without --experiment, runs two small live runs: one that the links limit, and one that compute on shared cores limits, with
short iterations. A round has two runs of each, with and without watching, in changing order. Prints the ratio of the median
iteration times, and its 95 % confidence interval over the rounds. Nothing else should run on the machine.
"""
from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WITHOUT = ["--link-samples", "0", "--no-connections", "--no-worker-times"]
BASE = {
    "topology": "three-switch",
    "workers": 4,
    "dataset": {"name": "synthetic", "channels": 1, "height": 28, "width": 28, "train_examples": 3200, "test_examples": 100},
    "training": {"epochs": 4, "batch_size_per_worker": 8, "evaluate_every_iterations": 400},
    "pretraining": {"iterations": 0},
}
CASES = {
    "links": {"base": BASE | {"model": {"name": "mlp"}, "bottleneck": {"rate": "200 Mbit/s"}}},
    "compute": {
        "base": BASE
        | {"model": {"name": "mlp", "hidden": [64]}, "bottleneck": {"rate": "1 Gbit/s"}}
        | {"training": BASE["training"] | {"epochs": 30, "evaluate_every_iterations": 3000}},
    },
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--experiment", type=Path, help="an experiment of a single run instead, of mode live or replay")
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "thinpipe")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds must be at least 2: an interval needs several ratios")
    with tempfile.TemporaryDirectory() as folder:
        cases = {"experiment": options.experiment} if options.experiment else written_cases(Path(folder))
        print("| limited by | iteration without (ms) | with (ms) | ratio | 95 % interval |")
        print("| :--- | ---: | ---: | ---: | ---: |")
        for name, experiment in cases.items():
            rounds = [one_round(options.program, experiment, Path(folder), i) for i in range(options.rounds)]
            print(row(name, rounds), flush=True)
    return 0


def written_cases(folder: Path) -> dict[str, Path]:
    paths = {}
    for name, experiment in CASES.items():
        paths[name] = folder / f"{name}.json"
        paths[name].write_text(json.dumps({"name": name, **experiment}), encoding="utf-8")
    return paths


def one_round(program: Path, experiment: Path, folder: Path, number: int) -> tuple[float, float]:
    """Returns the median iteration time without and with watching. Every other round begins with the other one."""
    measured = {}
    for watches in (False, True) if number % 2 == 0 else (True, False):
        measured[watches] = iteration_time_s(program, experiment, folder / "results", [] if watches else WITHOUT)
    return measured[False], measured[True]


def iteration_time_s(program: Path, experiment: Path, results: Path, arguments: list[str]) -> float:
    # On a busy machine, workers of the lowest priority may be silent for long.
    command = [program, "run", experiment, "--results", results, "--fresh", "--hang-timeout", "1 min", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {ended.returncode}: {ended.stderr[-2000:]}")
    records = [json.loads(path.read_text(encoding="utf-8")) for path in results.glob("*/*/run.json")]
    newest = max((each for each in records if each["mode"] != "converge"), key=lambda each: each["provenance"]["started_at"])
    return newest["iteration_time_s"]["p50"]


def row(name: str, rounds: list[tuple[float, float]]) -> str:
    logarithms = [math.log(watched / unwatched) for unwatched, watched in rounds]
    mean = statistics.fmean(logarithms)
    # Student's t for up to ten rounds, a little wide for more.
    quantiles = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26]
    quantile = quantiles[min(len(rounds) - 1, len(quantiles)) - 1]
    half = quantile * statistics.stdev(logarithms) / math.sqrt(len(rounds))
    without_ms, with_ms = (1e3 * statistics.fmean(times) for times in zip(*rounds))
    interval = f"{math.exp(mean - half):.3f} to {math.exp(mean + half):.3f}"
    return f"| {name} | {without_ms:.2f} | {with_ms:.2f} | {math.exp(mean):.3f} | {interval} |"


if __name__ == "__main__":
    sys.exit(main())
