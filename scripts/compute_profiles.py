#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures compute profiles on this machine: those of the trainings of an experiment, for replays elsewhere, or those of the
PacTrain paper's models. Estimates the latter from a device's data sheet, too; plotting/profiles_table.py compares them.

Each profile is of one worker: loading, forward, backward, the method's encoding and decoding, and the optimiser, without any
exchange. The paper's models get 32 colour images of 32 x 32 pixels per iteration.
"""
from __future__ import annotations

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Iterator

MODELS = ("resnet18", "resnet152", "vgg19", "vit_b_16")
WORKER_FILE_VERSION = 2
DENSE = {"synchroniser": {"name": "dense"}}
# Encoding depends on the method and the number of weights, not on the model: one model is enough.
METHODS = {
    "fp16": {"synchroniser": {"name": "fp16"}},
    "topk": {"synchroniser": {"name": "topk", "ratio": 0.01}},
    "pactrain": {"synchroniser": {"name": "pactrain"}, "pruning": {"ratio": 0.5}},
    "pactrain-ternary": {"synchroniser": {"name": "pactrain", "values": "ternary"}, "pruning": {"ratio": 0.5}},
}
# What a plan's configurations have beside the training's.
OF_THE_HARNESS = ("mode", "topology", "bottleneck", "workers", "compute_profile", "machine", "network_events", "rate_trace",
                  "cross_traffic", "worker_events", "on_worker_failure", "reduction_tree")
LONG = {"epochs": 1000, "evaluate_every_iterations": 1000000}
EXAMPLES = """examples:
  scripts/compute_profiles.py --experiment experiments/quickstart.json --device cuda --output profiles
      measures each training of the experiment on this machine's GPU (docs/how-to/gpu-profiles.md)
  scripts/compute_profiles.py --trainer build/pytorch/thinpipe-trainer --output results/reference/compute-profiles
      measures on this machine's GPU
  scripts/compute_profiles.py --estimate trainer/profiles/h100.json --output results/reference/compute-profiles
      estimates, on any machine"""


def configurations(estimated: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each profile's name and training configuration."""
    if estimated:
        for model in MODELS:
            yield f"{model}-estimated", configuration("cpu", model, "float32", DENSE)
        return
    device = "cuda"
    for model in MODELS:
        for precision in ("float32", "bfloat16"):
            yield f"{model}-{precision}", configuration(device, model, precision, DENSE)
    for method, setting in METHODS.items():
        yield f"resnet18-float32-{method}", configuration(device, "resnet18", "float32", setting)


def configuration(device: str, model: str, precision: str, method: dict[str, Any]) -> dict[str, Any]:
    return {
        "workers": 1,
        "model": {"name": model},
        "dataset": {"name": "synthetic", "channels": 3, "height": 32, "width": 32, "train_examples": 2048,
                    "test_examples": 8},
        "compute": {"device": device, "precision": precision},
        "collective": {"name": "gloo"},
        "training": {"batch_size_per_worker": 32} | LONG,
        "targets": [0.99],
        **method,
    }


def configurations_of(experiment: Path, thinpipe: Path, device: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields a name and the training configuration for each training of the experiment, but once for all seeds and networks."""
    command = [thinpipe, "plan", experiment, "--json", "--no-measuring"]
    planned = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if planned.returncode != 0:
        sys.exit(f"compute_profiles: {experiment} could not be planned")
    known: set[str] = set()
    names: set[str] = set()
    for row in json.loads(planned.stdout):
        training = {key: value for key, value in row["config"].items() if key not in OF_THE_HARNESS}
        training |= {"workers": 1, "collective": {"name": "gloo"}, "seed": 1, "pretraining": {"iterations": 0}}
        training["compute"] = row["config"]["compute"] | {"device": device}
        training["training"] = row["config"]["training"] | LONG
        text = json.dumps(training, sort_keys=True)
        if text not in known:
            known.add(text)
            name = unused(file_name(row["labels"]), names)
            names.add(name)
            yield name, training


def file_name(labels: dict[str, str]) -> str:
    """Returns a name for files from the labels of a run that decide its training."""
    words = [label for axis, label in labels.items() if axis.split(".")[0] not in (*OF_THE_HARNESS, "seed")]
    return re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(words)).strip("-.") or "profile"


def unused(name: str, names: set[str]) -> str:
    """Returns the name, with a number if another training has it: "GMC" and "GMC+" are the same in names for files."""
    candidates = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(candidate for candidate in candidates if candidate not in names)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trainer", default="build/release/thinpipe-trainer", help="the program (default: %(default)s)")
    parser.add_argument("--estimate", metavar="FILE", type=Path, help="estimate for this device instead of measuring")
    parser.add_argument("--experiment", metavar="FILE", type=Path, help="measure the trainings of this experiment")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda",
                        help="with --experiment, what to measure (default: %(default)s)")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="names of profiles, such as 'resnet18-*'")
    parser.add_argument("--seconds", type=float, default=6, help="upper bound for each measurement (default: 6)")
    parser.add_argument("--output", metavar="FOLDER", type=Path, required=True, help="folder for the profiles")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    if options.experiment and options.estimate:
        parser.error("--experiment measures, and --estimate does not: leave out one of them")
    named = (configurations_of(options.experiment, Path(options.trainer).parent / "thinpipe", options.device)
             if options.experiment else configurations(options.estimate is not None))
    wanted = {name: config for name, config in named if fnmatch(name, options.only)}
    if not wanted:
        parser.error(f"--only {options.only}: no profile has such a name")
    device = json.loads(options.estimate.read_text()) if options.estimate else None
    for name, config in wanted.items():
        if device:
            make(options, name, "estimate", {"device": device, "config": config})
        else:
            make(options, name, "profile", {"max_time_s": options.seconds, "config": config})
    return 0


def make(options: argparse.Namespace, name: str, command: str, file: dict[str, Any]) -> None:
    """Runs the trainer's command on the file, which gets its output and, for a measurement, a world of one."""
    output = options.output / f"{name}.json"
    with tempfile.TemporaryDirectory() as folder:
        group = {"rank": 0, "world_size": 1, "address": "127.0.0.1", "rendezvous_directory": folder}
        group = group if command == "profile" else {}
        path = Path(folder) / "file.json"
        path.write_text(json.dumps({"schema_version": WORKER_FILE_VERSION, **file, **group, "output": str(output)}))
        ended = subprocess.run([options.trainer, command, path], capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"compute_profiles: {name}: {options.trainer} {command} failed:\n{ended.stderr[-2000:]}")
    profile = json.loads(output.read_text())
    profile["device"].get("libraries", {}).pop("gloo_file", None)  # a path on this machine
    output.write_text(json.dumps(profile, indent=2) + "\n")
    milliseconds = 1e3 * (profile["compute_s"] + profile["finish_s"])
    print(f"{output}: {milliseconds:.2f} ms of forward, backward and new weights", flush=True)


if __name__ == "__main__":
    sys.exit(main())
