# SPDX-License-Identifier: Apache-2.0
import level_over_bytes

from .figure_test import FigureTest, legend_texts
from .records import failed_record, make_record, with_a_miss, write


class LevelOverBytesTest(FigureTest):
    def test_bytes_grow_evenly_with_iterations(self) -> None:
        record = make_record("dense")
        figure = level_over_bytes.draw(self.compared(record))
        (line,) = [line for line in figure.axes[0].get_lines() if line.get_label() == "dense"]
        points = [point for point in record["curve"] if point["iteration"] > 0]
        sent = record["traffic"]["sent_bytes_per_worker"] / 1e6
        self.assertEqual(
            [round(x, 9) for x in line.get_xdata()],
            [round(sent * point["iteration"] / record["iterations"], 9) for point in points],
        )
        self.assertEqual(line.get_ydata().tolist(), [point["test_accuracy"] for point in points])
        self.assertEqual(figure.axes[0].get_xscale(), "log")

    def test_the_legend_says_who_did_not_reach_the_target(self) -> None:
        figure = level_over_bytes.draw(
            self.compared(make_record("dense"), make_record("topk 0.01"), failed_record("topk 0.1"))
        )
        self.assertEqual(legend_texts(figure), ["dense", "topk 0.01: not reached", "topk 0.1: failed"])

    def test_the_legend_counts_the_seeds_that_did_not_reach_the_target(self) -> None:
        figure = level_over_bytes.draw(self.compared(*with_a_miss("dense", 0.8)))
        self.assertEqual(legend_texts(figure), ["dense: not reached in 1 of 2"])

    def test_the_line_of_the_target_is_labelled(self) -> None:
        figure = level_over_bytes.draw(self.compared(make_record("dense")))
        self.assertEqual([text.get_text() for text in figure.axes[0].texts], ["target 84 %"])

    def test_a_long_legend_makes_the_figure_higher(self) -> None:
        def height_in(methods: int) -> float:
            records = [
                make_record("dense", labels={"method": f"dense {number}"}, run_id=f"{number:016x}")
                for number in range(methods)
            ]
            return level_over_bytes.draw(self.compared(*records)).get_figheight()

        few, some, many = height_in(6), height_in(8), height_in(24)
        self.assertEqual(few, some)
        self.assertAlmostEqual(many - some, 8 * 0.12)

    def test_the_program_takes_runs_without_times(self) -> None:
        write(self.directory, make_record("dense", mode="converge", train_time_s=None))
        code, error = self.program(level_over_bytes)
        self.assertEqual((code, error), (0, ""))
        self.assertTrue((self.directory / "level_over_bytes.png").is_file())
