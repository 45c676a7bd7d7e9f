import contextlib
import io
import math
import tempfile
import unittest
import warnings
from pathlib import Path
from typing import Any

import matplotlib.style
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import speedup
import time_to_accuracy
from comparison import Comparison, compare, quantity_key
from figure import STYLE_FILE
from load import InputError, load
from target import Target

from .records import (
    METHODS,
    TARGET,
    failed_record,
    make_curve,
    make_record,
    make_text_curve,
    make_text_record,
    write,
)


class FigureTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = Path(folder.name) / "quickstart"
        style = matplotlib.style.context(STYLE_FILE)
        style.__enter__()
        self.addCleanup(style.__exit__, None, None, None)

    def compared(self, *records: dict[str, Any], **options: Any) -> Comparison:
        return compare(load(write(self.directory, *records)), **options)

    def program(self, script: Any, *arguments: str) -> tuple[int, str]:
        """Exit code and what was said on the standard error."""
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            try:
                code = script.main([str(self.directory), *arguments])
            except SystemExit as leaving:
                code = leaving.code
        return code, said.getvalue()


def legend_texts(figure: Figure, panel: int = 0) -> list[str]:
    return [text.get_text() for text in figure.axes[panel].get_legend().get_texts()]


def small_print(figure: Figure) -> str:
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


class TimeToAccuracyTest(FigureTest):
    def test_one_curve_a_method_with_its_time_in_the_legend(self) -> None:
        records = [make_record(method) for method in METHODS]
        figure = time_to_accuracy.draw(self.compared(*records))
        self.assertEqual(
            legend_texts(figure),
            [
                "dense: 160 s",
                "fp16: 86 s",
                "pactrain: 84 s",
                "pactrain ternary: 29.4 s",
                "topk 0.01: not reached",
                "topk 0.1: 172 s",
            ],
        )
        lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
        dense = lines["dense: 160 s"]
        self.assertEqual(figure.axes[0].get_xscale(), "log")
        self.assertEqual(
            dense.get_xdata().tolist(), [point["train_time_s"] for point in records[0]["curve"][1:]]
        )
        self.assertEqual(
            dense.get_ydata().tolist(), [point["test_accuracy"] for point in records[0]["curve"][1:]]
        )

    def test_stars_stand_where_the_target_is_reached_and_nowhere_else(self) -> None:
        record = make_record("dense")
        figure = time_to_accuracy.draw(self.compared(record, make_record("topk 0.01")))
        stars = [line for line in figure.axes[0].get_lines() if line.get_marker() == "*"]
        self.assertEqual([star.get_xdata()[0] for star in stars], [record["targets"][0]["train_time_s"]])
        self.assertGreaterEqual(stars[0].get_ydata()[0], TARGET)

    def test_the_target_is_a_line_with_its_value(self) -> None:
        figure = time_to_accuracy.draw(self.compared(make_record("dense")))
        self.assertIn([TARGET, TARGET], [list(line.get_ydata()) for line in figure.axes[0].get_lines()])
        self.assertIn("target 84 %", [text.get_text() for text in figure.axes[0].texts])

    def test_like_speeds_are_drawn_on_a_linear_axis_from_zero(self) -> None:
        figure = time_to_accuracy.draw(self.compared(make_record("dense"), make_record("fp16")))
        self.assertEqual(figure.axes[0].get_xscale(), "linear")
        self.assertEqual(figure.axes[0].get_xlim()[0], 0.0)
        self.assertIn(0.0, figure.axes[0].get_lines()[1].get_xdata())

    def test_long_runs_are_in_hours_throughout(self) -> None:
        slow = make_record("dense", curve=make_curve(90.0, 0.868))
        figure = time_to_accuracy.draw(self.compared(slow, make_record("fp16")))
        self.assertEqual(legend_texts(figure), ["dense: 5 h", "fp16: 0.0239 h"])
        self.assertEqual(figure.axes[0].get_xlabel(), "Train time (h)")

    def test_failed_runs_are_in_the_legend_and_their_reason_in_the_small_print(self) -> None:
        figure = time_to_accuracy.draw(self.compared(make_record("dense"), failed_record("topk 0.1")))
        self.assertEqual(legend_texts(figure), ["dense: 160 s", "topk 0.1: failed"])
        self.assertIn("topk 0.1: failed (rank 3 exited with status 139)", small_print(figure))

    def test_an_incomplete_run_has_not_reached_what_its_curve_touched(self) -> None:
        partial = make_record("fp16", status="interrupted", error={"message": "stopped by the user"})
        figure = time_to_accuracy.draw(self.compared(make_record("dense"), partial))
        self.assertEqual(legend_texts(figure)[1], "fp16: interrupted")

    def test_colours_do_not_depend_on_which_runs_are_shown(self) -> None:
        def colour(figure: Figure, label: str) -> str:
            lines = figure.axes[0].get_lines()
            return next(to_hex(line.get_color()) for line in lines if line.get_label().startswith(label))

        axes = {"bottleneck.rate": "1 Gbit/s"}
        shared = [make_record(method) for method in METHODS]
        for record in shared:
            record["labels"]["bottleneck.rate"] = "100 Mbit/s"
        few = [make_record(method, axes=axes) for method in ("dense", "topk 0.1")]
        everything = time_to_accuracy.draw(self.compared(*shared, *few))
        filtered = time_to_accuracy.draw(compare(load(self.directory), where={"bottleneck.rate": "1 Gbit/s"}))
        self.assertEqual(colour(everything, "topk 0.1:"), colour(filtered, "topk 0.1:"))
        self.assertEqual(colour(filtered, "dense:"), "#000000")

    def test_other_axes_get_panels_in_order_of_quantity(self) -> None:
        rates = ("1 Gbit/s", "100 Mbit/s", "500 Mbit/s")
        records = [make_record("dense", axes={"bottleneck.rate": rate}) for rate in rates]
        figure = time_to_accuracy.draw(self.compared(*records))
        self.assertEqual(
            [axes.get_title() for axes in figure.axes],
            ["bottleneck.rate = 100 Mbit/s", "bottleneck.rate = 500 Mbit/s", "bottleneck.rate = 1 Gbit/s"],
        )

    def test_small_print_names_the_origin(self) -> None:
        records = [make_record("dense"), make_record("fp16")]
        records[1]["provenance"]["dirty"] = True
        records[1]["fidelity"]["verdict"] = "degraded"
        figure = time_to_accuracy.draw(self.compared(*records))
        for words in (
            "mode live",
            "data fashion_mnist",
            "cpu Intel Xeon Platinum 8358P (2 cores)",
            "commit 8991000f2c,",
            "8991000f2c + uncommitted changes",
            "† network emulation degraded",
        ):
            self.assertIn(words, small_print(figure))
        self.assertEqual(legend_texts(figure)[1], "fp16†: 86 s")

    def test_small_print_says_that_links_changed(self) -> None:
        def note_on(*events: dict[str, object]) -> str:
            record = make_record("dense", network_events=list(events))
            return small_print(time_to_accuracy.draw(self.compared(record, make_record("fp16"))))

        self.assertIn("links changed during the runs", note_on({"confirmed_s": 2.5}))
        self.assertNotIn("links changed", note_on({"confirmed_s": None}))
        self.assertNotIn("links changed", note_on())
        old = make_record("dense")
        del old["network_events"]
        self.assertNotIn("links changed", small_print(time_to_accuracy.draw(self.compared(old))))

    def test_settings_that_differ_beside_the_method_are_named(self) -> None:
        records = [make_record("dense"), make_record("fp16", seed=2)]
        self.assertNotIn("also differ", small_print(time_to_accuracy.draw(self.compared(*records))))
        records[0]["config"]["optimiser"] = {"name": "sgd", "learning_rate": 0.05}
        records[1]["config"]["optimiser"] = {"name": "sgd", "learning_rate": 0.1}
        figure = time_to_accuracy.draw(self.compared(*records))
        self.assertIn("methods also differ in optimiser.learning_rate", small_print(figure))

    def test_another_target_is_judged_from_the_curve_and_said_so(self) -> None:
        record = make_record("dense")
        comparison = self.compared(record, target=Target("accuracy", 0.8))
        expected = next(point for point in record["curve"] if point["test_accuracy"] >= 0.8)
        self.assertEqual(comparison.runs.target_time_s.tolist(), [expected["train_time_s"]])
        self.assertIn("target chosen after the runs", small_print(time_to_accuracy.draw(comparison)))

    def test_seeds_share_a_colour_and_a_legend_entry(self) -> None:
        records = [make_record("dense", seed=seed) for seed in (1, 2, 3)]
        figure = time_to_accuracy.draw(self.compared(*records))
        self.assertEqual(legend_texts(figure), ["dense: 160 s"])
        self.assertIn("3 seeds", small_print(figure))


class SpeedupTest(FigureTest):
    def bars(self, figure: Figure, baseline: str, panel: int = 0) -> list[float]:
        return [
            round(bar.patches[0].get_width(), 6)
            for bar in figure.axes[panel].containers
            if bar.get_label() == f"_{baseline}"
        ]

    def words(self, figure: Figure) -> list[str]:
        return [text.get_text() for text in figure.axes[0].texts]

    def test_bars_are_ratios_of_times_to_the_target(self) -> None:
        figure = speedup.draw(
            self.compared(*[make_record(name) for name in ("dense", "fp16", "pactrain ternary")])
        )
        self.assertEqual(self.bars(figure, "dense"), [1.0, round(160 / 86, 6), round(160 / 29.4, 6)])
        self.assertEqual(self.bars(figure, "fp16"), [round(86 / 160, 6), 1.0, round(86 / 29.4, 6)])
        self.assertEqual(legend_texts(figure), ["over dense", "over fp16"])
        names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        self.assertEqual(names[2], "pactrain ternary\n29.4 s, 280 iterations")

    def test_methods_without_a_time_keep_their_place_with_words(self) -> None:
        figure = speedup.draw(
            self.compared(make_record("dense"), make_record("topk 0.01"), failed_record("topk 0.1"))
        )
        self.assertEqual(len(figure.axes[0].get_yticklabels()), 3)
        self.assertEqual(self.words(figure), ["1.00×", "not reached (best 83.2 %)", "failed"])

    def test_a_baseline_that_never_arrives_gives_lower_bounds(self) -> None:
        dense = make_record("dense", curve=make_curve(0.8, 0.80))
        figure = speedup.draw(self.compared(dense, make_record("fp16")))
        self.assertEqual(self.bars(figure, "dense"), [round(384 / 86, 6)])
        self.assertIn("≥ 4.47×", self.words(figure))
        self.assertEqual(legend_texts(figure)[0], "over dense (it did not reach the target: ≥)")

    def test_seeds_are_paired_and_their_spread_drawn(self) -> None:
        records = [make_record("dense", seed=seed, curve=make_curve(0.8 * seed, 0.868)) for seed in (1, 2)]
        records += [make_record("fp16", seed=seed, curve=make_curve(0.4, 0.868)) for seed in (1, 2)]
        figure = speedup.draw(self.compared(*records))
        self.assertEqual(self.bars(figure, "dense"), [1.0, 3.0])
        self.assertIn(
            [2.0, 4.0], [[round(x, 6) for x in line.get_xdata()] for line in figure.axes[0].get_lines()]
        )

    def test_a_failed_dense_run_leaves_the_bars_over_fp16(self) -> None:
        figure = speedup.draw(self.compared(failed_record("dense"), make_record("fp16")))
        self.assertEqual(legend_texts(figure), ["over fp16"])
        self.assertEqual(self.words(figure), ["failed", "1.00×"])

    def test_the_synchroniser_decides_what_dense_is(self) -> None:
        record = make_record("dense", labels={"method": "all-reduce"})
        figure = speedup.draw(self.compared(record, make_record("pactrain")))
        self.assertEqual(self.bars(figure, "dense"), [1.0, round(160 / 84, 6)])

    def test_no_baseline_at_all_is_an_error(self) -> None:
        with self.assertRaisesRegex(InputError, "neither a dense nor an fp16 run"):
            speedup.draw(self.compared(make_record("pactrain")))

    def test_two_kinds_of_dense_are_ambiguous(self) -> None:
        records = [make_record("dense", seed=1, labels={"method": name}) for name in ("ring", "tree")]
        records[1]["run_id"] = "tree"
        with self.assertRaisesRegex(InputError, r"several methods synchronise by dense \(ring, tree\)"):
            speedup.draw(self.compared(*records))


class LossTargetTest(FigureTest):
    def test_the_axis_is_that_of_the_metric(self) -> None:
        records = [make_text_record(method) for method in METHODS]
        figure = time_to_accuracy.draw(self.compared(*records))
        axes = figure.axes[0]
        self.assertEqual(axes.get_ylabel(), "Bits per byte")
        self.assertEqual(axes.yaxis.get_major_formatter()(2.5), "2.5")
        self.assertIn("target 2.2", [text.get_text() for text in axes.texts])
        self.assertIn([2.2, 2.2], [list(line.get_ydata()) for line in axes.get_lines()])
        dense = next(line for line in axes.get_lines() if line.get_label().startswith("dense:"))
        for drawn, point in zip(dense.get_ydata(), records[0]["curve"][1:]):
            self.assertAlmostEqual(drawn, point["test_loss"] / 0.6931471805599453)

    def test_bits_are_reached_at_or_below_the_target(self) -> None:
        record = make_text_record("dense")
        figure = time_to_accuracy.draw(self.compared(record, make_text_record("topk 0.01")))
        stars = [line for line in figure.axes[0].get_lines() if line.get_marker() == "*"]
        self.assertEqual([star.get_xdata()[0] for star in stars], [record["targets"][0]["train_time_s"]])
        self.assertLessEqual(stars[0].get_ydata()[0], 2.2)
        self.assertEqual(legend_texts(figure)[1], "topk 0.01: not reached")
        self.assertNotIn("target chosen after the runs", small_print(figure))

    def test_a_target_in_nats_is_judged_from_the_curve_and_said_so(self) -> None:
        curve = make_text_curve(1.0, 2.0)
        for point, loss in zip(curve, (5.5, 3.0, None, 2.5, 2.4)):
            point["test_loss"] = loss
        comparison = self.compared(
            make_text_record("dense", curve=curve[:5]), target=Target("test_loss", 2.5)
        )
        self.assertEqual(comparison.runs.target_time_s.tolist(), [60.0])
        self.assertEqual(comparison.runs.best_level.tolist(), [2.4])
        figure = time_to_accuracy.draw(comparison)
        self.assertEqual(figure.axes[0].get_ylabel(), "Test loss (nats)")
        self.assertIn("target chosen after the runs", small_print(figure))

    def test_a_loss_that_was_not_finite_is_a_gap_and_reaches_nothing(self) -> None:
        curve = make_text_curve(1.0, 2.0)
        reached = next(index for index, point in enumerate(curve) if point["test_loss"] / 0.6931472 <= 2.2)
        for point in curve[1:3] + curve[reached + 1 :]:
            point["test_loss"] = None
        figure = time_to_accuracy.draw(self.compared(make_text_record("dense", curve=curve)))
        line, star = figure.axes[0].get_lines()[1:]
        self.assertEqual(
            [math.isnan(level) for level in line.get_ydata()], [point["test_loss"] is None for point in curve]
        )
        self.assertAlmostEqual(star.get_ydata()[0], curve[reached]["test_loss"] / math.log(2.0))

    def test_a_run_that_diverges_does_not_flatten_the_others(self) -> None:
        diverging = make_text_curve(1.0, 2.0)
        for point in diverging[5:]:
            point["test_loss"] = 1e9
        failed = make_text_record("fp16", curve=diverging, status="failed", error={"message": "diverged"})
        figure = time_to_accuracy.draw(self.compared(make_text_record("dense"), failed))
        bottom, top = figure.axes[0].get_ylim()
        self.assertGreater(top, 8.0)
        self.assertLess(top, 9.0)
        self.assertGreater(bottom, 1.5)
        self.assertLess(bottom, 2.0)
        # Dots of a line that leads far outside would be as many as its length: more than memory holds.
        lines = figure.axes[0].get_lines()
        drawn = max(next(line for line in lines if line.get_label() == "fp16: failed").get_ydata())
        self.assertGreater(drawn, top)
        self.assertLess(drawn, 2.5 * top)

    def test_a_start_that_is_exceeded_a_little_stays_in_the_picture(self) -> None:
        rising = make_text_curve(1.0, 2.0)
        rising[1]["test_loss"] = 9.0 * math.log(2.0)
        rising = make_text_record("fp16", curve=rising)
        figure = time_to_accuracy.draw(self.compared(make_text_record("dense"), rising))
        self.assertGreater(figure.axes[0].get_ylim()[1], 9.0)

    def test_speedup_in_bits_per_byte(self) -> None:
        records = [make_text_record(method) for method in ("dense", "fp16", "topk 0.01")]
        time_s = [record["targets"][0]["train_time_s"] for record in records]
        figure = speedup.draw(self.compared(*records))
        axes = figure.axes[0]
        self.assertEqual(axes.get_xlabel(), "Speed-up in time to 2.2 bits per byte")
        lowest = min(point["test_loss"] for point in records[2]["curve"]) / math.log(2.0)
        self.assertEqual(
            [text.get_text() for text in axes.texts],
            [
                "1.00×",
                f"{time_s[1] / time_s[0]:.2f}×",
                f"{time_s[0] / time_s[1]:.2f}×",
                "1.00×",
                f"not reached (best {lowest:.4g})",
            ],
        )

    def test_the_hardest_common_target_is_the_default(self) -> None:
        for aims, hardest in (
            (({"bits_per_byte": 2.5}, {"bits_per_byte": 2.2}, {"bits_per_byte": 3}), "bits_per_byte=2.2"),
            (({"test_loss": 2}, {"test_loss": 1.75}), "test_loss=1.75"),
            ((0.3, 0.5, {"accuracy": 0.4}), "0.5"),
        ):
            records = [make_text_record("dense", aims=aims), make_text_record("fp16", aims=aims[::-1])]
            comparison = compare(load(write(self.directory / hardest, *records)))
            self.assertEqual(comparison.target.option, hardest)
            self.assertTrue(comparison.target_was_preset)

    def test_a_target_of_some_runs_only_is_no_default(self) -> None:
        few = make_text_record("dense", aims=({"bits_per_byte": 2.5},))
        more = make_text_record("fp16", aims=({"bits_per_byte": 2.5}, {"bits_per_byte": 2.2}))
        self.assertEqual(self.compared(few, more).target, Target("bits_per_byte", 2.5))

    def test_equal_levels_of_two_metrics_are_two_targets(self) -> None:
        record = make_text_record("dense", aims=({"bits_per_byte": 2.2},))
        comparison = self.compared(record, target=Target("test_loss", 2.2))
        self.assertFalse(comparison.target_was_preset)
        expected = next(point for point in record["curve"] if point["test_loss"] <= 2.2)
        self.assertEqual(comparison.runs.target_time_s.tolist(), [expected["train_time_s"]])

    def test_common_targets_of_several_metrics_need_a_choice(self) -> None:
        record = make_text_record("dense", aims=(0.5, {"bits_per_byte": 2.2}))
        with self.assertRaisesRegex(InputError, r"several metrics \(0\.5, bits_per_byte=2\.2\)"):
            self.compared(record)
        comparison = self.compared(record, target=Target("bits_per_byte", 2.2))
        self.assertTrue(comparison.target_was_preset)

    def test_no_common_target_says_what_to_give(self) -> None:
        with self.assertRaisesRegex(InputError, "no target in common; give one with --target"):
            self.compared(make_text_record("dense"), make_text_record("fp16", aims=(0.5,)))

    def test_a_loss_no_lower_than_at_the_start_is_refused(self) -> None:
        message = r"bits_per_byte=8\.1 is no lower than the bits per byte .* give a lower one"
        with self.assertRaisesRegex(InputError, message):
            self.compared(make_text_record("dense"), target=Target("bits_per_byte", 8.1))


class CommandLineTest(FigureTest):
    def test_both_formats_are_written_in_the_results_folder(self) -> None:
        write(self.directory, *[make_record(method) for method in METHODS])
        for script, name in ((time_to_accuracy, "time_to_accuracy"), (speedup, "speedup")):
            self.assertEqual(self.program(script), (0, ""))
            self.assertTrue((self.directory / f"{name}.png").read_bytes().startswith(b"\x89PNG"))
            pdf = (self.directory / f"{name}.pdf").read_bytes()
            self.assertTrue(pdf.startswith(b"%PDF"))
            self.assertIn(b"/FontFile2", pdf)
            self.assertNotIn(b"/Type3", pdf)
        self.assertEqual([path.name for path in self.directory.glob(".*")], [])

    def test_same_records_give_the_same_bytes(self) -> None:
        write(self.directory, make_record("dense"))
        written = []
        for name in ("one", "two"):
            self.program(time_to_accuracy, "--output", str(self.directory / f"{name}.pdf"))
            written.append([(self.directory / f"{name}{suffix}").read_bytes() for suffix in (".png", ".pdf")])
        self.assertEqual(written[0], written[1])

    def test_failed_runs_are_told_on_the_terminal(self) -> None:
        write(self.directory, make_record("dense"), failed_record("topk 0.1"))
        code, said = self.program(speedup)
        self.assertEqual((code, said), (0, "speedup: topk 0.1: failed (rank 3 exited with status 139)\n"))

    def test_two_modes_need_a_choice(self) -> None:
        write(self.directory, make_record("dense"), make_record("dense", mode="simulate"))
        code, said = self.program(time_to_accuracy)
        self.assertEqual(code, 2)
        self.assertIn("runs of the modes live and simulate", said)
        self.assertEqual(self.program(time_to_accuracy, "--mode", "live")[0], 0)
        self.assertEqual(self.program(time_to_accuracy, "--mode", "replay")[0], 2)

    def test_wrong_input_is_one_line_and_exit_code_2(self) -> None:
        write(self.directory, make_record("dense"))
        for arguments, words in (
            (["--target", "84"], "'84' must be a number above 0 and at most 1"),
            (["--target", "bits_per_byte=0"], "'bits_per_byte=0' must be a number above 0"),
            (["--target", "bits_per_bite=2"], "such as bits_per_byte=2.2 or test_loss=0.5"),
            (["--target", "0.5"], "no higher than the accuracy a run starts from"),
            (["--output", "figure.svg"], "must end in .png or .pdf"),
            (["--output", "/nowhere/at/all.png"], "/nowhere/at does not exist"),
            (["--where", "rate"], "'rate' must be AXIS=VALUE"),
            (["--where", "rate=1"], "swept are none"),
            (["--mode", "replay"], "holds runs of mode live only"),
        ):
            code, said = self.program(time_to_accuracy, *arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn(words, said)
            self.assertNotIn("Traceback", said)

    def test_other_metrics_are_given_by_name(self) -> None:
        curve = make_text_curve(0.43, 2.0)
        curve[2]["test_loss"] = None
        write(self.directory, make_text_record("dense"), make_text_record("fp16", curve=curve))
        for script, target in ((time_to_accuracy, "bits_per_byte=2.5"), (speedup, "test_loss=1.75")):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(self.program(script, "--target", target), (0, ""))

    def test_a_missing_folder_is_named_itself(self) -> None:
        code, said = self.program(speedup)
        self.assertEqual((code, said), (2, f"speedup: {self.directory}: no such results folder\n"))

    def test_runs_of_different_tasks_do_not_share_a_panel(self) -> None:
        other = make_record("fp16")
        other["config"]["dataset"]["name"] = "synthetic"
        write(self.directory, make_record("dense"), other)
        code, said = self.program(time_to_accuracy)
        self.assertEqual(code, 2)
        self.assertIn("differ in dataset.name (fashion_mnist, synthetic)", said)

    def test_a_folder_of_only_failures_still_gives_a_picture_of_them(self) -> None:
        write(self.directory, failed_record("dense"), failed_record("fp16"))
        self.assertEqual(self.program(time_to_accuracy)[0], 0)
        self.assertEqual(self.program(speedup)[0], 2)


class QuantityOrderTest(unittest.TestCase):
    def test_numbers_with_prefixes(self) -> None:
        texts = ["1 Gbit/s", "100 Mbit/s", "64 KiB", "0.1", "0.01", "8", "16"]
        self.assertEqual(sorted(texts[:2], key=quantity_key), ["100 Mbit/s", "1 Gbit/s"])
        self.assertEqual(sorted(texts[3:], key=quantity_key), ["0.01", "0.1", "8", "16"])
        self.assertEqual(sorted(["20 ms", "1 s"], key=quantity_key), ["20 ms", "1 s"])
