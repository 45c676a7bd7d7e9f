#!/usr/bin/env python3
"""Measures compute profiles of the PacTrain paper's models on this machine's GPU, and estimates the same profiles from a
device's data sheet. plotting/profiles_table.py compares them.

Each profile is of one worker with 32 colour images of 32 x 32 pixels per iteration: loading, forward, backward, the
method's encoding and decoding, and the optimiser, without any exchange.
"""
from __future__ import annotations

import argparse
import json
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
EXAMPLES = """examples:
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
        "training": {"epochs": 1000, "batch_size_per_worker": 32, "evaluate_every_iterations": 1000000},
        "targets": [0.99],
        **method,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trainer", default="build/release/thinpipe-trainer", help="the program (default: %(default)s)")
    parser.add_argument("--estimate", metavar="FILE", type=Path, help="estimate for this device instead of measuring")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="names of profiles, such as 'resnet18-*'")
    parser.add_argument("--seconds", type=float, default=6, help="upper bound for each measurement (default: 6)")
    parser.add_argument("--output", metavar="FOLDER", type=Path, required=True, help="folder for the profiles")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    wanted = {name: config for name, config in configurations(options.estimate is not None) if fnmatch(name, options.only)}
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
