# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from matplotlib.figure import Figure

import waterfall
from shared.report import InputError

from .figure_test import FigureTest, drawn
from .records import failed_record, make_curve, make_record, with_a_miss, write


class WaterfallTest(FigureTest):
    def words(self, figure: Figure) -> list[str]:
        return [text.get_text() for text in figure.axes[0].texts]

    def test_each_step_is_held_against_the_former_and_the_first(self) -> None:
        names = ("dense", "fp16", "pactrain ternary")
        figure = waterfall.draw(self.compared(*[make_record(name) for name in names]))
        self.assertEqual([label.get_text() for label in figure.axes[0].get_yticklabels()], list(names))
        self.assertEqual(
            self.words(figure),
            ["160 s", "86.0 s, 1.86× faster", "29.4 s, 2.93× faster; 5.44× faster than the first"],
        )

    def test_runs_are_dots_and_means_have_intervals(self) -> None:
        records = [make_record("dense", seed=seed) for seed in (1, 2)]
        records += [make_record("fp16", seed=seed, curve=make_curve(0.2 * seed, 0.867)) for seed in (1, 2)]
        axes = waterfall.draw(self.compared(*records)).axes[0]
        self.assertEqual(list(axes.patches), [], "no bars on a logarithmic axis")
        self.assertEqual(drawn(axes, "runs"), [[160.0, 160.0], [40.0, 80.0]])
        self.assertEqual(drawn(axes, "interval"), [[160.0, 160.0], [40.0, 80.0]])
        self.assertEqual(drawn(axes, "mean"), [[160.0], [60.0]])
        self.assertEqual(drawn(axes, "step"), [[160.0, 60.0]])

    def test_a_seed_that_missed_the_target_counts_with_its_whole_run(self) -> None:
        records = [make_record("dense", seed=seed) for seed in (1, 2)]
        figure = waterfall.draw(self.compared(*records, *with_a_miss("fp16", 0.2)))
        axes = figure.axes[0]
        self.assertEqual(drawn(axes, "runs"), [[160.0, 160.0], [40.0, 96.0]])
        self.assertEqual(drawn(axes, "interval"), [[160.0, 160.0]], "a bound has none")
        self.assertEqual(drawn(axes, "mean"), [[160.0], [68.0]])
        self.assertEqual(drawn(axes, "step"), [[160.0, 68.0]])
        bound = f"≤ {(4 * 160 / 96) ** 0.5:.3g}× faster"
        self.assertEqual(self.words(figure), ["160 s", "≥", f"≥ 68.0 s, {bound}, not reached in 1 of 2"])

    def test_a_step_from_a_bound_is_one(self) -> None:
        records = [make_record("fp16", seed=seed) for seed in (1, 2)]
        figure = waterfall.draw(self.compared(*with_a_miss("dense", 0.8), *records))
        self.assertEqual(self.words(figure)[-1], f"86.0 s, ≥ {(160 * 384) ** 0.5 / 86:.3g}× faster")

    def test_a_step_to_a_slower_method_has_an_upper_bound(self) -> None:
        records = [make_record("dense", seed=seed) for seed in (1, 2)]
        figure = waterfall.draw(self.compared(*with_a_miss("fp16", 0.2), *records), ["fp16", "dense"])
        self.assertEqual(self.words(figure)[-1], f"160 s, ≤ {160 / (40 * 96) ** 0.5:.3g}× slower")

    def test_long_runs_are_in_hours(self) -> None:
        records = [make_record("dense", seed=seed, curve=make_curve(90.0 * seed, 0.868)) for seed in (1, 2)]
        axes = waterfall.draw(self.compared(*records)).axes[0]
        self.assertEqual(drawn(axes, "runs"), [[5.0, 10.0]])
        self.assertEqual(drawn(axes, "interval"), [[5.0, 10.0]])
        self.assertEqual(drawn(axes, "mean"), [[7.5]])

    def test_steps_are_chosen_and_ordered_by_the_user(self) -> None:
        names = ("dense", "fp16", "pactrain ternary")
        compared = self.compared(*[make_record(name) for name in names], over=names)
        figure = waterfall.draw(compared, ["pactrain ternary", "dense"])
        self.assertEqual(self.words(figure), ["29.4 s", "160 s, 5.44× slower"])
        with self.assertRaisesRegex(InputError, "--steps topk: no such method; the methods are: dense, fp16"):
            waterfall.draw(compared, ["topk"])

    def test_the_program_asks_for_speed_ups_over_the_steps(self) -> None:
        write(self.directory, *[make_record(name) for name in ("dense", "topk 0.1", "pactrain ternary")])
        self.assertEqual(self.program(waterfall), (0, ""))
        self.assertEqual(self.program(waterfall, "--steps", "topk 0.1", "dense"), (0, ""))
        self.assertEqual(self.program(waterfall, "--steps", "topk")[0], 2)

    def test_what_has_no_time_says_why(self) -> None:
        figure = waterfall.draw(self.compared(make_record("dense"), failed_record("fp16"), make_record("topk 0.01")))
        self.assertEqual(self.words(figure), ["160 s", "failed", "not reached (best 83.2 %)"])

    def test_runs_that_all_missed_the_target_are_an_error(self) -> None:
        with self.assertRaisesRegex(InputError, "no run of topk 0.01 reached 84 % accuracy"):
            waterfall.draw(self.compared(make_record("topk 0.01")))
