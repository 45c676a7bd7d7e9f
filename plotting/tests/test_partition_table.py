# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import partition_table

from .records import failed_record, make_converge_record, make_curve, make_text_curve, write

PARTITIONS = {
    "iid": {"name": "iid"},
    "dirichlet 0.5": {"name": "dirichlet", "alpha": 0.5},
    "dirichlet 0.1": {"name": "dirichlet", "alpha": 0.1},
}


def run(method: str, partition: str, best: float, **changes: Any) -> dict[str, Any]:
    axes = {"partition": partition, **({"model": changes["model"]} if "model" in changes else {})}
    record = make_converge_record(method, axes=axes, curve=make_curve(1.0, best), **changes)
    record["config"]["partition"] = PARTITIONS[partition]
    return record


def failed(method: str, partition: str, seed: int) -> dict[str, Any]:
    record = failed_record(
        method, axes={"partition": partition}, mode="converge", experiment="convergence", seed=seed
    )
    record["config"]["partition"] = PARTITIONS[partition]
    return record


def final_percent(record: dict[str, Any]) -> float:
    return 100 * record["curve"][-1]["test_accuracy"]


def tables_of(text: str) -> dict[str, dict[str, dict[str, str]]]:
    """Returns the cells by title of the table, method and heading."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    title, headings = "", []
    for line in text.splitlines():
        if line.startswith("**"):
            title = line.strip("*")
        elif line.startswith("| "):
            cells = line[2:-2].split(" | ")
            if cells[0] == "method":
                headings = cells
            elif not cells[0].startswith(":"):
                tables.setdefault(title, {})[cells[0]] = dict(zip(headings, cells))
    return tables


class PartitionTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *records: dict[str, Any], options: tuple[str, ...] = ()) -> tuple[int, str, str]:
        write(self.folder / "gmc", *records)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = partition_table.main([str(self.folder / "gmc"), *options])
        return code, out.getvalue(), err.getvalue()

    def made(self, *records: dict[str, Any], options: tuple[str, ...] = ()) -> str:
        code, text, err = self.call(*records, options=options)
        self.assertEqual(code, 0, err)
        return text

    def test_a_row_a_method_and_a_column_a_partition(self) -> None:
        records = [run("dense", partition, 0.85) for partition in PARTITIONS]
        rows = tables_of(self.made(*records, run("topk 0.1", "iid", 0.81)))[""]
        self.assertEqual(list(rows["dense"]), ["method", "dirichlet 0.1", "dirichlet 0.5", "iid"])
        self.assertEqual(rows["dense"]["iid"], f"{final_percent(records[0]):.1f}")
        self.assertEqual(rows["topk 0.1"]["dirichlet 0.1"], "-")

    def test_seeds_have_a_mean_and_half_an_interval(self) -> None:
        records = [run("dense", "iid", best, seed=seed) for seed, best in ((1, 0.80), (2, 0.86))]
        low, high = sorted(map(final_percent, records))
        # The percentiles of means of two draws from two values are the values.
        cell = tables_of(self.made(*records))[""]["dense"]["iid"]
        self.assertEqual(cell, f"{(low + high) / 2:.1f} ± {(high - low) / 2:.1f}")

    def test_each_model_has_a_table(self) -> None:
        tables = tables_of(
            self.made(
                run("dense", "iid", 0.85, model="resnet20"), run("dense", "iid", 0.80, model="vit_tiny")
            )
        )
        self.assertEqual(list(tables), ["model = resnet20", "model = vit_tiny"])
        self.assertGreater(tables["model = resnet20"]["dense"]["iid"], tables["model = vit_tiny"]["dense"]["iid"])

    def test_failed_runs_are_said(self) -> None:
        text = self.made(run("dense", "iid", 0.85), failed("dense", "iid", 2), failed("fp16", "iid", 1))
        rows = tables_of(text)[""]
        self.assertEqual(rows["fp16"]["iid"], "failed")
        self.assertTrue(rows["dense"]["iid"].endswith("(1 of 2)"), rows["dense"])
        self.assertIn("only that many seeds", text)

    def test_a_loss_is_no_percentage(self) -> None:
        record = run("dense", "iid", 0.85, aims=({"bits_per_byte": 2.2},))
        record["curve"] = make_text_curve(1.0, 2.0)
        text = self.made(record)
        self.assertTrue(tables_of(text)[""]["dense"]["iid"].startswith("2."))
        self.assertIn("Final bits per byte, at the last evaluation", text)

    def test_another_axis_may_have_the_columns(self) -> None:
        records = [make_converge_record("dense", axes={"pruning.ratio": ratio}) for ratio in ("0", "0.5")]
        rows = tables_of(self.made(*records, options=("--columns", "pruning.ratio")))[""]
        self.assertEqual(list(rows["dense"]), ["method", "0", "0.5"])

    def test_results_without_the_axis_are_wrong_input(self) -> None:
        code, _, err = self.call(make_converge_record("dense"))
        self.assertEqual(code, 2)
        self.assertIn("not every run has an axis partition; the axes are: none", err)

    def test_the_origin_and_the_meaning_of_the_cells_follow(self) -> None:
        text = self.made(run("dense", "iid", 0.85))
        self.assertNotIn("only that many seeds", text)
        self.assertIn("Final accuracy in %, at the last evaluation: mean over seeds ± half the length", text)
        self.assertIn("data fashion_mnist · model small_cnn · 8 workers · seed 1 · cpu ", text.splitlines()[-1])

    def test_a_page_has_the_table_between_its_markers(self) -> None:
        page = self.folder / "page.md"
        page.write_text("Before.\n\n<!-- gmc: begin -->\n\n<!-- gmc: end -->\n\nAfter.\n", encoding="utf-8")
        self.assertEqual(self.made(run("dense", "iid", 0.85), options=("--update", str(page))), "")
        text = page.read_text(encoding="utf-8")
        self.assertIn("| dense |", text)
        self.assertTrue(text.startswith("Before.\n") and text.endswith("After.\n"))
