# SPDX-License-Identifier: Apache-2.0
"""Quantities of committed results by name: of records, as the report and the runs table name them, or of JSON."""
from __future__ import annotations

import difflib
import json
import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable, Protocol, Sequence

import pandas as pd

from noise import noise_of
from prose.measured import Key, Number, Table
from shared.load import METHOD_AXIS, MODES_WITHOUT_TIME, SEED_AXIS, joined
from shared.report import RESTRICTED, InputError, Question, read_report

MODE_AXIS = "mode"
FOLDER_AXIS = "folder"
# Rows along these are averaged unless they are selected.
AVERAGED = (SEED_AXIS, FOLDER_AXIS)
EACH = "*"
# Quantities whose names end in that of a baseline.
OF_ITERATIONS = "convergence_speed_over"
RATIOS = ("speed_up_over", OF_ITERATIONS, "relative_time_to")
WITH_SET_UP = "_with_set_up"
OVER = (*RATIOS, *(f"{RESTRICTED}{name}" for name in RATIOS))
# Quantities of iterations' times; those of runs end in _s.
TIMES = ("iteration_time_s", "iterations_per_s", "measured_over_predicted")


class Source(Protocol):
    def quantity(self, name: str, selections: Sequence[str | int]) -> Table:
        """Returns the named quantity of the selected rows. Raises InputError if there is none."""


@dataclass(frozen=True)
class Row:
    """Runs that differ only in their seed, or one of them. judged: the report's entry."""

    key: dict[str, str]
    judged: dict[str, Any]
    runs: pd.DataFrame


class Records:
    """The records of one folder, or of repetitions in several."""

    def __init__(self, folders: Sequence[Path], question: Question) -> None:
        self.groups: list[Row] = []
        self.single: list[Row] = []
        self.columns: list[str] = []
        self.runs: list[pd.DataFrame] = []
        for folder in folders:
            self.read(folder, {FOLDER_AXIS: folder.name} if len(folders) > 1 else {}, question)

    def read(self, folder: Path, place: dict[str, str], question: Question) -> None:
        report = read_report(folder, question)
        results = joined(folder, report)
        self.columns += list(results.runs.columns)
        self.runs.append(results.runs)
        for group, runs in results.runs.groupby("group", sort=False):
            key = {**place, **key_of(runs.iloc[0])}
            self.groups.append(Row(key, results.groups[group].entry, runs))
            for at in range(len(runs)):
                run = runs.iloc[[at]]
                seed = {SEED_AXIS: str(run["config.seed"].iloc[0])}
                self.single.append(Row({**key, **seed}, results.rows[run["key"].iloc[0]], run))

    def quantity(self, name: str, selections: Sequence[str | int]) -> Table:
        if not any(name in row.judged for row in self.groups) and name not in self.columns:
            raise InputError(f"unknown quantity \"{name}\"{nearest(name, self.names())}")
        selected = dict(self.axis_and_value(each) for each in selections)
        rows = [(row, value_of(row, name)) for row in (self.single if SEED_AXIS in selected else self.groups)]
        # Such runs have no times; a time that is missing in another mode was not reached.
        rows = [each for each in rows if each[1] is not None or each[0].key[MODE_AXIS] not in MODES_WITHOUT_TIME]
        varying = axes_that_vary([row.key for row, _ in rows])
        for axis, value in selected.items():
            rows = self.matching(rows, axis, value)
        averaged = [axis for axis in AVERAGED if selected.get(axis) != EACH]
        dropped = {*averaged, *(axis for axis, value in selected.items() if value != EACH)}
        cells: dict[Key, list[Number | None]] = defaultdict(list)
        for row, number in rows:
            check_no_bound(row, name)
            cells[frozenset((a, v) for a, v in row.key.items() if a in varying and a not in dropped)].append(number)
        modes = frozenset(row.key[MODE_AXIS] for row, _ in rows)
        return Table({key: average(numbers) for key, numbers in cells.items()}, modes)

    def axis_and_value(self, selection: str | int) -> tuple[str, str]:
        axis, equals, value = str(selection).partition("=")
        known = axes_of(row.key for row in self.single)
        if equals and axis.strip() in known:
            return axis.strip(), value.strip()
        if str(selection) in self.values_of(METHOD_AXIS):
            return METHOD_AXIS, str(selection)
        if equals:
            raise InputError(f"unknown axis \"{axis.strip()}\"{nearest(axis, known)}")
        raise InputError(f"unknown method \"{selection}\"{nearest(str(selection), self.values_of(METHOD_AXIS))}")

    def matching(self, rows: list[Any], axis: str, value: str) -> list[Any]:
        if value == EACH:
            return rows
        found = [each for each in rows if each[0].key.get(axis) == value]
        if not found:
            known = sorted({each[0].key[axis] for each in rows if axis in each[0].key})
            raise InputError(f"no run has {axis}={value}{nearest(value, known)}")
        return found

    def values_of(self, axis: str) -> list[str]:
        return sorted({row.key[axis] for row in self.groups if axis in row.key})

    def names(self) -> list[str]:
        summaries = {name for row in self.groups for name in row.judged if value_of(row, name) is not None}
        return sorted(summaries | set(self.columns))


def key_of(run: pd.Series) -> dict[str, str]:
    return {METHOD_AXIS: run["method"], **run["other_axes"], MODE_AXIS: run["mode"]}


def value_of(row: Row, name: str) -> Number | None:
    """Returns the quantity of these runs: that of the report, otherwise the mean of a column of the runs table."""
    if name in row.judged:
        entry = row.judged[name]
        if isinstance(entry, dict) and "mean" in entry:
            return number(entry["mean"], row, name, entry.get("ci95_low"), entry.get("ci95_high"))
        if isinstance(entry, (int, float)):
            return number(float(entry), row, name)
        if entry is None:
            return None
    if name not in row.runs:
        return None
    values = pd.to_numeric(row.runs.loc[row.runs.status == "completed", name], errors="coerce")
    return number(values.mean() if len(values) else None, row, name)


def check_no_bound(row: Row, name: str) -> None:
    """Refuses what stands for only some of the runs, or is no more than a bound. The mean of only those runs that reached the
    target flatters a method that often misses it."""
    restricted = f"{RESTRICTED}{name}"
    reached, runs = row.judged.get("reached"), row.judged.get("runs")
    if reached is not None and runs is not None and 0 < reached < runs and restricted in row.judged:
        only = f"{name}: only {reached} of {runs} runs of {row.judged['label']} reached the target"
        raise InputError(f"{only}; {restricted} counts the others with their whole run, and is a bound")
    baseline = baseline_in(row, name)
    if baseline is None or name.startswith(RESTRICTED):
        return
    if row.judged.get(f"speed_up_over_{baseline}_is_lower_bound"):
        raise InputError(f"{name}: is only a bound, because {baseline} did not reach the target that {row.judged['label']} reached")
    summary = row.judged.get(name)
    if runs is not None and isinstance(summary, dict) and 0 < summary["count"] < runs:
        raise InputError(f"{name}: only {summary['count']} of {runs} runs of {row.judged['label']} have a value")


def number(
    value: float | None, row: Row, name: str, low: float | None = None, high: float | None = None
) -> Number | None:
    if value is None or math.isnan(value):
        return None
    return Number(value, abs(value) * relative_noise(row, name), low, high, verdicts_on(row, name))


def relative_noise(row: Row, name: str) -> float:
    if row.key[MODE_AXIS] == "simulate":
        return 0.0  # calculated
    noise = noise_of(row.runs)
    if noise is None:
        return 0.0
    if name.startswith(OVER):
        if name.removeprefix(RESTRICTED).startswith(OF_ITERATIONS):
            return 0.0
        return math.sqrt(2.0) * (noise.time_to_target or noise.iteration_time)
    if name.startswith(TIMES):
        return noise.iteration_time
    return noise.time_to_target or noise.iteration_time if name.endswith("_s") else 0.0


def verdicts_on(row: Row, name: str) -> frozenset[str]:
    """Returns the verdicts on the networks of the runs, and of the baseline of a ratio of times; none for what is no time,
    such as a ratio of iterations."""
    if baseline := baseline_in(row, name):
        of_times = not name.removeprefix(RESTRICTED).startswith(OF_ITERATIONS)
        judged = row.judged.get(f"speed_up_over_{baseline}_fidelity") if of_times else None
        return frozenset([judged]) if judged else frozenset()
    if not (name.startswith(TIMES) or name.endswith("_s")):
        return frozenset()
    return frozenset(row.runs["fidelity.verdict"].dropna())


def baseline_in(row: Row, name: str) -> str | None:
    """Returns the name of the baseline of a ratio to one; None if the quantity is no such ratio."""
    plain = name.removeprefix(RESTRICTED)
    for ratio in RATIOS:
        if plain.startswith(f"{ratio}_"):
            baseline = plain.removeprefix(f"{ratio}_")
            # A method may be named so itself.
            known = f"speed_up_over_{baseline}_is_lower_bound" in row.judged
            return baseline if known else baseline.removesuffix(WITH_SET_UP)
    return None


def average(numbers: Sequence[Number | None]) -> Number | None:
    if len(numbers) == 1 or None in numbers:
        return None if None in numbers else numbers[0]
    total = sum(numbers[1:], start=numbers[0])
    return Number(total.value / len(numbers), total.noise / len(numbers), verdicts=total.verdicts)


def axes_of(keys: Iterable[dict[str, str]]) -> set[str]:
    return {axis for key in keys for axis in key}


def axes_that_vary(keys: Sequence[dict[str, str]]) -> set[str]:
    return {axis for axis in axes_of(keys) if len({key.get(axis) for key in keys}) > 1}


class Json:
    """A JSON file that is no record, such as a benchmark's."""

    def __init__(self, path: Path) -> None:
        try:
            self.document = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read as JSON: {error}") from error

    def quantity(self, name: str, selections: Sequence[str | int]) -> Table:
        """Returns the number at this path; a selection is an index, a member, or "member=value" of an element."""
        place = self.document
        for step in [*(part for part in name.split(".") if part), *selections]:
            place = part_of(place, step)
        if isinstance(place, bool) or not isinstance(place, (int, float)):
            raise InputError(f"{name}: is no number")
        return Table.of(float(place))


def part_of(place: Any, step: str | int) -> Any:
    if isinstance(place, dict):
        if step not in place:
            raise InputError(f"unknown member \"{step}\"{nearest(str(step), place)}")
        return place[step]
    if not isinstance(place, list):
        raise InputError(f"\"{step}\" is a member of a value that has none")
    if isinstance(step, int):
        if not 0 <= step < len(place):
            raise InputError(f"unknown index {step}; there are {len(place)} elements")
        return place[step]
    member, equals, value = step.partition("=")
    found = [each for each in place if equals and isinstance(each, dict) and str(each.get(member)) == value]
    if len(found) != 1:
        known = [f"{member}={each[member]}" for each in place if isinstance(each, dict) and member in each]
        raise InputError(f"{len(found)} elements have {step}{nearest(step, known)}")
    return found[0]


def nearest(name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=4, cutoff=0.4) or [each for each in known if name in each][:4]
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return f"; known: {', '.join(known[:20])}" if known else ""
