# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import unittest
from typing import Any

import links
from shared.link_series import read_link_series

from .figure_test import FigureTest, small_print
from .records import make_record, write

HEAD = {"directions": ["left->middle", "middle->left"], "period_s": 0.1}
SAMPLES = [
    {"from_s": 0.0, "at_s": 0.1, "bytes": [1_000_000, 0], "max_queue_bytes": [20_000, 0], "drops": [0, 0]},
    {"from_s": 0.1, "at_s": 0.2, "bytes": [0, 0], "max_queue_bytes": [0, 0], "drops": [0, 0]},
    {"from_s": 0.9, "at_s": 1.0, "bytes": [500_000, 250_000], "max_queue_bytes": [5_000, 0], "drops": [0, 3]},
]
MARKS = [
    {"at_s": 0.0, "evaluation": 0}, {"at_s": 0.15, "iteration": 1}, {"at_s": 0.95, "iteration": 2},
    {"at_s": 1.0, "evaluation": 20},
]


def with_checks() -> dict[str, Any]:
    record = make_record("dense")
    shapers = [
        {"name": f"shaper {name}", "specified": {"rate_bit_per_s": 100e6}, "measured": {}, "ok": True}
        for name in HEAD["directions"]
    ]
    record["cpu_pressure"] = {"controller": 0.1, "network": 0.0, "machine": 0.79}
    record["fidelity"]["checks"] = [*record["fidelity"]["checks"], *shapers]
    return record


class LinksTest(FigureTest):
    def setUp(self) -> None:
        super().setUp()
        self.record = with_checks()
        self.comparison = self.compared(self.record, needs_time=False)
        self.folder = self.directory / self.record["run_id"]
        self.write(HEAD, *SAMPLES, *MARKS)
        times = {"iteration_time_s": 0.15, "exposed_exchange_s": 0.1}
        events = [{"event": "iteration", "iteration": 1, **times}, {"event": "iteration", "iteration": 2, **times}]
        (self.folder / "iterations.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))

    def write(self, *lines: dict[str, Any]) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / "links.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def draw(self, *arguments: str) -> Any:
        drawn = []
        original = links.draw
        links.draw = lambda comparison, options: drawn.append(original(comparison, options)) or drawn[-1]
        try:
            self.assertEqual(self.program(links, *arguments), (0, ""))
        finally:
            links.draw = original
        return drawn[0]

    def test_each_direction_has_its_rate_below_its_cap_and_its_queue(self) -> None:
        figure = self.draw()
        left, right = figure.axes[2], figure.axes[3]
        self.assertEqual([axes.get_title(loc="left") for axes in (left, right)], HEAD["directions"])
        rate = next(patch for patch in left.patches if patch.get_gid() == "rate")
        self.assertEqual([round(float(value), 6) for value in rate.get_data().values], [80.0, 0.0, 0.0, 40.0])
        self.assertEqual([round(float(edge), 6) for edge in rate.get_data().edges], [0.0, 0.1, 0.2, 0.9, 1.0])
        cap = next(line for line in left.get_lines() if line.get_gid() == "cap")
        self.assertEqual(list(cap.get_ydata()), [100.0, 100.0])
        queues = [patch for axes in figure.axes[4:] for patch in axes.patches if patch.get_gid() == "queue"]
        self.assertEqual([float(max(queue.get_data().values)) for queue in queues], [20.0, 0.0])
        drops = [line for line in right.get_lines() if line.get_gid() == "drops"]
        self.assertEqual([list(line.get_xdata()) for line in drops], [[1.0]])
        self.assertIn("mode live", small_print(figure))

    def test_says_how_often_threads_waited_for_a_core(self) -> None:
        self.assertEqual(self.draw().axes[0].get_title(loc="right"), "threads waited for a CPU core in 79 % of the time")

    def test_iterations_end_with_the_exchange_that_worker_0_waits_for(self) -> None:
        compute, exchange = self.draw().axes[1].collections
        spans = [[(round(float(path.vertices[:, 0].min()), 3), round(float(path.vertices[:, 0].max()), 3))
                  for path in each.get_paths()] for each in (compute, exchange)]
        self.assertEqual(spans, [[(0.0, 0.05), (0.8, 0.85)], [(0.05, 0.15), (0.85, 0.95)]])

    def write_workers(self, *lines: dict[str, Any]) -> None:
        (self.folder / "workers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def test_each_worker_has_a_strip_if_all_times_were_kept(self) -> None:
        times = {"iteration_time_s": 0.1, "compute_s": 0.02, "exposed_exchange_s": 0.08}
        self.write_workers(
            {"rank": 1, "iteration": 1, "at_s": 0.15, **times},
            {"rank": 0, "iteration": 1, "at_s": 0.55, **times},
            {"rank": 0, "iteration": 1, "at_s": 0.14, **times, "exposed_exchange_s": 0.01},  # repeated after a restart
            {"rank": 2, "iteration": 1, "at_s": 0.14, **times, "exposed_exchange_s": None},
        )
        drawn = [
            (each.get_gid(), each.get_label(), [(round(float(path.vertices[:, 0].min()), 3),
                                                 round(float(path.vertices[:, 0].max()), 3)) for path in each.get_paths()])
            for each in self.draw().axes[1].collections
        ]
        self.assertEqual(drawn[:2], [("worker 0", "compute", [(0.04, 0.13)]),
                                     ("worker 0", "waits for the exchange", [(0.13, 0.14)])])
        self.assertEqual([(gid, spans) for gid, _, spans in drawn[2:]],
                         [("worker 1", [(0.05, 0.07)]), ("worker 1", [(0.07, 0.15)]), ("worker 2", [(0.04, 0.14)])])
        self.assertEqual(drawn[-1][1], "iteration", "its parts are unknown")

    def test_a_file_that_has_no_workers_times_is_named(self) -> None:
        self.write_workers({"rank": 1, "iteration": 1})
        code, said = self.program(links)
        self.assertEqual(code, 2)
        self.assertIn("workers.jsonl: has a line that is no worker's iteration", said)

    def test_a_window_shows_its_iterations_only(self) -> None:
        figure = self.draw("--from", "0.5", "--to", "1")
        self.assertEqual(figure.axes[0].get_xlim(), (0.5, 1.0))
        self.assertEqual(len(figure.axes[1].collections[0].get_paths()), 1)
        code, said = self.program(links, "--from", "2", "--to", "1")
        self.assertEqual((code, "must be times of the run" in said), (2, True))

    def test_the_chosen_run_may_share_its_folder_with_runs_of_other_modes(self) -> None:
        other = make_record("dense", mode="simulate")
        write(self.directory, self.record, other)
        code, said = self.program(links)
        self.assertEqual((code, "has runs of the modes" in said), (2, True))
        self.assertEqual(self.program(links, "--run", self.record["run_id"]), (0, ""))

    def test_a_run_without_evaluations_has_no_curve(self) -> None:
        self.assertTrue(self.draw().axes[0].axison)
        self.write(HEAD, *SAMPLES, *[mark for mark in MARKS if "evaluation" not in mark])
        figure = self.draw()
        self.assertFalse(figure.axes[0].axison)
        self.assertEqual(figure.axes[0].get_title(loc="left"), "dense")

    def test_a_file_whose_last_line_is_cut_short_is_read_up_to_it(self) -> None:
        path = self.folder / "links.jsonl"
        path.write_text(path.read_text() + '{"from_s": 1.0, "at_')
        self.assertEqual(len(read_link_series(path).to_s), 3)

    def test_a_file_that_is_no_series_is_named(self) -> None:
        self.write({"something": "else"})
        code, said = self.program(links)
        self.assertEqual(code, 2)
        self.assertIn("links.jsonl: is not a time series of links", said)

    def test_a_run_without_a_series_says_why_there_may_be_none(self) -> None:
        (self.folder / "links.jsonl").unlink()
        code, said = self.program(links)
        self.assertEqual(code, 2)
        self.assertIn("--link-samples 0", said)
        code, said = self.program(links, "--run", "nonsense")
        self.assertEqual((code, "no run has this id" in said), (2, True))


if __name__ == "__main__":
    unittest.main()
