# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's own reader follows a run of `thinpipe run --tensorboard` while it trains."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from report_program import PROGRAM, run_tests
from tensorboard_reader import read, require_tensorboard

EXPERIMENT = {
    "name": "live",
    "base": {
        "topology": "three-switch",
        "workers": 3,
        "model": {"name": "mlp", "hidden": [8]},
        "dataset": {"name": "synthetic", "train_examples": 300, "test_examples": 50},
        "training": {"batch_size_per_worker": 10, "epochs": 2, "evaluate_every_iterations": 5},
    },
}
ENDLESS = 1_000_000
PATIENCE_S = 120.0


class LiveTensorboardTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def command(self, *more: str) -> list[str]:
        file = self.folder / "live.json"
        file.write_text(json.dumps(EXPERIMENT))
        return [PROGRAM, "run", str(file), "--results", "results", "--tensorboard", "events", *more]

    def run_to_its_end(self, *more: str) -> None:
        ended = subprocess.run(self.command(*more), cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def record(self) -> dict[str, Any]:
        return json.loads(next((self.folder / "results").rglob("run.json")).read_text())

    def newest_step(self) -> int:
        curves = read(self.folder / "events") if (self.folder / "events").is_dir() else {}
        return max((step for _, step, _ in curves.get("base", {}).get("iteration_time_s", [])), default=0)

    def wait_beyond(self, step: int) -> int:
        deadline = time.monotonic() + PATIENCE_S
        while (newest := self.newest_step()) <= step:
            self.assertLess(time.monotonic(), deadline, "no new events came")
            time.sleep(0.5)
        return newest

    def test_events_arrive_while_training_continues(self) -> None:
        endless = self.command("--set", f"training.epochs={ENDLESS}")
        process = subprocess.Popen(
            endless, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ
        )
        try:
            seen = self.wait_beyond(self.wait_beyond(0))
            self.assertIsNone(process.poll(), "training goes on")
        finally:
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
        record = self.record()
        self.assertEqual(record["status"], "interrupted", said)
        scalars = read(self.folder / "events")["base"]
        self.assertGreater(len(scalars["link_use"]), 0)
        self.assertGreaterEqual(record["iterations"], seen)
        accuracy = [(point["iteration"], point["test_accuracy"]) for point in record["curve"]]
        for (step, expected), (_, own_step, value) in zip(accuracy, scalars["test_accuracy"], strict=True):
            self.assertEqual(own_step, step)
            self.assertAlmostEqual(value, expected, delta=1e-6)

    def test_wall_times_follow_train_time(self) -> None:
        self.run_to_its_end()
        scalars = read(self.folder / "events")["base"]
        began_s = scalars["test_accuracy"][0][0]
        for point, (wall_s, _, _) in zip(self.record()["curve"], scalars["test_accuracy"], strict=True):
            self.assertAlmostEqual(wall_s - began_s, point["train_time_s"], delta=1e-4)

    def test_a_finished_run_is_there_as_well(self) -> None:
        self.run_to_its_end()
        before = read(self.folder / "events")["base"]["test_accuracy"]
        next((self.folder / "events").rglob("*tfevents*")).unlink()
        self.run_to_its_end()
        after = read(self.folder / "events")["base"]["test_accuracy"]
        self.assertEqual([step for _, step, _ in after], [step for _, step, _ in before])


if __name__ == "__main__":
    require_tensorboard()
    run_tests()
