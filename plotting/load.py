"""Reads run records, results/<experiment>/*/run.json or a records.jsonl, into tidy pandas tables.

Column names of the runs table are the dotted field names of docs/results.md ("provenance.git_commit",
"iteration_time_s.p50", "config.synchroniser.name"), so that records and figures share one vocabulary.
"""
from __future__ import annotations

import difflib
import json
import math
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator

import pandas as pd

from target import Target

SCHEMA_VERSION = 1
EXPORTED_RECORDS = "records.jsonl"  # what `thinpipe export` writes, in a results folder
STATUSES = ("completed", "failed", "interrupted")
# Runs of these modes train without a network or a clock: every train_time_s in their records is null.
MODES_WITHOUT_TIME = ("converge",)
CURVE_COLUMNS = ("epoch", "iteration", "train_time_s", "train_loss", "test_loss", "test_accuracy")
TARGET_COLUMNS = ("metric", "value", "reached", "iteration", "train_time_s")
# Columns that every runs table has, even if none of its records has the field.
RUN_COLUMNS = (
    "run_id",
    "experiment",
    "status",
    "mode",
    "error.message",
    "iterations",
    "plan.all_reduce_compatible",
    "traffic.payload_bytes_per_worker",
    "compression.vnmse",
    "fidelity.verdict",
    "network_events",
    "provenance.git_commit",
    "provenance.dirty",
    "provenance.cpu",
    "provenance.cores",
    "provenance.started_at",
    "config.seed",
    "config.workers",
    "config.bottleneck.rate",
    "config.topology.links",
    "config.training.evaluate_every_iterations",
    "config.dataset.name",
    "config.model.name",
    "config.synchroniser.name",
)
SEED_AXIS = "seed"
METHOD_AXIS = "method"


class InputError(Exception):
    """The user's input is wrong; the message names the file or option, the rule and the remedy."""


@dataclass(frozen=True)
class Results:
    """An experiment's records.

    directory: the folder, or the exported file, that was read.
    runs:    one row per run, including failed and interrupted ones, in order of method. Columns beside the record's
             fields: "method" (names the curve) and "other_axes" (the other swept values, without the seed).
    curves:  one row per evaluation: run_id and CURVE_COLUMNS.
    targets: one row per run and target: run_id and TARGET_COLUMNS.
    superseded: messages about runs left out because a newer run with another configuration has the same labels.
    """

    directory: Path
    runs: pd.DataFrame
    curves: pd.DataFrame
    targets: pd.DataFrame
    superseded: tuple[str, ...] = ()

    def only(self, keep: pd.Series) -> Results:
        """Returns these results reduced to the runs for which `keep` is true, with their curves and targets."""
        runs = self.runs[keep].reset_index(drop=True)
        return Results(
            self.directory,
            runs,
            self.curves[self.curves.run_id.isin(runs.run_id)],
            self.targets[self.targets.run_id.isin(runs.run_id)],
            self.superseded,
        )


@dataclass(frozen=True)
class Source:
    """The place of a record for messages (FILE or FILE:LINE), its bytes, and the remedy if it is damaged."""

    place: str
    read: Callable[[], bytes]
    remedy: str


def load(directory: Path | str) -> Results:
    """Reads the records of the experiment in `directory`, a results folder or an exported file. Leaves broken records
    out and names them on standard error. Raises InputError, which names the first one, if all are broken."""
    directory = Path(directory)
    records: dict[str, dict[str, Any]] = {}
    places: dict[str, str] = {}
    broken = []
    for source in record_sources(directory):
        try:
            record = read_record(source)
        except InputError as error:
            broken.append(error)
            continue
        run_id = record["run_id"]
        if run_id not in records:
            records[run_id], places[run_id] = record, source.place
        elif record != records[run_id]:
            broken.append(InputError(f"{source.place}: is a second record of run {run_id}, which differs from {places[run_id]}"))
    if not records:
        raise broken[0]
    for error in broken:
        print(f"left out: {error}", file=sys.stderr)
    current, superseded = newest_of_each_label(list(records.values()))
    runs = pd.json_normalize([flat_part(record) for record in current], sep=".")
    runs = runs.reindex(columns=[*runs.columns, *(name for name in RUN_COLUMNS if name not in runs.columns)])
    runs["method"] = [method_of(record) for record in current]
    runs["other_axes"] = [other_axes_of(record) for record in current]
    return Results(
        directory,
        runs,
        rows_of(current, "curve", CURVE_COLUMNS),
        rows_of(current, "targets", TARGET_COLUMNS, target_row),
        superseded,
    )


def record_sources(directory: Path) -> list[Source]:
    """Returns the records of every run folder, then those of an exported file. Unfinished files of a running writer
    have other names."""
    if directory.suffix == ".jsonl" and directory.is_file():
        sources = exported_sources(directory)
        if not sources:
            raise InputError(f"{directory}: has no run record; write it again with 'thinpipe export'")
        return sources
    if directory.is_file():
        raise InputError(f"{directory}: is neither a results folder nor a file of exported records (*.jsonl)")
    if not directory.is_dir():
        near = difflib.get_close_matches(directory.name, folders_beside(directory), n=1)
        hint = f"; did you mean '{directory.parent / near[0]}'?" if near else ""
        raise InputError(f"{directory}: no such results folder{hint}")
    if (directory / "run.json").is_file():
        raise InputError(
            f"{directory}: is the folder of a single run; name the experiment's folder, "
            f"'{directory.resolve().parent}'"
        )
    files = sorted(path for path in directory.glob("*/run.json") if not path.parent.name.startswith("."))
    remedy = "delete the run's folder and run the experiment again, which keeps finished runs"
    sources = [Source(str(path), path.read_bytes, remedy) for path in files]
    if (directory / EXPORTED_RECORDS).exists():
        sources += exported_sources(directory / EXPORTED_RECORDS)
    if not sources:
        raise InputError(
            f"{directory}: has no run record (no */run.json or {EXPORTED_RECORDS}); "
            f"create some with 'thinpipe run experiments/{directory.resolve().name}.json'"
        )
    return sources


def exported_sources(path: Path) -> list[Source]:
    """Returns the non-empty lines of an exported file."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return [
        Source(f"{path}:{number}", partial(bytes, line), "write the file again with 'thinpipe export'")
        for number, line in enumerate(lines, 1)
        if line
    ]


def folders_beside(directory: Path) -> list[str]:
    parent = directory.parent
    return [entry.name for entry in parent.iterdir() if entry.is_dir()] if parent.is_dir() else []


def read_record(source: Source) -> dict[str, Any]:
    """Reads one record and checks the fields that figures depend on."""
    path = source.place
    try:
        record = json.loads(source.read().decode("utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: is not a complete JSON document ({error}); {source.remedy}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if not isinstance(record, dict):
        raise InputError(f"{path}: must contain a JSON object")
    check_version(record, path)
    check_fields(record, path)
    if isinstance(trace := record["config"].get("rate_trace"), dict):
        trace.setdefault("clock", "wall")  # older records: all traces followed wall time
    return record


def check_version(record: dict[str, Any], path: str) -> None:
    version = require(record, ("schema_version",), int, path)
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path}: /schema_version is {version}, written by a newer Thinpipe; this version reads up to "
            f"{SCHEMA_VERSION}: update the checkout whose plotting/ you use"
        )
    if version < 1:
        raise InputError(f"{path}: /schema_version must be at least 1, not {version}")


def check_fields(record: dict[str, Any], path: str) -> None:
    for name in ("run_id", "mode", "experiment", "status"):
        require(record, (name,), str, path)
    if record["status"] not in STATUSES:
        raise InputError(f"{path}: /status must be one of {', '.join(STATUSES)}, not '{record['status']}'")
    require(record, ("labels",), dict, path)
    require(record, ("config", "synchroniser", "name"), str, path)
    if record["status"] == "failed":
        require(record, ("error", "message"), str, path)
    timed = record["mode"] not in MODES_WITHOUT_TIME
    check_curve(require(record, ("curve",), list, path), path, timed)
    for index, entry in enumerate(require(record, ("config", "targets"), list, path)):
        require_target(Target.of_configuration, entry, f"/config/targets/{index}", path)
    for index, result in enumerate(require(record, ("targets",), list, path)):
        place = f"/targets/{index}"
        require_target(Target.of_result, result, place, path)
        if require_item(result, "reached", place, bool, path):
            require_number(result, "iteration", place, path)
            if timed:
                require_number(result, "train_time_s", place, path)


def check_curve(curve: list[Any], path: str, timed: bool) -> None:
    previous_s = 0.0
    for index, point in enumerate(curve):
        place = f"/curve/{index}"
        accuracy = require_number(point, "test_accuracy", place, path)
        if not 0.0 <= accuracy <= 1.0:
            raise InputError(f"{path}: {place}/test_accuracy must be from 0 to 1, not {accuracy}")
        if point.get("test_loss") is not None:
            require_number(point, "test_loss", place, path)
        require_number(point, "iteration", place, path)
        if not timed:
            continue
        train_time_s = require_number(point, "train_time_s", place, path)
        if train_time_s < previous_s:
            raise InputError(
                f"{path}: {place}/train_time_s must not decrease ({train_time_s} after {previous_s})"
            )
        previous_s = train_time_s


def require(record: dict[str, Any], keys: tuple[str, ...], kind: type, path: str) -> Any:
    value: Any = record
    place = ""
    for key in keys[:-1]:
        value = require_item(value, key, place, dict, path)
        place += f"/{key}"
    return require_item(value, keys[-1], place, kind, path)


def require_item(container: Any, key: str, place: str, kind: type, path: str) -> Any:
    if not isinstance(container, dict) or key not in container:
        raise InputError(f"{path}: {place}/{key} is missing; docs/results.md lists the fields of a record")
    value = container[key]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        names = {
            str: "a string",
            dict: "an object",
            list: "an array",
            int: "an integer",
            bool: "true or false",
        }
        raise InputError(f"{path}: {place}/{key} must be {names[kind]}, not {json.dumps(value)[:40]}")
    return value


def require_number(container: Any, key: str, place: str, path: str) -> float:
    value = require_item(container, key, place, object, path)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{path}: {place}/{key} must be a finite number, not {json.dumps(value)[:40]}")
    return value


def require_target(read: Callable[[Any], Target], entry: Any, place: str, path: str) -> Target:
    try:
        return read(entry)
    except ValueError as error:
        raise InputError(f"{path}: {place} {error}; docs/results.md lists the fields of a record") from error


def newest_of_each_label(records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Keeps, for each mode and set of labels, the newest configuration and its repetitions with other seeds.

    After an experiment file was edited, its folder has runs of both versions under the same labels. A figure with
    both, or with both joined as repetitions, would be wrong. The second result names the runs left out.
    """
    newest: dict[str, dict[str, Any]] = {}
    for record in sorted(records, key=started_at):
        newest[comparison_key(record)] = record
    current, superseded = [], []
    for record in sorted(records, key=sort_key):
        winner = newest[comparison_key(record)]
        if config_without_seed(record) == config_without_seed(winner):
            current.append(record)
        else:
            superseded.append(
                f"run {record['run_id']} ('{method_of(record)}') is left out: run {winner['run_id']} "
                "is newer and has the same labels but another configuration"
            )
    return current, tuple(superseded)


def started_at(record: dict[str, Any]) -> str:
    return str((record.get("provenance") or {}).get("started_at") or "")


def comparison_key(record: dict[str, Any]) -> str:
    labels = {axis: value for axis, value in record["labels"].items() if axis != SEED_AXIS}
    return json.dumps([record["mode"], labels], sort_keys=True)


def config_without_seed(record: dict[str, Any]) -> str:
    return json.dumps(
        {key: value for key, value in record["config"].items() if key != "seed"}, sort_keys=True
    )


def sort_key(record: dict[str, Any]) -> tuple[Any, ...]:
    """Sorts dense first, then fp16, then the others by name. Reruns and interruptions do not change this order."""
    baselines = ("dense", "fp16")
    name = record["config"]["synchroniser"]["name"]
    rank = baselines.index(name) if name in baselines else len(baselines)
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
    return ", ".join(as_text(value) for value in labels.values()) or record["config"]["synchroniser"]["name"]


def other_axes_of(record: dict[str, Any]) -> dict[str, str]:
    """Returns the swept axes except method and seed. Empty without a method axis: the labels then name the curve."""
    labels = record["labels"]
    if METHOD_AXIS not in labels:
        return {}
    return {axis: as_text(labels[axis]) for axis in sorted(labels) if axis not in (METHOD_AXIS, SEED_AXIS)}


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def flat_part(record: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields with one value per run: without curves and targets, which have their own tables, and null."""
    skipped = ("curve", "targets", "labels")
    return {key: value for key, value in record.items() if key not in skipped and value is not None}


def rows_of(
    records: list[dict[str, Any]],
    section: str,
    columns: tuple[str, ...],
    row_of: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> pd.DataFrame:
    def rows() -> Iterator[dict[str, Any]]:
        for record in records:
            for row in map(row_of, record[section]):
                yield {"run_id": record["run_id"], **{name: row.get(name) for name in columns}}

    frame = pd.DataFrame(list(rows()), columns=["run_id", *columns])
    numeric = [name for name in columns if name not in ("metric", "reached")]
    frame[numeric] = frame[numeric].apply(pd.to_numeric)
    return frame


def target_row(result: dict[str, Any]) -> dict[str, Any]:
    """Returns a record's target with its metric in columns "metric" and "value". In the record, the metric is a key."""
    target = Target.of_result(result)
    return {**result, "metric": target.metric, "value": target.value}
