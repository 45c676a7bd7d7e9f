# SPDX-License-Identifier: Apache-2.0
import unittest
from typing import Any

from matplotlib.figure import Figure

import heat_map
from shared.comparison import Comparison, compare
from shared.load import load
from shared.report import InputError

from .figure_test import FigureTest, small_print
from .records import failed_record, make_curve, make_record, write

CAPS_MBIT_PER_S = {"100 Mbit/s": 100, "500 Mbit/s": 500, "1 Gbit/s": 1000}
RATIOS = ("0", "0.5", "0.9")


def swept(method: str, cap: str, ratio: str, **changes: Any) -> dict[str, Any]:
    """Returns a run whose iterations take 0.1 s of compute and the time of `share` of 80 Mbit over the cap."""
    share = changes.pop("share", 1.0)
    iteration_time_s = 0.1 + 80.0 * share / CAPS_MBIT_PER_S[cap]
    curve = changes.pop("curve", make_curve(iteration_time_s, 0.866))
    make = failed_record if changes.get("status") == "failed" else make_record
    given = {} if make is failed_record else {"curve": curve}
    return make(method, axes={"pruning.ratio": ratio, "bottleneck.rate": cap}, **given, **changes)


def whole_sweep() -> list[dict[str, Any]]:
    records = [
        swept(method, cap, "0", share=share)
        for cap in CAPS_MBIT_PER_S
        for method, share in (("dense", 1.0), ("fp16", 0.5))
    ]
    for cap in CAPS_MBIT_PER_S:
        for ratio in RATIOS:
            records.append(swept("pactrain", cap, ratio, share=1.0 - float(ratio)))
            records.append(swept("pactrain ternary", cap, ratio, share=0.3 * (1.0 - float(ratio))))
    return records


class HeatMapTest(FigureTest):
    def compared(self, *records: dict[str, Any], **options: Any) -> Comparison:
        panels = lambda runs: heat_map.panel_a_value(runs, heat_map.COLUMNS)
        return compare(load(write(self.directory, *records)), panels=panels, **options)

    def words(self, figure: Figure, panel: int = 0) -> list[list[str]]:
        """Returns the words in the cells, row by row from the top."""
        texts = figure.axes[panel].texts
        columns = len({text.get_position()[0] for text in texts})
        words = [text.get_text() for text in texts]
        return [words[start : start + columns] for start in range(0, len(words), columns)]

    def test_a_panel_a_method_that_has_rows(self) -> None:
        figure = heat_map.draw(self.compared(*whole_sweep()))
        self.assertEqual([axes.get_title() for axes in figure.axes[:2]], ["pactrain", "pactrain ternary"])
        axes = figure.axes[0]
        self.assertEqual([text.get_text() for text in axes.get_yticklabels()], list(RATIOS))
        self.assertGreater(*axes.get_ylim())  # 0 at the top
        # At 100 Mbit/s dense takes 0.9 s per iteration, and the evaluation at iteration 200 is the first at the target.
        self.assertEqual(
            [text.get_text() for text in axes.get_xticklabels()],
            ["100 Mbit/s\n180 s", "500 Mbit/s\n52.0 s", "1 Gbit/s\n36.0 s"],
        )
        scale = figure.axes[-1].yaxis.label
        self.assertEqual(scale.get_text(), "Speed-up over dense\nin time to 84 % accuracy")
        figure.draw_without_rendering()
        self.assertLess(scale.get_window_extent().y1, figure.bbox.y1)

    def test_cells_are_ratios_of_times_in_the_same_column(self) -> None:
        figure = heat_map.draw(self.compared(*whole_sweep()))
        self.assertEqual(
            self.words(figure),
            [["1.00×", "1.00×", "1.00×"], ["1.80×", "1.44×", "1.29×"], ["5.00×", "2.24×", "1.67×"]],
        )
        mesh = figure.axes[0].collections[0]
        self.assertAlmostEqual(2.0 ** mesh.get_array().reshape(3, 3)[2][0], 5.0)
        self.assertEqual(mesh.norm.vmin, -mesh.norm.vmax)

    def test_the_baseline_may_be_fp16(self) -> None:
        figure = heat_map.draw(self.compared(*whole_sweep()), over="fp16")
        self.assertEqual(self.words(figure)[0], ["0.56×", "0.69×", "0.78×"])
        self.assertEqual(figure.axes[0].get_xlabel(), "bottleneck.rate, time of fp16")

    def test_seeds_are_paired_and_averaged(self) -> None:
        cap = "100 Mbit/s"
        records = [
            swept("dense", cap, "0", seed=seed, curve=make_curve(0.8 * seed, 0.868)) for seed in (1, 2)
        ]
        for ratio in ("0", "0.5"):
            records += [
                swept("pactrain", cap, ratio, seed=seed, curve=make_curve(0.4, 0.868)) for seed in (1, 2)
            ]
        records[-1] = swept("pactrain", cap, "0.5", seed=2, curve=make_curve(0.4, 0.80))
        figure = heat_map.draw(self.compared(*records))
        # Geometric means of 2 and 4, and of 2 and 320 s over the whole run's 192 s.
        self.assertEqual(self.words(figure), [["2.83×"], ["≤ 1.83×\nnot reached\nin 1 of 2"]])
        for words in ("seeds 1, 2", "means over seeds", "≥, ≤: bounds"):
            self.assertIn(words, small_print(figure))
        self.assertNotIn("confidence interval", small_print(figure), "none is drawn")
        limit = figure.axes[0].collections[0].norm.vmax
        self.assertAlmostEqual(2.0**limit, 8**0.5, msg="of the cell whose runs all got there")

    def test_what_has_no_time_is_said_and_hatched(self) -> None:
        records = [swept("dense", cap, "0") for cap in CAPS_MBIT_PER_S]
        records += [
            swept("pactrain", "100 Mbit/s", "0"),
            swept("pactrain", "500 Mbit/s", "0", status="failed"),
        ]
        records += [swept("pactrain", "100 Mbit/s", "0.9", curve=make_curve(0.1, 0.8))]
        figure = heat_map.draw(self.compared(*records))
        self.assertEqual(
            self.words(figure), [["1.00×", "failed", "not run"], ["not reached", "not run", "not run"]]
        )
        self.assertEqual(len(figure.axes[0].patches), 5)
        self.assertTrue(all(patch.get_hatch() for patch in figure.axes[0].patches))
        self.assertIn("pactrain, 500 Mbit/s, 0: failed", small_print(figure))

    def test_a_baseline_that_never_arrives_gives_lower_bounds(self) -> None:
        records = [swept("dense", "100 Mbit/s", "0", curve=make_curve(0.8, 0.80))]
        records += [swept("pactrain", "100 Mbit/s", ratio, curve=make_curve(0.4, 0.868)) for ratio in RATIOS]
        figure = heat_map.draw(self.compared(*records))
        self.assertTrue(self.words(figure)[0][0].startswith("≥ "))
        self.assertEqual(figure.axes[0].get_xticklabels()[0].get_text(), "100 Mbit/s\nnot reached")

    def test_times_are_lower_bounds_if_a_seed_missed_the_target(self) -> None:
        cap = "100 Mbit/s"
        missed = [{"seed": seed, "curve": make_curve(0.8, best)} for seed, best in ((1, 0.868), (2, 0.80))]
        records = [swept("dense", cap, "0", **each) for each in missed]
        records += [swept("pactrain", cap, ratio, seed=1) for ratio in RATIOS]
        figure = heat_map.draw(self.compared(*records))
        self.assertEqual(figure.axes[0].get_xticklabels()[0].get_text(), "100 Mbit/s\n≥ 272 s")

    def test_degraded_emulation_marks_the_cell_alone(self) -> None:
        records = whole_sweep()
        records[-1]["fidelity"]["verdict"] = "degraded"
        figure = heat_map.draw(self.compared(*records))
        self.assertEqual(figure.axes[1].get_title(), "pactrain ternary")
        marked = [[word.endswith("†") for word in row] for row in self.words(figure, 1)]
        self.assertEqual(marked, [[False] * 3, [False] * 3, [False, False, True]])
        self.assertFalse(any("†" in word for row in self.words(figure, 0) for word in row))
        for words in ("mode live", "data fashion_mnist", "commit 8991000f2c", "† network emulation degraded"):
            self.assertIn(words, small_print(figure))
        self.assertNotIn("also differ", small_print(figure))

    def test_speed_ups_over_a_network_that_was_not_faithful_are_marked(self) -> None:
        for verdict, mark, meaning in (("degraded", "†", "degraded"), ("not judged", "‡", "not judged")):
            records = whole_sweep()
            records[0]["fidelity"]["verdict"] = verdict  # of the dense run at the first cap
            figure = heat_map.draw(self.compared(*records))
            marked = [[word.endswith(mark) for word in row] for row in self.words(figure)]
            self.assertTrue(all(row[0] and not any(row[1:]) for row in marked), self.words(figure))
            self.assertIn(f"{mark} network emulation {meaning}", small_print(figure))
            times = [label.get_text() for label in figure.axes[0].get_xticklabels()]
            self.assertEqual([time.endswith(mark) for time in times], [True, False, False])

    def test_a_cell_without_a_time_is_marked_too(self) -> None:
        records = whole_sweep()
        records[-1] = swept("pactrain ternary", "1 Gbit/s", "0.9", curve=make_curve(0.1, 0.8))
        records[-1]["fidelity"]["verdict"] = "not judged"
        self.assertEqual(self.words(heat_map.draw(self.compared(*records)), 1)[-1][-1], "not reached‡")

    def test_a_third_axis_needs_a_choice(self) -> None:
        records = whole_sweep()
        for record in records:
            record["labels"]["model.width"] = "8" if record["labels"]["pruning.ratio"] == "0" else "16"
        with self.assertRaisesRegex(InputError, r"also sweeps model\.width; .* --where 'model\.width=8'"):
            heat_map.draw(self.compared(*records))

    def test_what_cannot_be_drawn_says_why(self) -> None:
        with self.assertRaisesRegex(InputError, r"no run has the swept axis bottleneck\.rate; choose axes .*: none"):
            self.compared(make_record("dense"))
        with self.assertRaisesRegex(InputError, "no run has a baseline: a completed dense run"):
            heat_map.draw(self.compared(swept("pactrain", "1 Gbit/s", "0")))
        flat = [swept(method, "1 Gbit/s", "0") for method in ("dense", "pactrain")]
        with self.assertRaisesRegex(InputError, r"no method was run with several values of pruning\.ratio"):
            heat_map.draw(self.compared(*flat))

    def test_the_program_takes_the_axes_either_way(self) -> None:
        write(self.directory, *whole_sweep())
        turned = ("--rows", "bottleneck.rate", "--columns", "pruning.ratio")
        self.assertEqual(self.program(heat_map), (0, ""))
        self.assertTrue((self.directory / "heat_map.png").read_bytes().startswith(b"\x89PNG"))
        code, said = self.program(heat_map, "--over", "fp16", *turned)
        self.assertEqual((code, said), (0, ""))
        code, said = self.program(heat_map, "--over", "topk")
        self.assertEqual(code, 2)


if __name__ == "__main__":
    unittest.main()
