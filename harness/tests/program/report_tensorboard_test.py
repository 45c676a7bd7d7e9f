# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's own reader reads the values that `thinpipe report --tensorboard` writes."""
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from report_program import RECORDS, reference_record, report, run_tests, write_records
from tensorboard_reader import read, require_tensorboard

class ReportTensorboardTest(unittest.TestCase):
    def test_every_evaluation_of_every_run_is_read_back(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            report(RECORDS / "quickstart", "--tensorboard", folder)
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
    require_tensorboard()
    run_tests()
