# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import factors_table

from .records import BEST_ACCURACY, failed_record, make_curve, make_record, make_text_record, write
from .test_replay_table import rows_of


def run(method: str, iteration_time_s: float, seed: int = 1) -> dict[str, Any]:
    return make_record(method, seed=seed, curve=make_curve(iteration_time_s, BEST_ACCURACY[method]))


class FactorsTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *records: dict[str, Any], options: tuple[str, ...] = ("--over", "dense")) -> tuple[int, str, str]:
        write(self.folder, *records)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = factors_table.main([str(self.folder), *options])
        return code, out.getvalue(), err.getvalue()

    def rows(self, *records: dict[str, Any], options: tuple[str, ...] = ("--over", "dense")) -> dict[str, dict[str, str]]:
        code, text, err = self.call(*records, options=options)
        self.assertEqual((code, err), (0, ""))
        return {next(iter(row.values())): row for row in rows_of(text)}

    def test_a_column_for_each_method_to_compare_with(self) -> None:
        rows = self.rows(run("dense", 0.8), run("fp16", 0.4), options=("--over", "dense", "fp16"))
        self.assertEqual((rows["dense"]["vs dense"], rows["fp16"]["vs fp16"]), ("1.00×", "1.00×"))
        over, under = rows["fp16"]["vs dense"], rows["dense"]["vs fp16"]
        self.assertAlmostEqual(float(over[:-1]) * float(under[:-1]), 1, delta=0.02)
        self.assertGreater(float(over[:-1]), 1.8)

    def test_with_a_loss_as_target_no_accuracy_is_lost(self) -> None:
        rows = self.rows(make_text_record("dense"), make_text_record("fp16"))
        self.assertIn("final bits per byte", rows["fp16"])
        self.assertNotIn("accuracy loss (points)", rows["fp16"])

    def test_seeds_are_paired(self) -> None:
        runs = [run("dense", 0.8, 1), run("dense", 0.4, 2), run("pactrain", 0.4, 1), run("pactrain", 0.1, 2)]
        self.assertEqual(self.rows(*runs)["pactrain"]["vs dense"], "2.83× [2.00, 4.00]")

    def test_accuracy_is_lost_to_the_first(self) -> None:
        rows = self.rows(run("dense", 0.8), run("fp16", 0.4), options=("--over", "fp16", "dense"))
        finals = [100 * run(method, 1)["curve"][-1]["test_accuracy"] for method in ("fp16", "dense")]
        self.assertEqual(rows["dense"]["accuracy loss (points)"], f"{finals[0] - finals[1]:.2f}")
        self.assertEqual(rows["fp16"]["accuracy loss (points)"], "0.00")

    def test_what_never_came_to_the_target_has_no_factor(self) -> None:
        rows = self.rows(run("dense", 0.8), run("topk 0.01", 0.1))
        self.assertEqual(rows["topk 0.01"]["vs dense"], "never")
        self.assertEqual(rows["topk 0.01"]["time to target (s)"], "never in 48.0")

    def test_a_page_has_it_between_the_lines_of_the_folders_name(self) -> None:
        page = self.folder / "page.md"
        name = self.folder.name
        page.write_text(f"<!-- {name}: begin -->\nlost\n<!-- {name}: end -->\n")
        code, out, err = self.call(run("dense", 0.8), options=("--over", "dense", "--update", str(page)))
        self.assertEqual((code, out, err), (0, "", ""))
        self.assertIn("| dense |", page.read_text())
        self.assertNotIn("lost\n<", page.read_text())

    def test_methods_are_compared_with_any_other_by_its_label(self) -> None:
        ddp = make_record("dense", labels={"method": "DDP"})
        ddp["config"]["trainer"] = "pytorch-ddp"
        rows = self.rows(ddp, run("fp16", 0.4), options=("--over", "DDP"))
        self.assertEqual(rows["fp16"]["vs DDP"], "2.00×")

    def test_a_comparison_with_nothing_is_wrong_input(self) -> None:
        code, _, err = self.call(run("dense", 0.8), options=("--over", "DDP"))
        self.assertEqual(code, 2)
        self.assertIn("--over DDP: no run has this method; the methods are: dense", err)

    def test_a_baseline_that_failed_gives_no_factors(self) -> None:
        code, text, err = self.call(run("dense", 0.8), failed_record("fp16"), options=("--over", "fp16"))
        self.assertEqual(code, 0)
        self.assertEqual(rows_of(text)[0]["vs fp16"], "-")
        self.assertIn("fp16: failed", err)


if __name__ == "__main__":
    unittest.main()
