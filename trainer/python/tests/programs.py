# SPDX-License-Identifier: Apache-2.0
"""Runs the program thinpipe as users do, for tests of methods in Python files."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

METHODS = Path(__file__).parent / "methods"


def run(thinpipe, *arguments, folder=None):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([thinpipe, *map(str, arguments)], capture_output=True, text=True, timeout=600, cwd=folder,
                          env=environment, check=False)


def small_run(**more):
    """Returns the base of a run of a few steps."""
    return {
        "mode": "converge",
        "model": {"name": "mlp"},
        "dataset": {"name": "synthetic", "train_examples": 512, "test_examples": 50},
        "training": {"batch_size_per_worker": 8, "evaluate_every_iterations": 4},
        **more,
    }


class Experiment:
    """An experiment in a temporary folder."""

    def __init__(self, thinpipe, base, sweep=None):
        self.thinpipe = thinpipe
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "experiment.json"
        self.file.write_text(json.dumps({"base": base, **({"sweep": sweep} if sweep else {})}))

    def run(self, *more):
        return run(self.thinpipe, "run", self.file, "--results", self.results, "--profiling-time", "1 s", *more,
                   folder=self.folder.name)

    def plan(self, *more):
        return run(self.thinpipe, "plan", self.file, *more, folder=self.folder.name)

    @property
    def results(self):
        return Path(self.folder.name) / "results"

    def records(self, mode=None):
        """Returns the records, by label."""
        records = [json.loads(path.read_text()) for path in sorted(self.results.rglob("run.json"))]
        return {record["label"]: record for record in records if mode is None or record["mode"] == mode}
