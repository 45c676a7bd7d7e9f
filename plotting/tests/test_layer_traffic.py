# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import unittest
from typing import Any

import layer_traffic

from .figure_test import FigureTest, legend_texts, small_print
from .records import make_converge_record


def layer(name: str, weights: int, *exchanged: int) -> dict[str, Any]:
    return {"name": name, "weights": weights, "exchanged": list(exchanged)}


def counting(
    *layers: dict[str, Any], method: str = "topk 0.01", steps: int = 5, steps_per_interval: int = 2, **changes: Any
) -> dict[str, Any]:
    state = {"steps": steps, "steps_per_interval": steps_per_interval, "layers": list(layers)}
    return make_converge_record(method, synchroniser=state, **changes)


TWO_LAYERS = (layer("conv.weight", 100, 30, 10, 0), layer("fc.weight", 300, 10, 10, 5))


class LayerTrafficTest(FigureTest):
    def traffic(self, *layers: dict[str, Any]) -> layer_traffic.LayerTraffic:
        return layer_traffic.traffic_of(self.compared(counting(*layers), needs_time=False).runs.iloc[0])

    def test_shares_are_of_the_entries_of_an_interval(self) -> None:
        traffic = self.traffic(*TWO_LAYERS)
        self.assertEqual(traffic.edges.tolist(), [0, 2, 4, 5])
        self.assertEqual(traffic.shares.tolist(), [[0.75, 0.5, 0.0], [0.25, 0.5, 1.0]])
        self.assertEqual(traffic.weights.tolist(), [0.25, 0.75])

    def test_an_interval_without_entries_has_no_shares(self) -> None:
        traffic = self.traffic(layer("conv.weight", 100, 3, 0), layer("fc.weight", 300, 1, 0))
        self.assertEqual(traffic.shares.tolist(), [[0.75, 0.0], [0.25, 0.0]])

    def test_many_layers_are_joined_in_order(self) -> None:
        layers = [layer(f"layer{place}", 10, 100 - place) for place in range(layer_traffic.MOST_LAYERS + 2)]
        layers[0]["exchanged"] = [1]
        traffic = layer_traffic.joined(self.traffic(*layers))
        self.assertEqual(len(traffic.names), layer_traffic.MOST_LAYERS)
        self.assertEqual((traffic.names[0], traffic.names[-1]), ("layer1", "3 other layers"))
        self.assertAlmostEqual(traffic.shares.sum(), 1.0)
        self.assertAlmostEqual(traffic.weights[-1], 3 / len(layers))

    def test_a_panel_for_each_method_that_counts(self) -> None:
        records = [make_converge_record("dense"), counting(*TWO_LAYERS)]
        figure = layer_traffic.draw(self.compared(*records, needs_time=False))
        self.assertEqual([axes.get_title() for axes in figure.axes], ["topk 0.01"])
        self.assertEqual(legend_texts(figure), ["fc.weight (75 % of weights)", "conv.weight (25 % of weights)"])
        self.assertIn("mode converge", small_print(figure))

    def test_only_the_chosen_methods_are_drawn(self) -> None:
        records = [counting(*TWO_LAYERS, method=method) for method in ("topk 0.01", "topk 0.1")]
        figure = layer_traffic.draw(self.compared(*records, needs_time=False), methods=["topk 0.1"])
        self.assertEqual([axes.get_title() for axes in figure.axes], ["topk 0.1"])
        code, said = self.program(layer_traffic, "--methods", "topk 0.2")
        self.assertEqual(code, 2)
        self.assertIn("no run of topk 0.2 counts the entries of its layers; known: topk 0.01, topk 0.1", said)

    def test_of_several_seeds_the_first_is_drawn(self) -> None:
        comparison = self.compared(counting(*TWO_LAYERS), counting(*TWO_LAYERS, seed=2), needs_time=False)
        text = small_print(layer_traffic.draw(comparison))
        self.assertIn("drawn of the first seed", text)
        self.assertNotIn("small dots", text)

    def test_runs_without_counts_are_refused(self) -> None:
        self.compared(make_converge_record("dense"), needs_time=False)
        code, said = self.program(layer_traffic)
        self.assertEqual(code, 2)
        self.assertIn("no run counts the entries of its layers", said)

    def test_the_picture_is_written_beside_the_records(self) -> None:
        self.compared(counting(*TWO_LAYERS), needs_time=False)
        code, said = self.program(layer_traffic)
        self.assertEqual((code, said), (0, ""))
        self.assertTrue((self.directory / "layer_traffic.png").exists())


if __name__ == "__main__":
    unittest.main()
