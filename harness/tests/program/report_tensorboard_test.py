"""TensorBoard's own reader reads the values that `thinpipe report --tensorboard` writes."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from report_program import REFERENCE, reference_record, report, run_tests, skip_all, write_records

# Runs in the interpreter that has TensorBoard; prints {folder: {tag: [[wall time, step, value]...]}}.
READER = """
import json, sys
from pathlib import Path
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
out = {}
for file in Path(sys.argv[1]).rglob("*tfevents*"):
    events = EventAccumulator(str(file.parent), size_guidance={"scalars": 0})
    events.Reload()
    out[str(file.parent.relative_to(sys.argv[1]))] = {
        tag: [[e.wall_time, e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]
    }
print(json.dumps(out))
"""
PYTHON = os.environ.get("THINPIPE_TENSORBOARD_PYTHON") or "/usr/bin/python3"


def read(folder: Path) -> dict[str, dict[str, list[list[float]]]]:
    ended = subprocess.run([PYTHON, "-c", READER, str(folder)], capture_output=True, text=True, timeout=300)
    if ended.returncode != 0:
        raise AssertionError(f"TensorBoard's reader failed: {ended.stderr}")
    return json.loads(ended.stdout)


class ReportTensorboardTest(unittest.TestCase):
    def test_every_evaluation_of_every_run_is_read_back(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            report(REFERENCE / "quickstart", "--tensorboard", folder)
            curves = read(Path(folder))
        self.assertEqual(
            sorted(curves), ["dense", "fp16", "pactrain", "pactrain_ternary", "topk_0.01", "topk_0.1"]
        )
        for name, scalars in curves.items():
            curve = reference_record(name.replace("_", " "))["curve"]
            self.assertEqual(sorted(scalars), ["test_accuracy", "test_loss", "train_loss"])
            for tag, points in scalars.items():
                expected = [point for point in curve if point[tag] is not None]
                self.assertEqual([step for _, step, _ in points], [point["iteration"] for point in expected])
                for (wall_time, _, value), point in zip(points, expected):
                    self.assertAlmostEqual(value, point[tag], delta=1e-6)
                    self.assertAlmostEqual(
                        wall_time - scalars["test_accuracy"][0][0], point["train_time_s"], delta=1e-4
                    )

    def test_a_loss_that_was_not_finite_is_left_out(self) -> None:
        record = reference_record("dense")
        record["curve"][3]["test_loss"] = None
        with tempfile.TemporaryDirectory() as results, tempfile.TemporaryDirectory() as folder:
            report(write_records(Path(results), [record]), "--tensorboard", folder)
            scalars = read(Path(folder))["dense"]
        self.assertEqual(len(scalars["test_loss"]), len(record["curve"]) - 1)
        self.assertEqual(len(scalars["test_accuracy"]), len(record["curve"]))


if __name__ == "__main__":
    found = subprocess.run([PYTHON, "-c", "import tensorboard"], capture_output=True, text=True)
    if found.returncode != 0:
        skip_all(
            f"{PYTHON} cannot import tensorboard; name an interpreter that can in THINPIPE_TENSORBOARD_PYTHON"
        )
    run_tests()
