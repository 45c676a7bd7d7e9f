# SPDX-License-Identifier: Apache-2.0
import unittest
from typing import Any

import bits_table

from .records import failed_record, make_converge_record
from .test_table1 import TableTest, rows_of

DENSE_BYTES = 4000


def run(method: str, payload_bytes: int, others: tuple[float, int] | None, **changes: Any) -> dict[str, Any]:
    """Returns a run of mode converge. `others`: bytes per iteration from a worker, by the formula, and delivered to it; None
    in older records."""
    record = make_converge_record(method, payload_bytes=payload_bytes, dense_bytes=DENSE_BYTES, **changes)
    if others:
        record["plan"] |= {"payload_bytes_per_iteration": others[0], "gradient_bytes": DENSE_BYTES}
        record["traffic"]["delivered_bytes_per_worker"] = others[1] * record["iterations"]
    return record


class BitsTableTest(TableTest):
    script = bits_table

    def test_ratios_are_of_the_bytes_from_a_worker_and_to_it(self) -> None:
        rows = self.rows(run("dense", 4000, (4000, 4000)), run("topk 0.01", 10, (16, 48)))
        self.assertEqual(
            list(rows["dense"].items())[1:],
            [
                ("final accuracy (%)", "86.8"),
                ("bits per weight", "32.0"),
                ("upstream", "1.00×"),
                ("upstream by formula", "1.00×"),
                ("downstream", "1.00×"),
            ],
        )
        self.assertEqual(list(rows["topk 0.01"].values())[2:], ["0.0800", "400×", "250×", "83.3×"])

    def test_large_ratios_have_a_separator(self) -> None:
        rows = self.rows(run("topk 0.01", 1, (0.1, 0.3)))
        self.assertEqual(list(rows["topk 0.01"].values())[2:], ["0.00800", "4,000×", "40,000×", "13,333×"])

    def test_records_without_a_formula_have_only_the_measurement(self) -> None:
        for record in (run("fp16", 2000, None), run("fp16", 2000, (0.0, 0.0))):
            rows = self.rows(record)
            self.assertEqual(list(rows["fp16"].values())[2:], ["16.0", "2.00×", "-", "-"])

    def test_a_failed_run_has_no_ratio(self) -> None:
        failed = failed_record("fp16", mode="converge", experiment="convergence", train_time_s=None)
        self.assertEqual(list(self.rows(run("dense", 4000, None), failed)["fp16"].values())[1:], ["failed", *4 * "-"])

    def test_bytes_alone_have_no_accuracy(self) -> None:
        text = self.made(run("dense", 4000, (4000, 4000)), arguments=("--bytes-only",))
        self.assertEqual(list(rows_of(text)["dense"])[:2], ["method", "bits per weight"])
        self.assertNotIn("Target", text)

    def test_csv(self) -> None:
        line = self.lines(run("topk 0.01", 10, (16, 48)))["topk 0.01"]
        numbers = {name: float(line[name]) for name in line if name.endswith(("_ratio", "bits_per_weight"))}
        expected = {"bits_per_weight": 0.08, "upstream_ratio": 400.0, "planned_upstream_ratio": 250.0}
        self.assertEqual(numbers, {**expected, "downstream_ratio": 4000 / 48})


if __name__ == "__main__":
    unittest.main()
