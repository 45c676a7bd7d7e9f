# SPDX-License-Identifier: Apache-2.0
from matplotlib.figure import Figure

import speedup
from shared.dots import Dots, room_for_marks
from shared.figure import TimeUnit
from shared.report import InputError, Spread

from .figure_test import FigureTest, drawn, legend_texts, small_print
from .records import failed_record, make_curve, make_record, with_a_miss


class SpeedupTest(FigureTest):
    def means(self, figure: Figure, baseline: str, panel: int = 0) -> list[float]:
        return [
            round(float(line.get_xdata()[0]), 6)
            for line in figure.axes[panel].get_lines()
            if line.get_gid() == "mean" and (line.get_alpha() < 1) == (baseline == "fp16")
        ]

    def words(self, figure: Figure) -> list[str]:
        return [text.get_text() for text in figure.axes[0].texts]

    def test_dots_are_ratios_of_times_to_the_target(self) -> None:
        figure = speedup.draw(
            self.compared(*[make_record(name) for name in ("dense", "fp16", "pactrain ternary")])
        )
        self.assertEqual(self.means(figure, "dense"), [1.0, round(160 / 86, 6), round(160 / 29.4, 6)])
        self.assertEqual(self.means(figure, "fp16"), [round(86 / 160, 6), 1.0, round(86 / 29.4, 6)])
        self.assertEqual(legend_texts(figure), ["over dense", "over fp16"])
        names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        self.assertEqual(names[2], "pactrain ternary\n29.4 s, 280 iterations")

    def test_methods_without_a_time_keep_their_place_with_words(self) -> None:
        figure = speedup.draw(
            self.compared(make_record("dense"), make_record("topk 0.01"), failed_record("topk 0.1"))
        )
        self.assertEqual(len(figure.axes[0].get_yticklabels()), 3)
        self.assertEqual(self.words(figure), ["1.00×", "not reached (best 83.2 %)", "failed"])

    def test_a_failure_does_not_hide_the_seeds_that_missed_the_target(self) -> None:
        topk = [make_record("topk 0.01", seed=seed) for seed in (1, 2)]
        figure = speedup.draw(self.compared(make_record("dense"), *topk, failed_record("topk 0.01", seed=3)))
        self.assertEqual(self.words(figure)[1], "1 of 3 failed, not reached in 2 of 3 (best 83.2 %)")

    def test_a_baseline_that_never_arrives_gives_lower_bounds(self) -> None:
        dense = make_record("dense", curve=make_curve(0.8, 0.80))
        figure = speedup.draw(self.compared(dense, make_record("fp16")))
        self.assertEqual(self.means(figure, "dense"), [round(384 / 86, 6)])
        self.assertIn("≥ 4.47×", self.words(figure))
        self.assertEqual(legend_texts(figure)[0], "over dense (≥: it did not reach the target)")

    def test_times_are_lower_bounds_if_a_seed_missed_the_target(self) -> None:
        figure = speedup.draw(self.compared(make_record("dense"), *with_a_miss("fp16", 0.2)))
        self.assertEqual(figure.axes[0].get_yticklabels()[1].get_text(), "fp16\n≥ 68.0 s, ≥ 340 iterations")
        self.assertIn("4.00× (1 of 2 reached)", self.words(figure))  # the other seed has no baseline
        seeds = [make_record("dense", seed=seed) for seed in (1, 2)]
        figure = speedup.draw(self.compared(*seeds, *with_a_miss("fp16", 0.2)))
        self.assertIn(f"≤ {(160 / 40 * 160 / 96) ** 0.5:.2f}× (1 of 2 reached)", self.words(figure))
        self.assertIn([4.0, round(160 / 96, 6)], drawn(figure.axes[0], "runs"))
        self.assertEqual(len(drawn(figure.axes[0], "interval")), 1, "of dense over dense; bounds have none")
        self.assertIn("≥, ≤: bounds", small_print(figure))
        runs = self.compared(*with_a_miss("pactrain", 0.2))
        words = speedup.words_for(runs.runs[runs.runs.method == "pactrain"], TimeUnit("s", 1.0), runs)
        self.assertEqual(words, "≥ 68.0 s, not reached in 1 of 2")

    def test_methods_that_all_miss_the_target_have_words_alone(self) -> None:
        short = make_curve(0.8, 0.80)
        figure = speedup.draw(self.compared(make_record("dense", curve=short), make_record("topk 0.01", curve=short)))
        self.assertEqual(len(self.words(figure)), 2)
        self.assertTrue(all(words.startswith("not reached (best ") for words in self.words(figure)))

    def test_a_target_that_was_touched_and_lost_is_not_held(self) -> None:
        touched = make_record("topk 0.1", curve=make_curve(0.6, 0.868))
        touched["config"]["hold"] = 100
        figure = speedup.draw(self.compared(make_record("dense"), touched, make_record("topk 0.01")))
        words = " ".join(self.words(figure))
        self.assertIn("not held (best 8", words)
        self.assertIn("not reached (best 8", words)

    def test_seeds_are_paired_and_their_spread_drawn(self) -> None:
        records = [make_record("dense", seed=seed, curve=make_curve(0.8 * seed, 0.868)) for seed in (1, 2)]
        records += [make_record("fp16", seed=seed, curve=make_curve(0.4, 0.868)) for seed in (1, 2)]
        figure = speedup.draw(self.compared(*records))
        self.assertEqual(self.means(figure, "dense"), [1.0, round(8**0.5, 6)])
        # The bootstrap of two values ends at them.
        self.assertIn([2.0, 4.0], drawn(figure.axes[0], "interval"))
        self.assertIn([2.0, 4.0], drawn(figure.axes[0], "runs"))
        self.assertIn("95 % confidence interval of the mean over seeds", small_print(figure))

    def test_a_failed_dense_run_leaves_the_dots_over_fp16(self) -> None:
        figure = speedup.draw(self.compared(failed_record("dense"), make_record("fp16")))
        self.assertEqual(legend_texts(figure), ["over fp16"])
        self.assertEqual(self.words(figure), ["failed", "1.00×"])

    def test_the_method_of_the_configuration_decides_what_dense_is(self) -> None:
        record = make_record("dense", labels={"method": "all-reduce"})
        figure = speedup.draw(self.compared(record, make_record("pactrain")))
        self.assertEqual(self.means(figure, "dense"), [1.0, round(160 / 84, 6)])

    def test_dots_and_numbers_over_a_network_that_was_not_faithful_are_marked_one_by_one(self) -> None:
        records = [make_record("dense", seed=seed, curve=make_curve(0.8, 0.868)) for seed in (1, 2)]
        records += [make_record("fp16", seed=seed, curve=make_curve(0.4 * seed, 0.868)) for seed in (1, 2)]
        records[1]["fidelity"]["verdict"] = "degraded"  # dense, seed 2
        figure = speedup.draw(self.compared(*records))
        words = self.words(figure)
        # Both rows over dense have a mark at the number and at the run of seed 2; those over fp16 only dense's own.
        self.assertEqual(words.count("†"), 3)
        self.assertEqual([word for word in words if word.endswith("×†")], ["1.00×†", "0.71×†", "1.41×†"])
        self.assertIn("1.00×", words)
        self.assertIn("160 s†", figure.axes[0].get_yticklabels()[0].get_text())
        self.assertNotIn("†", figure.axes[0].get_yticklabels()[1].get_text())

    def test_no_baseline_at_all_is_an_error(self) -> None:
        with self.assertRaisesRegex(InputError, "no run has a baseline: a completed dense or fp16 run"):
            speedup.draw(self.compared(make_record("pactrain")))

    def test_words_leave_room_for_the_mark_of_any_dot_beside_them(self) -> None:
        spread = Spread(2, 3.2, None, None)
        self.assertEqual(room_for_marks(Dots(spread, (3.3, 3.37), ("≤", "")), 3.37), "≤")
        self.assertEqual(room_for_marks(Dots(spread, (1.0, 3.37), ("≤", "")), 3.37), "")
        self.assertEqual(room_for_marks(Dots(spread, (3.3, 3.37), ("", "≥†")), 3.37), "≥†")
