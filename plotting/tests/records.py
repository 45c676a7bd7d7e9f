# SPDX-License-Identifier: Apache-2.0
"""Makes the records that the tests read: the fields of docs/reference/record-fields.md with made-up but plausible numbers."""
from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, Sequence

TARGET = 0.84
TEXT_TARGET = {"bits_per_byte": 2.2}
METHODS: dict[str, dict[str, Any]] = {
    "dense": {"name": "dense"},
    "fp16": {"name": "fp16"},
    "topk 0.1": {"name": "topk", "ratio": 0.1},
    "topk 0.01": {"name": "topk", "ratio": 0.01},
    "pactrain": {"name": "pactrain", "values": "float32"},
    "pactrain ternary": {"name": "pactrain", "values": "ternary"},
}
# Iteration time in s and best accuracy of each method: at 100 Mbit/s the network is the limit.
ITERATION_TIME_S = {
    "dense": 0.80,
    "fp16": 0.43,
    "topk 0.1": 0.66,
    "topk 0.01": 0.12,
    "pactrain": 0.42,
    "pactrain ternary": 0.105,
}
BEST_ACCURACY = {
    "dense": 0.868,
    "fp16": 0.867,
    "topk 0.1": 0.861,
    "topk 0.01": 0.828,
    "pactrain": 0.863,
    "pactrain ternary": 0.856,
}


def make_curve(
    iteration_time_s: float, best: float, iterations: int = 480, every: int = 20
) -> list[dict[str, Any]]:
    """Returns a curve that rises from 0.62 towards `best`, with a small ripple; it starts at iteration 0."""
    curve = []
    for iteration in range(0, iterations + 1, every):
        gain = 1.0 - math.exp(-iteration / 90.0)
        ripple = 0.006 * math.sin(iteration / 17.0 + 40.0 * best) * gain
        curve.append(
            {
                "epoch": iteration / 235.0,
                "iteration": iteration,
                "train_time_s": iteration * iteration_time_s,
                "train_loss": None if iteration == 0 else 1.0 - 0.6 * gain,
                "test_loss": 1.05 - 0.65 * gain,
                "test_accuracy": 0.62 + (best - 0.62) * gain + ripple,
            }
        )
    return curve


# Lowest bits per byte that each method reaches on a text.
BEST_BITS_PER_BYTE = {
    "dense": 2.02,
    "fp16": 2.03,
    "topk 0.1": 2.09,
    "topk 0.01": 2.29,
    "pactrain": 2.06,
    "pactrain ternary": 2.12,
}


def make_text_curve(
    iteration_time_s: float, best: float, iterations: int = 480, every: int = 20
) -> list[dict[str, Any]]:
    """Returns a curve that falls from 8 bits per byte, of guessing, towards `best`, with a small ripple."""
    curve = make_curve(iteration_time_s, 0.55, iterations, every)
    for point in curve:
        gain = 1.0 - math.exp(-point["iteration"] / 90.0)
        ripple = 0.02 * math.sin(point["iteration"] / 17.0 + 40.0 * best) * gain
        point["test_loss"] = (8.0 + (best - 8.0) * gain + ripple) * math.log(2.0)
        point["test_accuracy"] = 0.004 + 0.55 * gain
    return curve


def verdict_on(curve: list[dict[str, Any]], target: float | dict[str, float]) -> dict[str, Any]:
    metric, value = next(iter(target.items())) if isinstance(target, dict) else ("accuracy", target)
    for point in curve:
        loss = math.inf if point["test_loss"] is None else point["test_loss"]
        reached = {
            "accuracy": point["test_accuracy"] >= value,
            "test_loss": loss <= value,
            "bits_per_byte": loss / math.log(2.0) <= value,
            "perplexity": loss <= math.log(value),
        }
        if reached[metric]:
            return {
                metric: value,
                "reached": True,
                "iteration": point["iteration"],
                "train_time_s": point["train_time_s"],
            }
    return {metric: value, "reached": False, "iteration": None, "train_time_s": None}


def make_record(
    method: str = "dense",
    *,
    curve: list[dict[str, Any]] | None = None,
    seed: int = 1,
    axes: dict[str, Any] | None = None,
    aims: Sequence[float | dict[str, float]] = (TARGET,),
    dataset: str = "fashion_mnist",
    model: str = "small_cnn",
    **changes: Any,
) -> dict[str, Any]:
    """Returns a completed run's record; `aims` are its configured targets, `changes` replace top-level fields."""
    curve = make_curve(ITERATION_TIME_S[method], BEST_ACCURACY[method]) if curve is None else curve
    config = {
        "mode": changes.get("mode", "live"),
        "topology": {"name": "three-switch"},
        "workers": 8,
        "seed": seed,
        "model": {"name": model},
        "dataset": {"name": dataset},
        "synchroniser": METHODS[method],
        "training": {"evaluate_every_iterations": 20},
        "targets": list(aims),
    }
    for axis, value in (axes or {}).items():
        set_axis(config, axis, value)
    identity = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]
    return {
        "schema_version": 2,
        "run_id": identity,
        "status": "completed",
        "error": None,
        "mode": "live",
        "experiment": "quickstart",
        "label": ", ".join([*map(str, (axes or {}).values()), method]),
        "labels": {**(axes or {}), "method": method},
        "config": config,
        "plan": {"all_reduce_compatible": not method.startswith("topk")},
        "train_time_s": curve[-1]["train_time_s"] if curve else 0.0,
        "iterations": curve[-1]["iteration"] if curve else 0,
        "provenance": {
            "git_commit": "8991000f2c1d4e5a6b7c8d9e0f1a2b3c4d5e6f70",
            "dirty": False,
            "kernel": "6.1.0",
            "libraries": {"libtorch": "1.13.1", "gloo": "0.0~git20221024"},
            "cpu": "Intel Xeon Platinum 8358P",
            "cores": 2,
            "gpu": None,
            "started_at": "2026-11-20T20:00:00Z",
        },
        "curve": curve,
        "targets": [verdict_on(curve, aim) for aim in aims],
        "iteration_time_s": {
            "p50": 0.8,
            "p90": 0.9,
            "mean": 0.81,
            "load": 0.02,
            "compute": 0.1,
            "encode": 0.01,
            "exchange": 0.6,
            "decode": 0.01,
            "exposed_exchange": 0.5,
        },
        "traffic": {
            "payload_bytes_per_worker": 1000,
            "sent_bytes_per_worker": 1750,
            "wire_bytes": {"left->middle": 1900},
            "utilisation": {"left->middle": 0.93},
        },
        "compression": {"effective_density": 1.0, "vnmse": None},
        "limits": {"stall_timeout_s": 600.0},
        "initial_weights": None,
        "pruning": None,
        "synchroniser": None,
        "skipped_steps": 0,
        "memory": {"peak_bytes_per_worker": []},
        "parameters": 100,
        "parameters_hash": None,
        "network_events": [],
        "fidelity": {"verdict": "faithful", "checks": []},
        **changes,
    }


def with_a_miss(method: str, iteration_time_s: float) -> list[dict[str, Any]]:
    """Returns two seeds, of which the first reaches the target in 200 iterations and the second, in 480, never does."""
    curves = [make_curve(iteration_time_s, best) for best in (0.868, 0.80)]
    return [make_record(method, seed=seed, curve=curve) for seed, curve in enumerate(curves, 1)]


def make_network_event(**changes: Any) -> dict[str, Any]:
    """Returns a confirmed change of a link, as in a record's network_events."""
    return {
        "at_s": 1.0,
        "link": "left-middle",
        "source": "event",
        "requested": {"rate_bit_per_s": 5e7},
        "confirmed_s": 1.002,
        "applied": {},
        "iteration": 3,
        "train_time_s": 0.9,
        **changes,
    }


def set_axis(config: dict[str, Any], axis: str, value: Any) -> None:
    """Sets the value of a swept axis, a dotted name. An object stays, because a text only names a variant of it."""
    *parents, last = axis.split(".")
    for parent in parents:
        config = config.setdefault(parent, {})
    if axis == "pruning.ratio":
        value = float(value) if value.replace(".", "").isdigit() else 0.5
    if isinstance(value, dict) or not isinstance(config.get(last), dict):
        config[last] = value


def make_converge_record(
    method: str = "dense", *, vnmse: float | None = 0.0, payload_bytes: int = 4000, dense_bytes: int = 4000, **changes: Any
) -> dict[str, Any]:
    """Returns a completed run of mode converge, which has no times; the bytes are per iteration, its own and dense's."""
    curve = changes.pop("curve", None) or make_curve(1.0, BEST_ACCURACY[method])
    record = make_record(method, **{"mode": "converge", "experiment": "convergence", "curve": curve, **changes})
    record.update(train_time_s=None, iteration_time_s=None, predicted=None, fidelity=None)
    for entry in (*record["curve"], *record["targets"]):
        entry["train_time_s"] = None
    record["traffic"] = {
        "payload_bytes_per_worker": payload_bytes * record["iterations"],
        "sent_bytes_per_worker": 2 * payload_bytes * record["iterations"],
        "wire_bytes": {},
        "utilisation": {},
    }
    record["compression"] = {"effective_density": payload_bytes / dense_bytes, "vnmse": vnmse}
    return record


def make_text_record(method: str = "dense", **changes: Any) -> dict[str, Any]:
    """Returns a completed run with a target in bits per byte of a text."""
    curve = make_text_curve(ITERATION_TIME_S[method], BEST_BITS_PER_BYTE[method])
    defaults = {"curve": curve, "aims": (TEXT_TARGET,), "dataset": "text", "model": "gpt"}
    return make_record(method, **{**defaults, "experiment": "text", **changes})


def make_scripted_record(method: str, base: str = "dense", **changes: Any) -> dict[str, Any]:
    """Returns a completed run whose trainer is a command with this method; its times are those of `base`."""
    record = make_record(base, **changes)
    for part in ("model", "dataset", "synchroniser", "training"):
        del record["config"][part]
    record["config"]["trainer"] = {"command": ["python3", "train.py"], "method": method, "inputs_hash": "0" * 16}
    record.update(plan=None, run_id=hashlib.sha256(method.encode()).hexdigest()[:16], label=method, warnings=[])
    record["labels"] = {"method": method}
    return record


def failed_record(
    method: str, message: str = "rank 3 exited with status 139", **changes: Any
) -> dict[str, Any]:
    return make_record(
        method,
        curve=[],
        **{
            "status": "failed",
            "error": {"kind": "crash", "rank": 3, "message": message, "log_tail": []},
            "iteration_time_s": None,
            "traffic": {
                "payload_bytes_per_worker": 0,
                "sent_bytes_per_worker": 0,
                "wire_bytes": {},
                "utilisation": {},
            },
            "compression": {"effective_density": None, "vnmse": None},
            "fidelity": None,
            **changes,
        },
    )


def write(directory: Path, *records: dict[str, Any]) -> Path:
    for record in records:
        folder = directory / record["run_id"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    return directory


def write_exported(path: Path, *records: dict[str, Any]) -> Path:
    """Writes these records to a file like `thinpipe export`."""
    path.write_text("".join(json.dumps(record, sort_keys=True) + "\n" for record in records), encoding="utf-8")
    return path
