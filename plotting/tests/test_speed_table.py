# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

import speed_table

CONTEXT = {"date": "2026-11-22T10:00:00+00:00", "num_cpus": 2, "cpu": "A CPU", "commit": "0123456789"}


def run(method: str, size: int, **counters: Any) -> dict[str, Any]:
    return {
        "name": f"synchronise/{method}/{size}/manual_time",
        "bytes_per_second": 2.5e9,
        "times_memcpy": 4.0,
        "encode_ms": 10.0,
        "decode_ms": 30.0,
        "saved_s": 0.7,
        "share_of_saving": 0.057,
        **counters,
    }


class SpeedTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, result: Any, *arguments: str) -> tuple[int, str, str]:
        file = self.folder / "result.json"
        file.write_text(result if isinstance(result, str) else json.dumps(result), encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = speed_table.main([str(file), *arguments])
        return code, out.getvalue(), err.getvalue()

    def rows(self, *runs: dict[str, Any]) -> list[list[str]]:
        code, text, err = self.call({"context": CONTEXT, "benchmarks": list(runs)})
        self.assertEqual((code, err), (0, ""))
        lines = [line for line in text.splitlines() if line.startswith("|")]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]

    def test_a_row_a_method_with_each_sizes_figures(self) -> None:
        rows = self.rows(
            run("topk_0.01", 1 << 20),
            run("topk_0.01", 25_000_000, encode_ms=123.4),
            run("topk_0.01", 1 << 26, bytes_per_second=1.25e9, times_memcpy=8.0),
        )
        self.assertEqual(
            rows, [["topk_0.01", "2.50", "4.00", "1.25", "8.00", "123", "30.0", "700", "0.0570"]]
        )

    def test_what_costs_more_than_it_saves_stands_out(self) -> None:
        (row,) = self.rows(run("slow", 25_000_000, share_of_saving=1.5))
        self.assertEqual(row[-1], "**1.50**")

    def test_what_saves_nothing_has_no_share(self) -> None:
        without_share = run("dense", 25_000_000, saved_s=0.0)
        del without_share["share_of_saving"]
        (row,) = self.rows(without_share)
        self.assertEqual(row, ["dense", "-", "-", "-", "-", "10.0", "30.0", "none", "-"])

    def test_other_benchmarks_of_the_program_are_left_out(self) -> None:
        rows = self.rows({"name": "pack_half/iterations:10"}, run("dense", 25_000_000))
        self.assertEqual([row[0] for row in rows], ["dense"])

    def test_the_origin_is_said(self) -> None:
        _, text, _ = self.call({"context": CONTEXT, "benchmarks": [run("dense", 1 << 20)]})
        self.assertIn("A CPU (2 cores), one used · commit 0123456789 · run on 2026-11-22", text)

    def test_the_table_replaces_the_one_in_a_page(self) -> None:
        page = self.folder / "methods.md"
        page.write_text(f"before\n{speed_table.BEGIN}\nan older table\n{speed_table.END}\nafter\n", encoding="utf-8")
        code, out, _ = self.call(
            {"context": CONTEXT, "benchmarks": [run("dense", 1 << 20)]}, "--update", str(page)
        )
        text = page.read_text(encoding="utf-8")
        self.assertEqual((code, out), (0, ""))
        self.assertNotIn("an older", text)
        self.assertIn("| dense | 2.50 |", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))

    def test_what_is_no_benchmark_is_refused_by_name(self) -> None:
        failed = run("dense", 1 << 20) | {"error_occurred": True, "error_message": "no memory"}
        for result, words in (
            ("{", "result.json: cannot be read"),
            ({"runs": []}, "is not the output of a benchmark"),
            ({"context": CONTEXT, "benchmarks": []}, "has no benchmark of synchronise/"),
            ({"context": CONTEXT, "benchmarks": [failed]}, "failed: no memory"),
        ):
            with self.subTest(words):
                code, _, err = self.call(result)
                self.assertEqual(code, 2)
                self.assertIn(words, err)


if __name__ == "__main__":
    unittest.main()
