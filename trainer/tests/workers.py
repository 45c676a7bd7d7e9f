# SPDX-License-Identifier: Apache-2.0
"""Starts workers of thinpipe-trainer on loopback, for tests in Python."""

import json
import subprocess
from pathlib import Path


def start(trainer, folder, config, weights=None, checkpoint=None, begin_file=None):
    """Starts one process per worker and returns the processes. `folder`: empty, or of workers that have ended."""
    folder = Path(folder)
    rendezvous = folder / "rendezvous"
    rendezvous.mkdir(parents=True, exist_ok=True)
    for left in rendezvous.iterdir():
        left.unlink()
    processes = []
    for rank in range(config["workers"]):
        path = folder / f"worker-{rank}.json"
        description = {
            "schema_version": 2,
            "rank": rank,
            "world_size": config["workers"],
            "address": "127.0.0.1",
            "rendezvous_directory": str(rendezvous),
            "initial_weights": None if weights is None else str(weights),
            "checkpoint": checkpoint,
            "begin_file": None if begin_file is None else str(begin_file),
            "config": config,
        }
        path.write_text(json.dumps(description))
        processes.append(
            subprocess.Popen([trainer, "work", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
    return processes


def finish(processes, timeout_s=240):
    """Waits for workers, which must succeed; returns the events of rank 0."""
    outputs = [process.communicate(timeout=timeout_s) for process in processes]
    for rank, (process, (out, errors)) in enumerate(zip(processes, outputs)):
        assert process.returncode == 0, f"rank {rank} exited with {process.returncode}: {out[-2000:]} {errors[-2000:]}"
    return [json.loads(line) for line in outputs[0][0].splitlines()]
