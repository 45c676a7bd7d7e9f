# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import unittest
from typing import Any

import network_matrix

from .figure_test import FigureTest, small_print
from .records import make_record

RATES = [[0.0, 9e8, 9e7], [8e8, 0.0, 9.1e7], [9.2e7, 9.3e7, 0.0]]
ROUND_TRIPS = [[0.0, 0.0001, 0.02], [0.0001, 0.0, 0.02], [0.02, 0.02, 0.0]]


def on_machines(**changes: Any) -> dict[str, Any]:
    record = make_record("dense", mode="cluster", **changes)
    measured = {"pairs_at_a_time": 1, "bit_per_s": RATES, "round_trips_s": ROUND_TRIPS}
    nodes = [
        {"host": f"w{rank}", "node": f"node-{rank}", "network_interface": "eth0", "address": f"10.0.0.{rank}",
         "connected_bit_per_s": None}
        for rank in range(3)
    ]
    record["cluster"] = {"nodes": nodes, "before": measured, "after": measured, "largest_change": 0.0,
                         "islands": [[0, 1], [2]], "reduction_tree": [-1, 0, 0]}
    record["fidelity"] = {"verdict": "real", "checks": []}
    return record


class NetworkMatrixTest(FigureTest):
    def test_a_number_for_each_two_workers_in_each_direction(self) -> None:
        figure = network_matrix.draw(self.compared(on_machines(), needs_time=False))
        rates, round_trips = figure.axes
        self.assertEqual([text.get_text() for text in rates.texts], ["900", "90", "800", "91", "92", "93"])
        self.assertEqual([text.get_text() for text in round_trips.texts], ["0.1", "20", "0.1", "20", "20", "20"])
        self.assertEqual([label.get_text() for label in rates.get_yticklabels()], ["w0", "w1", "w2"])
        self.assertIn("mode cluster", small_print(figure))
        other_seed = on_machines(seed=2)
        figure = network_matrix.draw(self.compared(on_machines(), other_seed, needs_time=False))
        self.assertIn("drawn of the first run", small_print(figure))
        self.assertNotIn("confidence", small_print(figure))

    def test_islands_are_framed(self) -> None:
        figure = network_matrix.draw(self.compared(on_machines(), needs_time=False))
        frames = [patch.get_bbox().bounds for patch in figure.axes[0].patches]
        self.assertEqual(frames, [(-0.5, -0.5, 2.0, 2.0), (1.5, 1.5, 1.0, 1.0)])

    def test_runs_over_emulated_networks_are_refused(self) -> None:
        self.compared(make_record("dense"), needs_time=False)
        code, said = self.program(network_matrix)
        self.assertEqual(code, 2)
        self.assertIn('runs of mode "cluster" do', said)

    def test_the_picture_is_written_beside_the_records(self) -> None:
        self.compared(on_machines(), needs_time=False)
        code, _ = self.program(network_matrix)
        self.assertEqual(code, 0)
        self.assertTrue((self.directory / "network_matrix.png").exists())


if __name__ == "__main__":
    unittest.main()
