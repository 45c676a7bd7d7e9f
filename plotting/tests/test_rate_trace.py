# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import fig5
import time_to_accuracy
from shared.rate_trace import RateTrace, bit_per_s, directions, initial_rates, rate_text, rate_trace

from .figure_test import FigureTest
from .records import make_network_event, make_record

LINKS = [
    {"between": ["a", "b"]},
    {"between": ["b-1", "c"], "rate": "1 Gbit/s", "bottleneck": True},
    {"between": ["c", "d"], "rate": "100 Mbit/s", "bottleneck": True},
]


def changed(method: str, *events: dict[str, Any], **changes: Any) -> dict[str, Any]:
    record = make_record(method, network_events=list(events), **changes)
    record["config"]["topology"]["links"] = LINKS
    return record


def to(rate_mbit_per_s: float, train_time_s: float, link: str = "bottlenecks", **changes: Any) -> dict[str, Any]:
    requested = {"rate_bit_per_s": 1e6 * rate_mbit_per_s}
    return make_network_event(requested=requested, train_time_s=train_time_s, link=link, **changes)


class RateTraceTest(FigureTest):
    def trace(self, *events: dict[str, Any]) -> RateTrace | None:
        return rate_trace(self.compared(changed("dense", *events)).runs.iloc[0])

    def test_the_trace_is_the_lowest_cap_of_the_links_that_changed(self) -> None:
        trace = self.trace(to(500, 10.0), to(800, 20.0), to(50, 30.0, link="c->d"), to(900, 40.0, link="d->c"))
        self.assertEqual(trace.times_s, (0.0, 10.0, 20.0, 30.0, 40.0))
        self.assertEqual(trace.rates_bit_per_s, (1e8, 5e8, 8e8, 5e7, 5e7))
        one_link = self.trace(to(500, 10.0, link="b-1-c"), to(800, 20.0, link="b-1-c"))
        self.assertEqual(one_link.rates_bit_per_s, (1e9, 5e8, 8e8))

    def test_a_link_that_is_down_has_no_rate(self) -> None:
        state = [make_network_event(requested={"state": word}, train_time_s=time, link="c-d") for word, time in
                 (("down", 10.0), ("up", 20.0))]  # fmt: skip
        self.assertEqual(self.trace(*state).rates_bit_per_s, (1e8, 0.0, 1e8))
        meanwhile = self.trace(state[0], to(500, 15.0, link="c-d"), state[1])
        self.assertEqual(meanwhile.rates_bit_per_s, (1e8, 0.0, 0.0, 5e8))

    def test_what_did_not_happen_or_is_no_cap_is_left_out(self) -> None:
        delay = make_network_event(requested={"delay_s": 0.01})
        self.assertIsNone(self.trace(delay, to(500, 10.0, confirmed_s=None)))
        self.assertIsNone(self.trace())

    def test_rates_are_read_and_written_with_prefixes(self) -> None:
        self.assertEqual([bit_per_s(text) for text in ("100 Mbit/s", "1.5 Gbit/s", "9 bit/s")], [1e8, 1.5e9, 9.0])
        self.assertEqual([rate_text(rate) for rate in (1e8, 2.5e9, 5.0)], ["100 Mbit/s", "2.5 Gbit/s", "5 bit/s"])

    def test_links_are_named_as_in_events(self) -> None:
        self.assertEqual(directions("bottlenecks", LINKS), ["b-1->c", "c->b-1", "c->d", "d->c"])
        self.assertEqual([directions(name, LINKS) for name in ("c-b-1", "c->b-1")], [["b-1->c", "c->b-1"], ["c->b-1"]])
        asymmetric = {"between": ["e", "f"], "rate": "1 Gbit/s", "backward": {"rate": "9 bit/s"}}
        self.assertEqual(initial_rates([asymmetric, LINKS[0]]), {"e->f": 1e9, "f->e": 9.0, "a->b": None, "b->a": None})

    def strips(self, figure: Any) -> int:
        return len([each for each in figure.axes[0].collections if each.get_gid() == "rate"])

    def test_strips_stand_below_the_curves_and_their_words_name_the_caps(self) -> None:
        records = [changed("dense", to(500, 10.0), to(100, 90.0)), changed("fp16", to(500, 25.0), to(100, 60.0))]
        for script in (time_to_accuracy, fig5):
            figure = script.draw(self.compared(*records))
            axes = figure.axes[0]
            self.assertEqual(self.strips(figure), 2)
            texts = [text.get_text() for text in axes.texts]
            self.assertIn("cap during dense: 100 Mbit/s to 500 Mbit/s", texts)
            self.assertIn("cap during fp16: 100 Mbit/s to 500 Mbit/s", texts)
            lowest = min(point["test_accuracy"] for point in records[0]["curve"])
            top = max(strip.get_datalim(axes.transAxes).y1 for strip in axes.collections if strip.get_gid() == "rate")
            share = (lowest - axes.get_ylim()[0]) / (axes.get_ylim()[1] - axes.get_ylim()[0])
            self.assertLess(top, share, "a strip is behind the curves")
            self.assertTrue(all(tick >= lowest - 0.05 for tick in axes.get_yticks()))

    def test_like_traces_are_drawn_once(self) -> None:
        records = [changed("dense", to(500, 10.0), to(100, 90.0)), changed("fp16", to(500, 10.01), to(100, 90.02))]
        figure = time_to_accuracy.draw(self.compared(*records))
        self.assertEqual(self.strips(figure), 1)
        self.assertIn("cap: 100 Mbit/s to 500 Mbit/s", [text.get_text() for text in figure.axes[0].texts])

    def test_a_strip_is_as_high_as_the_highest_cap_of_its_panel(self) -> None:
        slow = [to(1, 10.0, link="b-1->c"), to(2, 20.0, link="b-1->c")]
        records = []
        for links, events in (("fast", [to(500, 10.0)]), ("slow", slow)):
            record = changed("dense", *events, axes={"links": links})
            if links == "slow":
                record["config"]["topology"]["links"] = [LINKS[1] | {"rate": "1 Mbit/s"}]
            records.append(record)
        figure = time_to_accuracy.draw(self.compared(*records))
        tops = [
            max(strip.get_datalim(axes.transAxes).y1 for strip in axes.collections if strip.get_gid() == "rate")
            for axes in figure.axes
        ]
        self.assertAlmostEqual(tops[0], tops[1])

    def test_the_figure_grows_by_the_strips(self) -> None:
        plain = time_to_accuracy.draw(self.compared(make_record("dense")))
        figure = time_to_accuracy.draw(self.compared(changed("fp16", to(500, 10.0), to(100, 90.0))))
        self.assertGreater(figure.get_figheight(), plain.get_figheight())

    def test_without_changes_nothing_is_drawn(self) -> None:
        self.assertEqual(self.strips(time_to_accuracy.draw(self.compared(make_record("dense")))), 0)
