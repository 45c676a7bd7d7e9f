#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much the times of one run vary on a machine when it is repeated: with the same seed, all else being equal.

scripts/noise.sh repeats a run and calls this program, which writes the file NOISE. Tables print the noise of their machine,
and leave out the digits below it.
"""
from __future__ import annotations

import argparse
import functools
import json
import math
import os
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

import pandas as pd

from shared.load import Results, load
from shared.report import InputError, Question, add_report_options

NOISE = Path(__file__).resolve().parents[1] / "results" / "reference" / "noise.json"
SCHEMA_VERSION = 1
# Of a run: the quantity's name in the file, and its column in a runs table.
QUANTITIES = {"time_to_target": "target_time_s", "iteration_time": "iteration_time_s.mean"}


@dataclass(frozen=True)
class Noise:
    """The relative standard deviations of a machine's times, and the run whose repetitions showed them."""

    cpu: str
    cores: int
    experiment: str
    label: str
    repetitions: int
    commit: str
    date: str
    time_to_target: float | None
    iteration_time: float

    def largest(self) -> float:
        return max(self.time_to_target or 0.0, self.iteration_time)

    def note(self) -> str:
        """Returns the line below a table that leaves out the digits below this noise."""
        return f"{self.sentence()}; digits below it are left out."

    def sentence(self) -> str:
        """Returns the noise in words, without a full stop."""
        times = [f"{100 * self.iteration_time:.2g} % in iteration time"]
        if self.time_to_target is not None:
            times.insert(0, f"{100 * self.time_to_target:.2g} % in time to target")
        return (
            f"Noise: {self.repetitions} repetitions of {self.experiment}, {self.label}, on this machine had a standard "
            f"deviation of {' and '.join(times)}"
        )


UNMEASURED = "Noise of this machine: not measured (scripts/noise.sh)."


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="noise.py",
        description="Compare repetitions of one run, and write how much its times vary.",
        epilog="exit codes: 0 written, 2 wrong input",
    )
    parser.add_argument("results", type=Path, nargs="+", help="one results folder per repetition, with the same run")
    parser.add_argument("--update", type=Path, default=NOISE, help=f"the file to write into (default: {NOISE.name})")
    add_report_options(parser)
    options = parser.parse_args(arguments)
    try:
        noise = measured([load(folder, Question.of(options)) for folder in options.results])
        write(noise, options.update)
    except InputError as error:
        print(f"noise: {error}", file=sys.stderr)
        return 2
    print(noise.note())
    return 0


def measured(repetitions: Sequence[Results]) -> Noise:
    """Returns the noise of repetitions of one run. Raises InputError unless they are that."""
    if len(repetitions) < 2:
        raise InputError("noise needs two or more repetitions; name the results folder of each")
    runs = pd.concat([one_run(results) for results in repetitions], ignore_index=True)
    for name in ("run_id", "provenance.cpu", "provenance.cores", "provenance.git_commit"):
        if runs[name].nunique() != 1:
            raise InputError(f"the repetitions differ in {name}: {', '.join(map(str, runs[name].unique()))}")
    first = runs.iloc[0]
    return Noise(
        cpu=str(first["provenance.cpu"]),
        cores=int(first["provenance.cores"]),
        experiment=str(first["experiment"]),
        label=str(first["label"]),
        repetitions=len(runs),
        commit=str(first["provenance.git_commit"]),
        date=str(max(runs["provenance.started_at"]))[:10],
        **{name: relative_deviation(runs[column]) for name, column in QUANTITIES.items()},
    )


def one_run(results: Results) -> pd.DataFrame:
    runs = results.runs[results.runs.status == "completed"]
    if len(runs) != 1:
        raise InputError(f"{results.directory}: has {len(runs)} completed runs, but a repetition is one run")
    return runs


def relative_deviation(values: pd.Series) -> float | None:
    if values.isna().any():
        return None
    return statistics.stdev(values) / statistics.mean(values)


def write(noise: Noise, path: Path) -> None:
    """Adds the noise to the file, in the place of an older one of the same machine."""
    others = [entry for entry in machines(path) if (entry["cpu"], entry["cores"]) != (noise.cpu, noise.cores)]
    document = {"schema_version": SCHEMA_VERSION, "machines": [*others, vars(noise)]}
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def machines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    document = json.loads(path.read_text(encoding="utf-8"))
    if document["schema_version"] != SCHEMA_VERSION:
        raise InputError(f"{path}: has schema_version {document['schema_version']}, but must have {SCHEMA_VERSION}")
    return document["machines"]


@functools.cache
def known() -> dict[tuple[str, int], Noise]:
    return {(entry["cpu"], entry["cores"]): Noise(**entry) for entry in machines(NOISE)}


def noise_of(runs: pd.DataFrame) -> Noise | None:
    """Returns the noise of the machine that measured the runs' times; of several machines, the noisiest. None if that of
    any is not known, or if no time was measured: those of simulations are calculated."""
    timed = runs[has_measured_time(runs)] if len(runs) else runs
    each = [known().get(key) for key in set(zip(timed["provenance.cpu"], timed["provenance.cores"]))]
    return None if not each or None in each else max(each, key=Noise.largest)


def has_measured_time(runs: pd.DataFrame) -> pd.Series:
    has_time = runs["target_time_s"].notna() | runs["iteration_time_s.mean"].notna()
    return has_time & (runs["mode"] != "simulate")


def decimals(size: float, noise: float) -> int:
    """Returns how many decimals of a number of this size are not below its relative noise; negative for tens."""
    return -math.floor(math.log10(noise * abs(size))) if noise > 0.0 and size else 9


if __name__ == "__main__":
    sys.exit(main())
