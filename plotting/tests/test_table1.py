# SPDX-License-Identifier: Apache-2.0
import contextlib
import csv
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import table1

from .records import METHODS, failed_record, make_converge_record, make_curve, make_record, make_text_record, write


class TableTest(unittest.TestCase):
    script: Any = table1

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = Path(folder.name) / "paper-table1"

    def program(self, *arguments: str) -> tuple[int, str, str]:
        """Returns exit code, standard output and standard error."""
        made, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(made), contextlib.redirect_stderr(said):
            try:
                code = self.script.main([str(self.directory), *arguments])
            except SystemExit as leaving:
                code = leaving.code
        return code, made.getvalue(), said.getvalue()

    def made(self, *records: dict[str, Any], arguments: tuple[str, ...] = ()) -> str:
        write(self.directory, *records)
        code, text, said = self.program(*arguments)
        self.assertEqual(code, 0, said)
        return text

    def rows(self, *records: dict[str, Any], arguments: tuple[str, ...] = ()) -> dict[str, dict[str, str]]:
        return rows_of(self.made(*records, arguments=arguments))

    def lines(self, *records: dict[str, Any], arguments: tuple[str, ...] = ()) -> dict[str, dict[str, str]]:
        """Returns the lines of the CSV by method."""
        text = self.made(*records, arguments=("--csv", *arguments))
        return {line["method"]: line for line in csv.DictReader(io.StringIO(text))}


def rows_of(text: str) -> dict[str, dict[str, str]]:
    """Returns the cells of the last table by method and heading, without the line below the headings."""
    lines = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]
    start = max(place for place, line in enumerate(lines) if line[0].split(" [")[0] == "method")
    return {line[0]: dict(zip(lines[start], line)) for line in lines[start + 2 :]}


def seeds(method: str, *iteration_times_s: float, best: float = 0.868) -> list[dict[str, Any]]:
    return [
        make_record(method, seed=seed, curve=make_curve(time_s, best))
        for seed, time_s in enumerate(iteration_times_s, 1)
    ]


def with_set_up(record: dict[str, Any], pretraining_s: float | None, pruning_s: float | None = 0.0) -> dict[str, Any]:
    source = None if pretraining_s is None else "measured"
    return record | {
        "set_up": {"pretraining_s": pretraining_s, "pretraining_from": source, "pruning_s": pruning_s}
    }


class SetUpTest(TableTest):
    def test_the_cost_of_set_up_counts_for_both(self) -> None:
        dense, topk = make_record(), make_record("topk 0.1")
        plain = self.rows(with_set_up(dense, 0.0), with_set_up(topk, 0.0))["topk 0.1"]
        self.assertEqual(plain["with set-up (s)"], plain["TTA (s)"])
        self.assertEqual(plain["vs dense with set-up"], plain["speed-up vs dense"])
        lines = self.lines(with_set_up(dense, 100.0), with_set_up(topk, 100.0, 2.0))
        time_s = float(lines["topk 0.1"]["time_to_accuracy_s"])
        dense_s = float(lines["dense"]["time_to_accuracy_s"])
        self.assertAlmostEqual(float(lines["topk 0.1"]["time_to_accuracy_with_set_up_s"]), time_s + 102.0)
        self.assertAlmostEqual(
            float(lines["topk 0.1"]["speed_up_over_dense_with_set_up"]), (dense_s + 100.0) / (time_s + 102.0)
        )
        self.assertIn("100 to 102 s here", self.made(with_set_up(dense, 100.0), with_set_up(topk, 100.0, 2.0)))

    def test_an_unknown_cost_is_not_zero(self) -> None:
        row = self.rows(with_set_up(make_record(), 0.0), make_record("topk 0.1"))["topk 0.1"]
        self.assertEqual((row["with set-up (s)"], row["vs dense with set-up"]), ("unknown", "unknown"))
        self.assertNotIn("unknown", row["speed-up vs dense"])

    def test_it_is_unknown_if_it_is_for_one_of_several_seeds(self) -> None:
        first, second = seeds("dense", 0.8, 0.9)
        row = self.rows(with_set_up(first, 1.0), second)["dense"]
        self.assertEqual(row["with set-up (s)"], "unknown")


class Table1Test(TableTest):
    def test_a_row_a_method_with_its_three_marks(self) -> None:
        rows = self.rows(*[make_record(method) for method in METHODS])
        self.assertEqual(
            list(rows["dense"]),
            [
                *("method", "iterations to target", "convergence speed vs dense", "all-reduce compatible"),
                *("TTA (s)", "with set-up (s)", "speed-up vs dense", "vs dense with set-up", "speed-up vs fp16"),
                *("convergence", "all-reduce", "TTA"),
            ],
        )
        self.assertEqual(
            [[cell for heading, cell in row.items() if "set-up" not in heading] for row in rows.values()],
            [
                ["dense", "200", "1.00×", "yes", "160", "1.00×", "0.54×", "✓", "✓", "✗"],
                ["fp16", "200", "1.00×", "yes", "86.0", "1.86×", "1.00×", "✓", "✓", "✗"],
                ["pactrain", "200", "1.00×", "yes", "84.0", "1.90×", "1.02×", "✓", "✓", "✓"],
                ["pactrain ternary", "280", "0.71×", "yes", "29.4", "5.44×", "2.93×", "✗", "✓", "✓"],
                ["topk 0.01", "never in 480", "never", "no", "never in 57.6", "never", "never", "✗", "✗", "✗"],
                ["topk 0.1", "260", "0.77×", "no", "172", "0.93×", "0.50×", "✗", "✗", "✗"],
            ],
        )

    def test_the_tolerance_decides_the_mark_for_convergence(self) -> None:
        records = [make_record(method) for method in ("dense", "fp16", "pactrain ternary")]
        for tolerance, mark in (("0.4", "✓"), ("0.39", "✗"), ("0", "✗")):
            text = self.made(*records, arguments=("--tolerance", tolerance))
            self.assertEqual(rows_of(text)["pactrain ternary"]["convergence"], mark)
            self.assertEqual(rows_of(text)["dense"]["convergence"], "✓")
            self.assertIn(f"in at most {100 * float(tolerance):g} % more iterations than dense.", text)

    def test_a_tie_with_fp16_is_no_mark(self) -> None:
        records = [make_record("dense"), make_record("fp16"), *seeds("pactrain", 0.43, best=0.867)]
        self.assertEqual(self.rows(*records)["pactrain"]["speed-up vs fp16"], "1.00×")
        self.assertEqual(self.rows(*records)["pactrain"]["TTA"], "✗")

    def test_seeds_are_paired_and_have_a_spread(self) -> None:
        records = [*seeds("dense", 0.8, 1.6), *seeds("fp16", 0.4, 0.4), *seeds("pactrain", 0.4, 0.2)]
        text = self.made(*records)
        pactrain = rows_of(text)["pactrain"]
        self.assertEqual(pactrain["iterations to target"], "200 [200, 200]")
        self.assertEqual(pactrain["TTA (s)"], "60.0 [40.0, 80.0]")
        self.assertEqual(pactrain["speed-up vs dense"], "4.00× [2.00, 8.00]")
        self.assertEqual(pactrain["speed-up vs fp16"], "1.41× [1.00, 2.00]")
        self.assertIn("| method [95 % CI] |", text)
        self.assertIn("95 % confidence interval of the mean over seeds", text)
        self.assertIn("seeds 1, 2", text)

    def test_one_seed_has_no_spread(self) -> None:
        self.assertNotIn("CI", self.made(make_record("dense"), make_record("fp16")))

    def test_seeds_without_a_partner_are_counted_and_cost_the_mark(self) -> None:
        row = self.rows(make_record("dense"), make_record("fp16"), *seeds("pactrain", 0.2, 0.2))["pactrain"]
        self.assertEqual([row["TTA (s)"], row["speed-up vs dense"]], ["40.0 [40.0, 40.0]", "4.00× (1 of 2)"])
        self.assertEqual([row["convergence"], row["TTA"]], ["-", "-"])

    def test_seeds_that_never_arrive_are_counted_and_cost_the_marks(self) -> None:
        pactrain = seeds("pactrain", 0.2, 0.2, 0.2)
        pactrain[2] = make_record("pactrain", seed=3, curve=make_curve(0.2, 0.80))
        rows = self.rows(*seeds("dense", 0.8, 0.8, 0.8), *seeds("fp16", 0.4, 0.4, 0.4), *pactrain)
        self.assertEqual(rows["pactrain"]["iterations to target"], "≥ 293 (2 of 3 reached)")
        self.assertEqual(rows["pactrain"]["TTA (s)"], "≥ 58.7 (2 of 3 reached)")
        bound = (4 * 4 * 160 / 96) ** (1 / 3)
        self.assertEqual(rows["pactrain"]["speed-up vs dense"], f"≤ {bound:.2f}× (2 of 3 reached)")
        self.assertEqual(list(rows["pactrain"].values())[-3:], ["✗", "✓", "✗"])

    def test_the_convergence_speed_is_the_ratio_of_the_means_beside_it(self) -> None:
        bests = {"dense": (0.868, 0.95), "topk 0.1": (0.95, 0.868)}  # the second seed reaches the target later or sooner
        records = [
            make_record(method, seed=seed, curve=make_curve(0.8, best))
            for method, of_seeds in bests.items()
            for seed, best in enumerate(of_seeds, 1)
        ]
        records[3]["curve"] = make_curve(0.8, 0.862)
        text = self.made(*records)
        iterations = [float(rows_of(text)[method]["iterations to target"].split(" ")[0]) for method in bests]
        shown = rows_of(text)["topk 0.1"]
        self.assertEqual(shown["convergence speed vs dense"], f"{iterations[0] / iterations[1]:.2f}×")
        per_seed = self.program("--csv")[1]
        line = next(csv.DictReader(io.StringIO("\n".join(per_seed.splitlines()[::2]))))
        self.assertAlmostEqual(float(line["convergence_speed_over_dense"]), iterations[0] / iterations[1])
        self.assertEqual(shown["convergence"], "✓" if iterations[1] <= 1.1 * iterations[0] else "✗")

    def test_bounds_from_both_sides_have_no_mean(self) -> None:
        dense = [make_record("dense", curve=make_curve(0.8, 0.80)), *seeds("dense", 0.8, 0.8)[1:]]
        topk = [*seeds("topk 0.1", 0.4), make_record("topk 0.1", seed=2, curve=make_curve(0.4, 0.80))]
        row = self.rows(*dense, *topk)["topk 0.1"]
        self.assertEqual([row["convergence speed vs dense"], row["speed-up vs dense"]], ["-", "-"])
        self.assertEqual(row["convergence"], "✗")
        self.assertEqual(row["TTA (s)"].split(" (")[1], "1 of 2 reached)")

    def test_a_seed_that_failed_makes_the_means_bounds(self) -> None:
        pactrain = [*seeds("pactrain", 0.2, 0.2), failed_record("pactrain", seed=3)]
        text = self.made(*seeds("dense", 0.8, 0.8, 0.8), *pactrain)
        row = rows_of(text)["pactrain"]
        self.assertEqual(row["TTA (s)"], "≥ 40.0 (2 of 3 reached, 1 failed)")
        self.assertEqual(row["speed-up vs dense"], "≤ 4.00× (2 of 3 reached, 1 failed)")
        self.assertIn("runs that failed are left out", text)

    def test_intervals_of_few_seeds_say_how_often_they_hold(self) -> None:
        text = self.made(*seeds("dense", 0.8, 0.8, 0.8), *seeds("fp16", 0.4, 0.4, 0.4))
        self.assertIn("with 3 seeds it covers the true mean in about 75 % of cases", text)
        self.assertNotIn("≥, ≤: bounds", text)

    def test_a_baseline_of_another_commit_is_named(self) -> None:
        fp16 = make_record("fp16")
        fp16["provenance"]["git_commit"] = "0" * 40
        last = self.made(make_record("dense"), fp16).splitlines()[-1]
        self.assertTrue(last.endswith(" · baselines measured by another machine or program: fp16, dense"), last)

    def test_failed_runs_stay_without_a_verdict(self) -> None:
        write(self.directory, make_record("dense"), make_record("fp16"), failed_record("topk 0.1"))
        code, text, said = self.program()
        row = rows_of(text)["topk 0.1"]
        self.assertEqual(row["TTA (s)"], "failed")
        self.assertEqual([row["convergence"], row["TTA"]], ["-", "-"])
        reason = "topk 0.1: failed (rank 3 exited with status 139)"
        self.assertEqual((code, said), (0, f"table1: {reason}\n"))
        self.assertIn(reason, text)

    def test_some_failed_and_some_never_are_both_told(self) -> None:
        topk = [make_record("topk 0.01"), failed_record("topk 0.01", seed=2)]
        row = self.rows(make_record("dense"), *topk)["topk 0.01"]
        self.assertEqual(row["TTA (s)"], "1 of 2 failed, 1 of 2 never")
        self.assertEqual(row["convergence"], "✗")

    def test_a_baseline_that_never_arrives_gives_bounds(self) -> None:
        text = self.made(make_record("dense", curve=make_curve(0.8, 0.80)), make_record("fp16"))
        fp16 = rows_of(text)["fp16"]
        self.assertEqual(fp16["convergence speed vs dense"], "≥ 2.40×")  # 480 iterations in total over 200
        self.assertEqual(fp16["speed-up vs dense"], "≥ 4.47×")
        self.assertEqual([fp16["convergence"], rows_of(text)["dense"]["convergence"]], ["✓", "✗"])
        self.assertIn("≥, ≤: bounds", text)

    def test_a_bound_that_does_not_decide_costs_no_mark(self) -> None:
        fp16 = make_record("fp16", curve=make_curve(0.2, 0.80))
        row = self.rows(make_record("dense"), fp16)["dense"]
        self.assertEqual((row["speed-up vs fp16"], row["TTA"]), ("≥ 0.60×", "-"))
        dense = make_record("dense", curve=make_curve(0.8, 0.80, iterations=100))
        row = self.rows(dense, make_record("fp16"))["fp16"]
        self.assertEqual((row["convergence speed vs dense"], row["convergence"]), ("≥ 0.50×", "-"))

    def test_what_is_not_known_is_not_claimed(self) -> None:
        old = make_record("pactrain")
        old["plan"] = {}
        row = self.rows(old)["pactrain"]
        self.assertEqual(row["TTA (s)"], "84.0")
        for heading in ("convergence speed vs dense", "all-reduce compatible", "convergence", "all-reduce", "TTA"):
            self.assertEqual(row[heading], "-")

    def test_the_origin_stands_below(self) -> None:
        records = [make_record(method, axes={"bottleneck.rate": "100 Mbit/s"}) for method in ("dense", "fp16")]
        records[1]["fidelity"]["verdict"] = "degraded"
        records[1]["provenance"]["started_at"] = "2026-11-21T01:00:00Z"
        text = self.made(*records)
        self.assertIn("fp16†", rows_of(text))
        self.assertIn("dense", rows_of(text))
        self.assertIn("Target: 84 % accuracy, evaluated every 20 iterations.", text)
        self.assertEqual(
            text.splitlines()[-1],
            "mode live · data fashion_mnist · model small_cnn · 8 workers · seed 1 · "
            "cpu Intel Xeon Platinum 8358P (2 cores) · commit 8991000f2c · "
            "cap 100 Mbit/s · run on 2026-11-20 to 2026-11-21 · † network emulation degraded",
        )

    def test_caps_of_a_topology_s_own_are_named(self) -> None:
        record = make_record("dense")
        record["config"]["bottleneck"] = None
        record["config"]["topology"]["links"] = [
            {"between": ["a", "b"], "bottleneck": True, "rate": rate} for rate in ("1 Gbit/s", "50 Mbit/s")
        ] + [{"between": ["b", "c"], "bottleneck": False, "rate": "10 Gbit/s"}]
        self.assertIn(" · cap 50 Mbit/s, 1 Gbit/s · ", self.made(record))

    def test_other_axes_get_tables_of_their_own(self) -> None:
        caps = ("1 Gbit/s", "100 Mbit/s")
        records = [make_record("dense", axes={"bottleneck.rate": cap}) for cap in caps]
        text = self.made(*records)
        titles = [line for line in text.splitlines() if line.startswith("**")]
        self.assertEqual(titles, ["**bottleneck.rate = 100 Mbit/s**", "**bottleneck.rate = 1 Gbit/s**"])
        text = self.made(arguments=("--where", "bottleneck.rate=1 Gbit/s"))
        self.assertNotIn("100 Mbit/s", text)

    def test_a_loss_may_be_the_target(self) -> None:
        text = self.made(make_text_record("dense"), make_text_record("topk 0.01"))
        self.assertIn("Target: 2.2 bits per byte", text)
        self.assertEqual(rows_of(text)["topk 0.01"]["TTA (s)"], "never in 57.6")

    def test_labels_are_no_markup(self) -> None:
        record = make_record("dense", labels={"method": "a|b *c* d_e <f> [g](h)"})
        self.assertIn("| a\\|b \\*c\\* d_e &lt;f&gt; [g\\](h) |", self.made(record))

    def test_csv_has_all_numbers_and_the_origin(self) -> None:
        records = [*seeds("dense", 0.8, 1.6), *seeds("pactrain", 0.4, 0.2), make_record("topk 0.01")]
        records[-1]["fidelity"]["verdict"] = "degraded"
        lines = self.lines(*records)
        pactrain, topk = lines["pactrain"], lines["topk 0.01"]
        self.assertEqual(float(pactrain["time_to_accuracy_s"]), 60.0)
        ends = [round(float(pactrain[f"speed_up_over_dense_ci95_{end}"]), 9) for end in ("low", "high")]
        self.assertEqual(ends, [2.0, 8.0])
        self.assertEqual(pactrain["speed_up_over_fp16"], "")
        self.assertEqual([pactrain["mark_convergence"], pactrain["all_reduce_compatible"]], ["true", "true"])
        self.assertEqual([topk[name] for name in ("runs", "reached", "degraded")], ["1", "0", "1"])
        self.assertEqual([topk["time_to_accuracy_s"], topk["mark_convergence"]], ["", "false"])
        self.assertIn("mode live", topk["origin"])

    def test_modes_are_not_mixed(self) -> None:
        write(self.directory, make_record("dense"), make_converge_record("dense"), make_record("fp16"))
        code, text, said = self.program()
        self.assertEqual((code, text), (2, ""))
        self.assertIn("runs of the modes converge and live", said)
        self.assertIn("--mode live", said)
        self.assertIn("mode live", self.made(arguments=("--mode", "live")))
        self.assertEqual(self.program("--mode", "converge")[0], 2)

    def test_output_is_written_whole(self) -> None:
        text = self.made(make_record("dense"))
        target = self.directory / "table1.md"
        self.assertEqual(self.program("--output", str(target)), (0, "", ""))
        self.assertEqual(target.read_text(encoding="utf-8"), text)
        self.assertEqual([path.name for path in self.directory.glob(".*")], [])
        self.assertEqual(self.program("--output", str(self.directory))[0], 1)

    def test_wrong_input_is_one_line_and_exit_code_2(self) -> None:
        write(self.directory, make_record("dense"))
        for arguments, words in (
            (["--tolerance", "-0.1"], "'-0.1' must be a number of at least 0"),
            (["--tolerance", "ten"], "'ten' must be a number of at least 0"),
            (["--target", "0.5"], "no higher than the accuracy a run starts from"),
            (["--output", "/nowhere/at/all.md"], "the folder /nowhere/at does not exist"),
            (["--mode", "replay"], "has only runs of mode live"),
        ):
            code, text, said = self.program(*arguments)
            self.assertEqual((code, text), (2, ""), arguments)
            self.assertIn(words, said)

    def test_help_has_the_rule(self) -> None:
        code, text, _ = self.program("--help")
        self.assertEqual(code, 0)
        for line in table1.rule(table1.TOLERANCE):
            self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
