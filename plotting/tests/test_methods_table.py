# SPDX-License-Identifier: Apache-2.0
import stat
import unittest
from typing import Any

import heat_map
import methods_table
import speedup
import table1
import time_to_accuracy
from shared.comparison import compare
from shared.load import load

from .records import failed_record, make_converge_record, make_curve, make_record, make_text_curve, write
from .test_table1 import TableTest, rows_of

BEGIN, END = "<!-- paper-table1: begin -->", "<!-- paper-table1: end -->"  # the folder of the test's records
PAGE = f"# Methods\n\nBefore.\r\n{BEGIN}\n\nan older table\n\n{END}\nAfter, without an end"


def converge_seeds(method: str, *bests: float, **changes: Any) -> list[dict[str, Any]]:
    return [
        make_converge_record(method, seed=seed, curve=make_curve(1.0, best), **changes)
        for seed, best in enumerate(bests, 1)
    ]


class MethodsTableTest(TableTest):
    script = methods_table

    def test_a_row_a_method(self) -> None:
        text = self.made(
            make_converge_record("dense", vnmse=0.0, payload_bytes=3_261_352, dense_bytes=3_261_352),
            make_converge_record("pactrain ternary", vnmse=1.2345, payload_bytes=408_231, dense_bytes=3_261_352),
            make_converge_record("topk 0.01", vnmse=2.5e-5, payload_bytes=612, dense_bytes=3_261_352),
        )
        rows = rows_of(text)
        self.assertEqual(
            list(rows["dense"]),
            [
                *("method", "final accuracy (%)", "iterations to target", "payload per iteration", "relative to dense"),
                *("vNMSE", "all-reduce compatible"),
            ],
        )
        self.assertEqual(
            [list(row.values()) for row in rows.values()],
            [
                ["dense", "86.8", "200", "3.26 MB", "100 %", "0", "yes"],
                ["pactrain ternary", "85.3", "280", "408 kB", "12.5 %", "1.23", "yes"],
                ["topk 0.01", "82.1", "never in 480", "612 B", "0.0188 %", "2.50e-05", "no"],
            ],
        )

    def test_seeds_have_a_spread_and_those_that_never_arrive_are_counted(self) -> None:
        records = [*converge_seeds("dense", 0.868, 0.868), *converge_seeds("topk 0.1", 0.868, 0.86, 0.80)]
        for record, vnmse in zip(records[2:], (0.1, 0.2, 0.3)):
            record["compression"]["vnmse"] = vnmse
        text = self.made(*records)
        topk = rows_of(text)["topk 0.1"]
        final = [100 * record["curve"][-1]["test_accuracy"] for record in records[2:]]
        self.assertEqual(topk["final accuracy (%)"].split(" [")[0], f"{sum(final) / 3:.1f}")
        reached = [record["targets"][0]["iteration"] for record in records[2:]]
        self.assertIsNone(reached[2])
        self.assertRegex(topk["iterations to target"], rf"^≥ {(reached[0] + reached[1] + 480) / 3:.0f} \(2 of 3 reached\)$")
        self.assertEqual(topk["vNMSE"], "0.200 [0.100, 0.300]")
        self.assertIn("95 % confidence interval of the mean over seeds", text)
        self.assertNotIn("only that many seeds", text)

    def test_failed_runs_stay(self) -> None:
        failed = failed_record("fp16", mode="converge", experiment="convergence", train_time_s=None)
        some = converge_seeds("pactrain", 0.868, 0.868)
        some.append(failed_record("pactrain", mode="converge", experiment="convergence", seed=3))
        write(self.directory, make_converge_record("dense"), failed, *some)
        code, text, said = self.program()
        self.assertEqual(code, 0, said)
        rows = rows_of(text)
        self.assertEqual(list(rows["fp16"].values())[1:6], ["failed", "failed", "-", "-", "-"])
        self.assertEqual(rows["pactrain"]["iterations to target"], "≥ 200 (2 of 3 reached, 1 failed)")
        self.assertIn("(2 of 3): only that many seeds", text)
        self.assertEqual(rows["pactrain"]["final accuracy (%)"], "86.8 [86.8, 86.8] (2 of 3)")
        self.assertIn("fp16: failed (rank 3 exited with status 139)", text)

    def test_a_loss_that_ends_not_finite_is_said(self) -> None:
        curve = make_text_curve(1.0, 2.0)
        curve[-1]["test_loss"] = None
        aims = {"aims": ({"bits_per_byte": 2.2},)}
        rows = self.rows(
            make_converge_record("dense", curve=make_text_curve(1.0, 2.0), **aims),
            make_converge_record("fp16", curve=curve, **aims),
        )
        self.assertEqual(rows["dense"]["final bits per byte"][:2], "2.")
        self.assertEqual(rows["fp16"]["final bits per byte"], "not finite")
        self.assertNotEqual(rows["fp16"]["iterations to target"], "never")

    def test_the_origin_has_no_cap_where_there_was_no_network(self) -> None:
        record = make_converge_record("dense")
        record["config"]["bottleneck"] = {"rate": "100 Mbit/s"}
        last = self.made(record).splitlines()[-1]
        self.assertTrue(last.startswith("mode converge · data fashion_mnist · model small_cnn · 8 workers · seed 1 · cpu "))
        self.assertTrue(last.endswith(" · commit 8991000f2c · run on 2026-11-20"))
        self.assertNotIn("cap", last)

    def test_live_runs_have_all_but_the_error_and_degraded_ones_are_marked(self) -> None:
        record = make_record("dense")
        record["fidelity"]["verdict"] = "degraded"
        text = self.made(record)
        self.assertEqual(rows_of(text)["dense†"]["vNMSE"], "-")
        self.assertIn("mode live", text)
        self.assertIn("† network emulation degraded", text)

    def test_modes_are_not_mixed(self) -> None:
        write(self.directory, make_record("dense"), make_converge_record("dense"))
        code, text, said = self.program()
        self.assertEqual((code, text), (2, ""))
        self.assertIn("runs of the modes converge and live", said)
        self.assertIn("for example with --mode converge", said)
        self.assertIn("mode converge", self.made(arguments=("--mode", "converge")))

    def test_csv(self) -> None:
        fp16 = make_converge_record("fp16", vnmse=1e-7, payload_bytes=2000)
        line = self.lines(make_converge_record("dense"), fp16)["fp16"]
        self.assertEqual(float(line["vnmse"]), 1e-7)
        self.assertEqual(float(line["payload_bytes_per_worker_and_iteration"]), 2000.0)
        self.assertEqual(float(line["effective_density"]), 0.5)
        self.assertEqual(float(line["final_accuracy"]), fp16["curve"][-1]["test_accuracy"])
        self.assertEqual(line["vnmse_ci95_low"], "")

    def test_a_level_that_is_there_at_the_start_is_refused(self) -> None:
        write(self.directory, make_converge_record("dense"))
        code, _, said = self.program("--target", "0.5")
        self.assertEqual(code, 2)
        self.assertIn("no higher than the accuracy a run starts from", said)


class UpdateTest(TableTest):
    script = methods_table

    def setUp(self) -> None:
        super().setUp()
        self.table = self.made(make_converge_record("dense"))
        self.page = self.directory.parent / "methods.md"

    def update(self, page: str) -> tuple[int, str]:
        self.page.write_bytes(page.encode())
        code, text, said = self.program("--update", str(self.page))
        self.assertEqual(text, "")
        return code, said

    def test_exactly_what_is_between_the_markers_is_replaced(self) -> None:
        self.page.touch(mode=0o640)
        self.assertEqual(self.update(PAGE), (0, ""))
        before, _, rest = PAGE.partition("\nan older table\n\n")
        self.assertEqual(self.page.read_bytes().decode(), f"{before}\n{self.table}\n{rest}")
        self.assertEqual(stat.S_IMODE(self.page.stat().st_mode), 0o640)
        self.assertEqual([path.name for path in self.page.parent.glob(".*")], [])

    def test_the_same_again_changes_nothing(self) -> None:
        self.update(PAGE)
        once = self.page.read_bytes()
        self.assertEqual(self.update(once.decode()), (0, ""))
        self.assertEqual(self.page.read_bytes(), once)

    def test_an_empty_part_is_filled(self) -> None:
        self.update(f"{BEGIN}\n{END}\n")
        self.assertEqual(self.page.read_text(), f"{BEGIN}\n\n{self.table}\n{END}\n")

    def test_a_page_that_does_not_say_where_is_named_and_left(self) -> None:
        begin, end = BEGIN, END
        for page, words in (
            ("# Methods\n", f"must have exactly one line '{begin}', but has none"),
            (f"{begin}\n", f"must have exactly one line '{end}', but has none"),
            (f"in a line: {begin}\n{end}\n", f"must have exactly one line '{begin}', but has none"),
            (f"{begin}\n{begin}\n{end}\n", f"must have exactly one line '{begin}', but has 2"),
            (f"{end}\n{begin}\n", f":1: '{end}' comes before '{begin}'"),
        ):
            with self.subTest(page=page):
                code, said = self.update(page)
                self.assertEqual(code, 2)
                self.assertIn(f"methods_table: {self.page}", said)
                self.assertIn(words, said)
                self.assertEqual(self.page.read_text(), page)

    def test_a_page_that_is_missing_is_named(self) -> None:
        code, _, said = self.program("--update", str(self.page))
        self.assertEqual((code, said), (2, f"methods_table: --update {self.page}: there is no such file\n"))
        self.assertFalse(self.page.exists())

    def test_a_page_takes_no_csv(self) -> None:
        self.page.write_text(PAGE)
        for others in (["--csv"], ["--output", "table.md"]):
            self.assertEqual(self.program("--update", str(self.page), *others)[0], 2)


class WithoutTimesTest(TableTest):
    """Programs that need times, with records of mode converge."""

    def test_figures_and_table_1_say_what_they_need(self) -> None:
        record = make_converge_record("dense", axes={"pruning.ratio": "0", "bottleneck.rate": "1 Gbit/s"})
        write(self.directory, record)
        for self.script in (time_to_accuracy, speedup, heat_map, table1):
            with self.subTest(script=self.script.__name__):
                code, text, said = self.program()
                self.assertEqual((code, text), (2, ""))
                self.assertIn(f"{self.directory}: run {record['run_id']} is of mode converge", said)
                self.assertIn("need runs of mode live", said)
                self.assertEqual(list(self.directory.glob("*.png")), [])

    def test_beside_live_runs_the_mode_to_choose_is_live(self) -> None:
        write(self.directory, make_record("dense"), make_converge_record("dense"))
        for self.script in (time_to_accuracy, speedup, table1):
            code, _, said = self.program()
            self.assertEqual(code, 2)
            self.assertIn("for example with --mode live", said)
        self.assertEqual(self.program("--mode", "live")[0], 0)

    def test_they_load_and_keep_what_they_have(self) -> None:
        record = make_converge_record("dense", vnmse=0.25)
        comparison = compare(load(write(self.directory, record)), needs_time=False)
        run = comparison.runs.iloc[0]
        self.assertEqual(run["compression.vnmse"], 0.25)
        self.assertEqual(run["target_iteration"], record["targets"][0]["iteration"])
        self.assertTrue(comparison.results.curves.train_time_s.isna().all())
        self.assertEqual(str(comparison.results.curves.train_time_s.dtype), "float64")


if __name__ == "__main__":
    unittest.main()
