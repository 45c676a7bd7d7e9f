# SPDX-License-Identifier: Apache-2.0
"""Reads run records, and what `thinpipe report` judges of them, into tidy pandas tables.

Column names of the runs table are the dotted field names of docs/reference/record-fields.md ("provenance.git_commit",
"iteration_time_s.p50", "config.synchroniser.name"), so that records and figures share one vocabulary.
"""
from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Iterable

import pandas as pd

from shared import renamed_names
from shared.method_style import short_name
from shared.report import RESTRICTED, Group, InputError, Question, read_report

# Runs of these modes train without a network or a clock: every train_time_s in their records is null.
MODES_WITHOUT_TIME = ("converge",)
CURVE_COLUMNS = ("epoch", "iteration", "train_time_s", "train_loss", "test_loss", "test_accuracy")
# Columns that every runs table has, even if none of its records has the field.
RUN_COLUMNS = (
    "run_id",
    "experiment",
    "status",
    "mode",
    "error.message",
    "iterations",
    "iteration_time_s.mean",
    "compression.encode_cpu_s",
    "compression.decode_cpu_s",
    "plan.all_reduce_compatible",
    "fidelity.verdict",
    "network_events",
    "provenance.git_commit",
    "provenance.dirty",
    "provenance.cpu",
    "provenance.cores",
    "provenance.memory_bytes",
    "provenance.gpu",
    "provenance.kernel",
    "provenance.started_at",
    "config.seed",
    "config.workers",
    "config.bottleneck.rate",
    "config.topology.links",
    "config.collective.name",
    "config.training.evaluate_every_iterations",
    "config.dataset.name",
    "config.model.name",
    "config.synchroniser.name",
    "config.trainer.command",
)
# Columns of the runs table from the report, and their names there.
JUDGED = {
    "target": "target",
    "hold": "hold",
    "target_preset": "target_preset",
    "target_time_s": "time_to_accuracy_s",
    "restricted_target_time_s": "restricted_time_to_accuracy_s",
    "target_iteration": "iterations_to_target",
    "first_touch_iteration": "first_touch_iteration",
    "best_level": "best_level",
    "final_level": "final_level",
    "fidelity.verdict": "fidelity",
    "iterations_per_s": "iterations_per_s",
    "warnings": "warnings",
}
# Columns from the report for each baseline, by the beginnings of their names.
OF_BASELINES = (
    "baseline_",
    *(
        f"{kind}{ratio}"
        for kind in ("", RESTRICTED)
        for ratio in ("speed_up_over_", "relative_time_to_", "convergence_speed_over_")
    ),
)
SEED_AXIS = "seed"
METHOD_AXIS = "method"


@dataclass(frozen=True)
class Results:
    """An experiment's records.

    directory: the folder, or the exported file, that was read.
    runs:    one row per run, including failed and interrupted ones, in order of method. Columns beside the record's
             fields: "method" (names the curve), "method_name" (the method itself, which decides its style), "other_axes"
             (the other swept values, without the seed), "end_time_s" (of its curve), and from the report: JUDGED,
             "reached", "group" (a key of `groups`), and those that begin with OF_BASELINES. "key" tells runs apart, also
             those with one run_id, which may have records of their own in several folders or experiments.
    curves:  one row per evaluation: key and CURVE_COLUMNS.
    rows:    the report's row of each run, by its key.
    groups:  the report's summaries of runs that differ only in their seed.
    spread_note, bounds_note: the meaning of intervals, and of the signs of bounds.
    superseded: messages about runs left out because a newer run with another configuration has the same labels.
    """

    directory: Path
    runs: pd.DataFrame
    curves: pd.DataFrame
    rows: tuple[dict[str, Any], ...]
    groups: dict[str, Group]
    spread_note: str
    bounds_note: str = ""
    superseded: tuple[str, ...] = ()

    def only(self, keep: pd.Series) -> Results:
        """Returns these results reduced to the runs for which `keep` is true, with their curves."""
        runs = self.runs[keep].reset_index(drop=True)
        curves = self.curves[self.curves.key.isin(runs.key)]
        return replace(self, runs=runs, curves=curves)

    def group(self, runs: pd.DataFrame) -> Group:
        """Returns the report's summary of these runs, which differ only in their seed."""
        names = runs.group.unique()
        if len(names) != 1:
            labels = ", ".join(self.groups[name].entry["label"] for name in names)
            raise InputError(f"{self.directory}: {len(names)} groups of runs where one is needed: {labels}")
        return self.groups[names[0]]


def load(directory: Path | str, question: Question = Question(), every_run: bool = False) -> Results:
    """Reads the records in `directory`, a results folder or an exported file, that `thinpipe report` reads too, and its
    judgement of them. With every_run, no run is superseded. Raises InputError, with the report's message, if there is no
    record."""
    directory = Path(directory)
    return joined(directory, read_report(directory, question), every_run)


def joined(directory: Path, report: dict[str, Any], every_run: bool = False) -> Results:
    """Returns the records in `directory`, with the report's judgement of them."""
    rows, superseded = (report["runs"], ()) if every_run else newest_of_each_label(report["runs"])
    records = read_records(directory, set(map(identity, rows)))
    pairs = []
    for row in rows:
        if not records[identity(row)]:
            raise InputError(f"{directory}: lacks the run {row['run_id']} of the report; make the report of the same results")
        pairs.append((records[identity(row)].pop(0), row))
    pairs.sort(key=lambda pair: sort_key(pair[0]))
    current = [record for record, _ in pairs]
    method_names = [configured_method(record) for record in current]  # before flat_part() simplifies the trainer
    runs = pd.json_normalize([flat_part(record) for record in current], sep=".")
    runs = runs.reindex(columns=[*runs.columns, *(name for name in RUN_COLUMNS if name not in runs.columns)])
    judged = pd.DataFrame([judged_part(row) for _, row in pairs], index=runs.index).assign(
        method=[method_of(record) for record in current],
        method_name=method_names,
        other_axes=[other_axes_of(record) for record in current],
        key=range(len(current)),
        end_time_s=pd.to_numeric(pd.Series([end_time_s(record) for record in current], dtype=object)),
    )
    return Results(
        directory,
        pd.concat([runs.drop(columns=judged.columns, errors="ignore"), judged], axis=1),
        curves_of(current),
        tuple(row for _, row in pairs),
        {group_of(entry): Group(entry) for entry in report["groups"]},
        report["spread"],
        report.get("bounds", ""),
        superseded,
    )


def read_records(results: Path, wanted: set[tuple[str, str]]) -> defaultdict[tuple[str, str], list[dict[str, Any]]]:
    """Returns the wanted records, those of one run in the order of the report's rows: by their start. As in the report, the
    first of a run in an experiment's folder counts, and copies of a record in other folders do not. The report names
    records that it cannot read; they are not wanted."""
    records: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    known: set[tuple[Path, tuple[str, str]]] = set()
    for folder, text in record_texts(results):
        try:
            record = json.loads(text)
            name = identity(record)
        except (ValueError, TypeError, KeyError):
            continue
        if name in wanted and (folder, name) not in known and record not in records[name]:
            records[name].append(record)
            known.add((folder, name))
    for of_run in records.values():
        of_run.sort(key=lambda record: record["provenance"].get("started_at", ""))
        for record in of_run:
            renamed_names.upgrade(record, "record")
    return records


def record_texts(results: Path) -> Iterable[tuple[Path, bytes]]:
    """Returns the text of each record and its experiment's folder, in the order of the report: run folders before exported
    files."""
    if results.is_file():
        yield from ((results, line) for line in results.read_bytes().splitlines())
        return
    for pattern in ("*/run.json", "*/*/run.json"):
        yield from ((file.parents[1], file.read_bytes()) for file in sorted(results.glob(pattern)))
    for pattern in ("records.jsonl", "*/records.jsonl"):
        for file in sorted(results.glob(pattern)):
            yield from ((file.parent, line) for line in file.read_bytes().splitlines())


def identity(run: dict[str, Any]) -> tuple[str, str]:
    """Returns the key of a record or of a row of the report."""
    return run["experiment"], run["run_id"]


def group_of(entry: dict[str, Any]) -> str:
    return json.dumps([entry["experiment"], entry["group"], entry["target"], entry["hold"]])


def newest_of_each_label(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Keeps, for each mode and set of labels, the newest configuration and its repetitions with other seeds.

    After an experiment file was edited, its folder has runs of both versions under the same labels. A figure with
    both, or with both joined as repetitions, would be wrong. The second result names the runs left out.
    """
    newest = {comparison_key(row): row for row in rows}  # the report is in order of start
    superseded = tuple(
        f"run {row['run_id']} ('{row['label']}') is left out: run {winner['run_id']} is newer and has the same labels but "
        "another configuration"
        for row in rows
        if row["group"] != (winner := newest[comparison_key(row)])["group"]
    )
    return [row for row in rows if row["group"] == newest[comparison_key(row)]["group"]], superseded


def comparison_key(row: dict[str, Any]) -> str:
    labels = {axis: value for axis, value in row["labels"].items() if axis != SEED_AXIS}
    return json.dumps([row["mode"], labels], sort_keys=True)


def judged_part(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the columns from the report. Times that are null become NaN."""
    numbers = {column: row[name] for column, name in JUDGED.items()}
    numbers = {column: math.nan if value is None else value for column, value in numbers.items()}
    baselines = {name: value for name, value in row.items() if name.startswith(OF_BASELINES)}
    return {**numbers, **baselines, "reached": row["reached"] is True, "group": group_of(row)}


def end_time_s(record: dict[str, Any]) -> float | None:
    return record["curve"][-1]["train_time_s"] if record["curve"] else None


def sort_key(record: dict[str, Any]) -> tuple[Any, ...]:
    """Sorts dense first, then fp16, then the others by name. Reruns and interruptions do not change this order."""
    first = ("dense", "fp16")
    name = configured_method(record)
    rank = first.index(name) if name in first else len(first)
    return (
        rank,
        method_of(record),
        json.dumps(other_axes_of(record)),
        str(record["config"].get("seed")),
        record["run_id"],
    )


def method_of(record: dict[str, Any]) -> str:
    """Returns the name of the run's curve: its "method" label or, if there is no such axis, all its labels."""
    labels = {axis: value for axis, value in record["labels"].items() if axis != SEED_AXIS}
    if METHOD_AXIS in labels:
        return as_text(labels[METHOD_AXIS])
    return ", ".join(as_text(value) for value in labels.values()) or configured_method(record)


def configured_method(record: dict[str, Any]) -> str:
    """Returns the method's name in the configuration: the trainer's own if it states one, otherwise the synchroniser's.

    A script that names no method is one itself.
    """
    trainer = record["config"].get("trainer")
    own = trainer.get("method") if isinstance(trainer, dict) else None
    program = trainer.get("program") if isinstance(trainer, dict) else trainer
    if own is None and isinstance(program, str) and Path(program).suffix:
        own = Path(program).stem
    return own or short_name(record["config"]["synchroniser"]["name"])


def other_axes_of(record: dict[str, Any]) -> dict[str, str]:
    """Returns the swept axes except method and seed. Empty without a method axis: the labels then name the curve."""
    labels = record["labels"]
    if METHOD_AXIS not in labels:
        return {}
    return {axis: as_text(labels[axis]) for axis in sorted(labels) if axis not in (METHOD_AXIS, SEED_AXIS)}


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def flat_part(record: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields with one value per run: without curves, targets, labels and null."""
    if isinstance(trace := record["config"].get("rate_trace"), dict):
        trace.setdefault("clock", "wall")  # older records: all traces followed wall time
    if isinstance(trainer := record["config"].get("trainer"), dict) and "hook" in trainer:
        record["config"]["trainer"] = trainer["program"]  # the hook is the method; without one, this is the trainer
    skipped = ("curve", "targets", "labels")
    return {key: value for key, value in record.items() if key not in skipped and value is not None}


def curves_of(records: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(
        [
            {"key": key, **{name: point.get(name) for name in CURVE_COLUMNS}}
            for key, record in enumerate(records)
            for point in record["curve"]
        ],
        columns=["key", *CURVE_COLUMNS],
    )
    frame[list(CURVE_COLUMNS)] = frame[list(CURVE_COLUMNS)].apply(pd.to_numeric)
    return frame
