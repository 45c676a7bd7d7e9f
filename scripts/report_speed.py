#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long `thinpipe report` takes, and how long `thinpipe run` takes to recognise a finished sweep.

    scripts/report_speed.py [--runs N] [--seeds N] [--program FILE]

Makes records (default 10,000) from those of harness/tests/data/quickstart: several methods, several caps, and for each
method and cap a number of seeds (default 8). Prints seconds, CPU seconds (including those of the trainer that plans),
peak memory, and the ratio to the time that Python's json takes to parse the same files.
"""
from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
METHODS = ["dense", "fp16", "topk 0.1", "topk 0.01", "pactrain", "pactrain ternary"]
CAPS = ["100 Mbit/s", "200 Mbit/s", "500 Mbit/s", "1 Gbit/s"]
# A sweep that takes almost no time to plan, so that the time to recognise its records is measured.
SWEEP = {
    "name": "finished",
    "base": {
        "topology": "three-switch",
        "model": {"name": "mlp", "hidden": [4]},
        "dataset": {"name": "synthetic", "train_examples": 1024},
        "training": {"batch_size_per_worker": 4},
        "pretraining": {"iterations": 0},
    },
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "thinpipe")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure_report(options.program, Path(folder) / "report", options.runs, options.seeds)
        measure_sweep(options.program, Path(folder), options.runs)
    return 0


def measure_report(program: Path, folder: Path, runs: int, seeds: int) -> None:
    models = reference_records()
    for i in range(runs):
        write_record(folder, varied(models, i, seeds), f"{i:016x}")
    parsing_s = parse_all(folder)
    page = folder.parent / "page.html"
    for arguments in ([], ["--csv"], ["--json"], ["--html", page]):
        name = " ".join(["report", *arguments[:1]])
        show(name, runs, measured([program, "report", folder, *arguments]), parsing_s)
    beside = sum(file.stat().st_size for file in page.with_suffix(".curves").glob("*")) if runs > 200 else 0
    print(f"the page has {page.stat().st_size / 1e6:.1f} MB; the curves beside it have {beside / 1e6:.1f} MB")


def measure_sweep(program: Path, folder: Path, runs: int) -> None:
    seeds = max(1, runs // len(CAPS))
    sweep = SWEEP | {"sweep": {"bottleneck.rate": CAPS, "seed": {"from": 1, "to": seeds, "step": 1}}}
    experiment = folder / "finished.json"
    experiment.write_text(json.dumps(sweep), encoding="utf-8")
    plan = measured([program, "plan", "--no-measuring", experiment])
    planned = subprocess.run(
        [program, "plan", "--no-measuring", "--json", experiment], check=True, capture_output=True, text=True
    )
    model = reference_records()[0]
    for row in json.loads(planned.stdout):
        record = copy.deepcopy(model)
        record.update(config=row["config"], label=row["label"], labels=row["labels"])
        write_record(folder / "results" / "finished", record, row["run_id"])
    parsing_s = parse_all(folder / "results" / "finished")
    finished = [program, "run", experiment, "--results", folder / "results"]
    show("a finished sweep", seeds * len(CAPS), measured(finished), parsing_s)
    print(f"`thinpipe plan` alone: {plan}")


def reference_records() -> list[dict]:
    exported = ROOT / "harness" / "tests" / "data" / "quickstart" / "records.jsonl"
    records = [json.loads(line) for line in exported.read_bytes().splitlines()]
    return sorted(records, key=lambda record: METHODS.index(record["label"]))


def varied(models: list[dict], i: int, seeds: int) -> dict:
    """Returns a record with the i-th combination of a method, a cap and a seed."""
    record = copy.deepcopy(models[i % len(models)])
    cap, seed = f"{100 + i // (len(models) * seeds)} Mbit/s", i // len(models) % seeds + 1
    record["config"]["seed"], record["config"]["bottleneck"] = seed, {"rate": cap}
    record["labels"] |= {"bottleneck.rate": cap, "seed": f"seed {seed}"}
    record["label"] += f", {cap}, seed {seed}"
    return record


def write_record(folder: Path, record: dict, run_id: str) -> None:
    record["run_id"] = run_id
    (folder / run_id).mkdir(parents=True)
    (folder / run_id / "run.json").write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def parse_all(folder: Path) -> float:
    began = time.monotonic()
    for file in folder.glob("*/run.json"):
        json.loads(file.read_bytes())
    return time.monotonic() - began


@dataclass
class Cost:
    seconds: float
    cpu_s: float
    peak_bytes: int

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s ({self.cpu_s:.2f} s of CPU), {self.peak_bytes / 1e6:.0f} MB"


def measured(command: list) -> Cost:
    """Runs the program and returns its cost, children included; the peak is that of the largest process."""
    began = time.monotonic()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        child = subprocess.Popen([str(word) for word in command], stdout=nowhere, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} exited with status {child.returncode}")
    return Cost(time.monotonic() - began, usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss)


def show(name: str, runs: int, cost: Cost, parsing_s: float) -> None:
    print(
        f"{name}: {runs} records in {cost}; "
        f"{cost.seconds / parsing_s:.2f} times the {parsing_s:.2f} s that Python takes to parse them"
    )


if __name__ == "__main__":
    sys.exit(main())
