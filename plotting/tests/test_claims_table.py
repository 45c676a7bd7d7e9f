# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
from typing import Any

import claims_table

from .figure_test import FigureTest
from .records import TEXT_TARGET, make_curve, make_text_curve, write
from .test_heat_map import CAPS_MBIT_PER_S, swept
from .test_replay_table import rows_of


def sweep() -> list[dict[str, Any]]:
    """Returns a sweep like test_heat_map's, with the prune ratios of the paper's claims."""
    records = []
    for cap in CAPS_MBIT_PER_S:
        records += [swept("dense", cap, "0", share=1.0), swept("fp16", cap, "0", share=0.5)]
        for ratio in ("0.5", "0.8"):
            share = 1.0 - float(ratio)
            records.append(swept("pactrain", cap, ratio, share=share))
            records.append(swept("pactrain ternary", cap, ratio, share=0.25 * share))
    return records


class ClaimsTableTest(FigureTest):
    def table(self, *records: dict[str, Any]) -> list[dict[str, str]]:
        write(self.directory, *records)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(claims_table.main([str(self.directory)]), 0)
        return rows_of(out.getvalue())

    def test_ratios_are_of_the_same_cap(self) -> None:
        most, over_fp16, fig5_dense, fig5_fp16, _ = self.table(*sweep())
        self.assertEqual(most["pactrain"], "3.46× (100 Mbit/s, 80 % pruned)")
        self.assertEqual(most["pactrain ternary"], "6.43× (100 Mbit/s, 80 % pruned)")
        self.assertEqual(over_fp16["pactrain"], "1.00× to 1.00×")
        self.assertEqual(over_fp16["pactrain ternary"], "1.27× to 2.50×")
        self.assertEqual((fig5_dense["pactrain"], fig5_dense["claimed"]), ("1.29×", "5.64×"))
        self.assertEqual((fig5_fp16["pactrain"], fig5_fp16["claimed"]), ("1.00×", "3.28×"))

    def test_lost_accuracy_is_in_points(self) -> None:
        records = [record for record in sweep() if record["labels"]["pruning.ratio"] != "0.8"]
        records += [swept("pactrain", cap, "0.8", curve=make_curve(0.1, 0.846)) for cap in CAPS_MBIT_PER_S]
        ends = [make_curve(0.1, best)[-1]["test_accuracy"] for best in (0.866, 0.846)]
        lost = self.table(*records)[-1]
        self.assertEqual(lost["pactrain"], f"{100 * (ends[0] - ends[1]):.1f}")
        self.assertEqual(lost["pactrain ternary"], "-")

    def test_lost_accuracy_is_relative_to_the_model_that_is_not_pruned(self) -> None:
        expected = self.table(*sweep())[-1]["pactrain"]
        pruned = [swept("dense", cap, "0.5", curve=make_curve(0.1, 0.8)) for cap in CAPS_MBIT_PER_S]
        for record in pruned:
            record["labels"]["method"] = "dense, pruned"
        self.assertEqual(self.table(*sweep(), *pruned)[-1]["pactrain"], expected)

    def test_lost_accuracy_is_of_completed_runs(self) -> None:
        records = sweep()
        expected = self.table(*records)[-1]["pactrain"]
        for record in records:
            if record["labels"]["pruning.ratio"] == "0.8" and record["config"]["bottleneck"]["rate"] == "1 Gbit/s":
                record |= {"status": "interrupted", "curve": record["curve"][:2]}
        self.assertEqual(self.table(*records)[-1]["pactrain"], expected)

    def test_a_loss_has_no_points_of_accuracy(self) -> None:
        curves = {method: make_text_curve(0.8, best) for method, best in (("dense", 2.0), ("pactrain", 2.1))}
        records = [
            swept(method, "1 Gbit/s", ratio, curve=curves[method], aims=(TEXT_TARGET,))
            for method, ratio in (("dense", "0"), ("pactrain", "0.5"), ("pactrain", "0.8"))
        ]
        self.assertEqual(self.table(*records)[-1]["pactrain"], "-")

    def test_seeds_that_missed_the_target_are_counted(self) -> None:
        missed = swept("pactrain", "1 Gbit/s", "0.5", seed=2, curve=make_curve(0.1, 0.8))
        fig5_dense = self.table(*sweep(), swept("dense", "1 Gbit/s", "0", seed=2), missed)[2]
        ratio = (36 / 28) ** 0.5 * (36 / 48) ** 0.5  # dense's time over 200 iterations at 0.14 s and over all 480 at 0.1 s
        self.assertEqual(fig5_dense["pactrain"], f"≤ {ratio:.2f}× (1 of 2 reached)")

    def test_a_lucky_seed_is_not_the_largest_speed_up(self) -> None:
        lucky = swept("pactrain", "100 Mbit/s", "0.8", seed=2, curve=make_curve(0.001, 0.868))
        missed = swept("pactrain", "100 Mbit/s", "0.8", seed=3, curve=make_curve(0.01, 0.8))
        dense = [swept("dense", "100 Mbit/s", "0", seed=seed) for seed in (2, 3)]
        most = self.table(*sweep(), *dense, lucky, missed)[0]["pactrain"]
        self.assertEqual(
            most, "1.97× (500 Mbit/s, 80 % pruned); without 1 of 6 places where some seeds did not reach the target"
        )

    def test_places_without_a_speed_up_are_named_or_counted(self) -> None:
        never = [swept("pactrain", "1 Gbit/s", "0.5", curve=make_curve(0.1, 0.8))]
        _, over_fp16, fig5_dense, *_ = self.table(*sweep(), *never)
        self.assertEqual(over_fp16["pactrain"], "1.00× to 1.00×; none at 1 Gbit/s, 50 % pruned")
        self.assertEqual(fig5_dense["pactrain"], "-; none at 1 Gbit/s, 50 % pruned")
        never += [swept("pactrain", cap, "0.8", curve=make_curve(0.1, 0.8)) for cap in CAPS_MBIT_PER_S]
        self.assertTrue(self.table(*never)[0]["pactrain"].endswith("; none at 4 of 6 places"))

    def test_without_pactrain_there_is_nothing_to_say(self) -> None:
        write(self.directory, *(record for record in sweep() if "pactrain" not in record["labels"]["method"]))
        code, said = self.program(claims_table)
        self.assertEqual(code, 2)
        self.assertIn("no run uses pactrain", said)

    def test_it_updates_a_page(self) -> None:
        write(self.directory, *sweep())
        page = self.directory / "page.md"
        page.write_text("before\n<!-- claims: begin -->\n\nold\n\n<!-- claims: end -->\nafter\n", encoding="utf-8")
        self.assertEqual(self.program(claims_table, "--update", str(page)), (0, ""))
        text = page.read_text(encoding="utf-8")
        self.assertIn("8.72×", text)
        self.assertNotIn("old", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
