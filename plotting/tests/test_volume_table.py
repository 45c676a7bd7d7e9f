# SPDX-License-Identifier: Apache-2.0
import hashlib
import unittest
from typing import Any

import volume_table

from .records import failed_record, make_converge_record
from .test_table1 import TableTest

INNER = {"name": "topk", "ratio": 0.1, "indices": "u32"}
DENSE_BYTES = 4000


def run(label: str, payload_bytes: int, cpu_ms: float | None, sent_bytes: float = 0.0, **codes: Any) -> dict[str, Any]:
    """Returns a run of topk 0.1, with these codes by deepreduce if there are any."""
    base = "dense" if label == "dense" else "topk 0.1"
    record = make_converge_record(base, payload_bytes=payload_bytes, dense_bytes=DENSE_BYTES)
    record["labels"]["method"] = record["label"] = label
    record["run_id"] = hashlib.sha256(label.encode()).hexdigest()[:16]
    if label != "dense":
        record["config"]["synchroniser"] = {"name": "deepreduce", "inner": INNER, **codes} if codes else INNER
    record["traffic"]["sent_bytes_per_worker"] = sent_bytes * record["iterations"]
    if cpu_ms is not None:
        record["compression"] |= {"encode_cpu_s": 0.25e-3 * cpu_ms, "decode_cpu_s": 0.75e-3 * cpu_ms}
    return record


class VolumeTableTest(TableTest):
    script = volume_table

    def test_volumes_stand_beside_those_of_the_paper(self) -> None:
        rows = self.rows(
            run("dense", 4000, 0.0),
            run("topk 0.1", 800, 1.0),
            run("P0", 500, 1.0, indices="bloom_p0", values="f32"),
            run("dexp", 420, 1.0, indices="plain", values="fit_dexp"),
        )
        volumes = {name: (row["relative volume"], row["paper"]) for name, row in rows.items()}
        self.assertEqual(
            volumes,
            {
                "dense": ("1.0000", "-"),
                "topk 0.1": ("0.2000", "0.2033"),
                "P0": ("0.1250", "0.1425"),
                "dexp": ("0.1050", "-"),
            },
        )
        self.assertEqual(rows["dense"]["final accuracy (%)"], "86.8")

    def test_another_ratio_is_not_the_papers(self) -> None:
        other = run("P0", 500, 1.0, indices="bloom_p0", values="f32")
        other["config"]["synchroniser"]["inner"] = INNER | {"ratio": 0.01}
        self.assertEqual(self.rows(run("dense", 4000, 0.0), other)["P0"]["paper"], "-")

    def test_codes_pay_below_the_cap_at_which_they_cost_what_they_save(self) -> None:
        rows = self.rows(
            run("dense", 4000, 1.0, 2_000_000),
            run("topk 0.1", 800, 2.0, 1_000_000),
            run("P0", 500, 9.0, 500_000, indices="bloom_p0", values="f32"),
            arguments=("--over", "dense", "topk 0.1"),
        )
        self.assertEqual(rows["dense"]["pays over dense"], "-")
        self.assertEqual(rows["dense"]["pays over topk 0.1"], "above 8.00 Gbit/s")  # 8 Mbit more, 1 ms less
        self.assertEqual(rows["topk 0.1"]["pays over dense"], "below 8.00 Gbit/s")
        self.assertEqual(rows["P0"]["pays over dense"], "below 1.50 Gbit/s")  # 12 Mbit in 8 ms
        self.assertEqual(rows["P0"]["pays over topk 0.1"], "below 571 Mbit/s")  # 4 Mbit in 7 ms
        self.assertEqual((rows["P0"]["encode (ms)"], rows["P0"]["decode (ms)"]), ("2.25", "6.75"))

    def test_codes_that_are_better_or_worse_in_both_pay_always_or_never(self) -> None:
        rows = self.rows(
            run("dense", 4000, 5.0, 2000),
            run("better", 500, 4.0, 1000, indices="bloom_p0", values="f32"),
            run("worse", 500, 6.0, 2000, indices="bloom_p0", values="qsgd"),
        )
        self.assertEqual(rows["better"]["pays over dense"], "always")
        self.assertEqual(rows["worse"]["pays over dense"], "never")

    def test_records_without_times_have_no_caps(self) -> None:
        rows = self.rows(run("dense", 4000, None, 2000), run("topk 0.1", 800, None, 1000))
        self.assertEqual([rows["topk 0.1"][name] for name in ("encode (ms)", "decode (ms)", "pays over dense")], ["-"] * 3)
        self.assertEqual(rows["topk 0.1"]["relative volume"], "0.2000")

    def test_failed_runs_stay(self) -> None:
        failed = failed_record("fp16", mode="converge", experiment="convergence", train_time_s=None)
        rows = self.rows(run("dense", 4000, 1.0, 2000), failed)
        self.assertEqual([rows["fp16"][name] for name in ("relative volume", "pays over dense")], ["-", "-"])

    def test_programs_get_all_digits(self) -> None:
        lines = self.lines(run("dense", 4000, 1.0, 2_000_000), run("topk 0.1", 800, 2.0, 1_000_000))
        self.assertEqual(float(lines["topk 0.1"]["relative_volume"]), 0.2)
        self.assertAlmostEqual(float(lines["topk 0.1"]["encode_cpu_s"]), 0.0005)
        self.assertAlmostEqual(float(lines["topk 0.1"]["break_even_over_dense_bit_per_s"]), 8e9, delta=1.0)

    def test_a_comparison_with_nothing_is_wrong_input(self) -> None:
        self.made(run("dense", 4000, 1.0))
        code, _, said = self.program("--over", "topk")
        self.assertEqual(code, 2)
        self.assertIn("--over topk: no run has this method; the methods are: dense", said)


if __name__ == "__main__":
    unittest.main()
