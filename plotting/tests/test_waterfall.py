from __future__ import annotations

from matplotlib.figure import Figure

import waterfall
from report import InputError

from .figure_test import FigureTest
from .records import failed_record, make_record, write


class WaterfallTest(FigureTest):
    def words(self, figure: Figure) -> list[str]:
        return [text.get_text() for text in figure.axes[0].texts]

    def test_each_step_is_held_against_the_former_and_the_first(self) -> None:
        names = ("dense", "fp16", "pactrain ternary")
        figure = waterfall.draw(self.compared(*[make_record(name) for name in names]))
        self.assertEqual([label.get_text() for label in figure.axes[0].get_yticklabels()], list(names))
        self.assertEqual(
            self.words(figure),
            ["160 s", "86 s, 1.86× faster", "29.4 s, 2.93× faster; 5.44× faster than the first"],
        )

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
