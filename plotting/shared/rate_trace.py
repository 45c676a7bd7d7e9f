# SPDX-License-Identifier: Apache-2.0
"""Draws the caps of links that changed during the runs, as strips below the curves on the same time axis."""
from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Sequence

import pandas as pd
from matplotlib.axes import Axes

from shared.comparison import Comparison

STRIP_HEIGHT, GAP = 0.05, 0.04  # of the height of the curves, which is about:
CURVES_HEIGHT_IN = 2.2
MOST_STRIPS = 8
# Traces whose steps differ by less than this share of the run are drawn once.
SAME_TIME = 0.02
PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass(frozen=True)
class RateTrace:
    """The lowest cap of the links that changed, from each of `times_s` (train time) until the next, up to `end_s`."""

    times_s: tuple[float, ...]
    rates_bit_per_s: tuple[float, ...]
    end_s: float

    def resembles(self, other: RateTrace) -> bool:
        """Returns whether both have the same steps at about the same times, as far as both go."""
        end_s = min(self.end_s, other.end_s)
        one, two = (
            [(time, rate) for time, rate in zip(each.times_s, each.rates_bit_per_s) if time <= end_s * (1.0 - SAME_TIME)]
            for each in (self, other)
        )
        return len(one) == len(two) and all(
            rate == other_rate and abs(time - other_time) <= SAME_TIME * end_s
            for (time, rate), (other_time, other_rate) in zip(one, two)
        )


def rate_trace(run: pd.Series) -> RateTrace | None:
    """Returns the caps during a run; None if no link changed its cap, or the run has no times."""
    events = run["network_events"] if isinstance(run["network_events"], list) else []
    happened = [event for event in events if event["confirmed_s"] is not None and event["train_time_s"] is not None]
    changes = [event for event in happened if {"rate_bit_per_s", "state"} & event["requested"].keys()]
    if not changes or math.isnan(run["end_time_s"]):
        return None
    links = run["config.topology.links"] if isinstance(run["config.topology.links"], list) else []
    initial = initial_rates(links)
    caps: dict[str, float | None] = {}  # of the directions that change at any time
    for event in changes:
        caps |= {name: initial[name] for name in directions(event["link"], links)}
    down: set[str] = set()
    steps: dict[float, float] = {}

    def note(time_s: float) -> None:
        known = [0.0 if name in down else cap for name, cap in caps.items() if name in down or cap is not None]
        if known:
            steps[time_s] = min(known)

    note(0.0)
    for event in changes:
        requested = event["requested"]
        names = directions(event["link"], links)
        if "rate_bit_per_s" in requested:
            caps |= dict.fromkeys(names, requested["rate_bit_per_s"])
        if "state" in requested:
            down = down | set(names) if requested["state"] == "down" else down - set(names)
        note(event["train_time_s"])
    return RateTrace(tuple(steps), tuple(steps.values()), run["end_time_s"]) if steps else None


def both_ways(link: dict[str, Any]) -> tuple[str, str]:
    one, other = link["between"]
    return f"{one}->{other}", f"{other}->{one}"


def initial_rates(links: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Returns the cap of each direction of the topology's links; None for one without a cap."""
    rates: dict[str, float | None] = {}
    for link in links:
        for name, way in zip(both_ways(link), ("forward", "backward")):
            rate = link.get(way, {}).get("rate", link.get("rate"))
            rates[name] = None if rate is None else bit_per_s(rate)
    return rates


def directions(name: str, links: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the directions that an event's link names: "bottlenecks", "a-b" for both, or "a->b" for one."""
    found = []
    for link in links:
        ways = both_ways(link)
        # Names of nodes may contain "-" themselves.
        if link.get("bottleneck") if name == "bottlenecks" else name in [way.replace("->", "-", 1) for way in ways]:
            found += ways
        found += [way for way in ways if way == name]
    return found


def bit_per_s(text: str) -> float:
    number, prefix = re.fullmatch(r"([\d.]+)\s*([kMGT]?)bit/s", text).groups()
    return float(number) * PREFIXES[prefix]


def rate_text(rate_bit_per_s: float) -> str:
    for prefix, size in reversed(PREFIXES.items()):
        if rate_bit_per_s >= size:
            return f"{rate_bit_per_s / size:.3g} {prefix}bit/s"
    return f"{rate_bit_per_s:g} bit/s"


def traces_of(runs: pd.DataFrame, methods: Sequence[str]) -> list[tuple[str | None, RateTrace]]:
    """Returns the trace of the first run of each method that has one; only one, without a method, if all are alike."""
    traces = []
    for method in methods:
        of_method = (rate_trace(run) for _, run in runs[runs.method == method].iterrows())
        if trace := next(filter(None, of_method), None):
            traces.append((method, trace))
    if traces and all(trace.resembles(traces[0][1]) for _, trace in traces):
        return [(None, max((trace for _, trace in traces), key=lambda trace: trace.end_s))]
    return traces[:MOST_STRIPS]


def add_traces(panel_axes: Sequence[Axes], comparison: Comparison, unit_s: float) -> None:
    """Draws the caps that changed during the runs below the curves of each panel. The panels share the axis of levels, so
    all have equal room for the most strips."""
    traces = [traces_of(panel.runs, comparison.methods) for panel in comparison.panels]
    if not (most := max(map(len, traces))):
        return
    first = panel_axes[0]
    low, high = first.get_ylim()
    ticks = [tick for tick in first.get_yticks() if low <= tick <= high]
    # The figure grows by the strips, so that the curves stay as high.
    more = most * (STRIP_HEIGHT + GAP)
    first.set_ylim(high - (high - low) * (1.0 + more), high)
    first.set_yticks(ticks)
    panel_rows = len({axes.get_subplotspec().rowspan.start for axes in panel_axes})
    first.figure.set_figheight(first.figure.get_figheight() + panel_rows * more * CURVES_HEIGHT_IN)
    for axes, own in zip(panel_axes, traces):
        draw_traces(axes, own, 1.0 / (1.0 + more), unit_s, comparison)


def draw_traces(
    axes: Axes,
    traces: Sequence[tuple[str | None, RateTrace]],
    share: float,
    unit_s: float,
    comparison: Comparison,
) -> None:
    """Draws the strips, the first method's at the top. A strip is as high as the panel's highest cap. share: of the axes that
    the curves have."""
    height, gap = share * STRIP_HEIGHT, share * GAP
    highest = max((max(trace.rates_bit_per_s) for _, trace in traces), default=1.0)
    left, transform = axes.get_xlim()[0], axes.get_xaxis_transform()
    for place, (method, trace) in enumerate(traces):
        bottom = (len(traces) - 1 - place) * (height + gap)
        colour = "0.45" if method is None else comparison.styles[method].colour
        times = [max(time / unit_s, left) for time in (*trace.times_s, trace.end_s)]
        heights = [bottom + height * rate / highest for rate in trace.rates_bit_per_s]
        heights.append(heights[-1])
        axes.fill_between(
            times, bottom, heights, step="post", transform=transform, color=colour, alpha=0.3, linewidth=0.0, gid="rate"
        )
        axes.plot(times, heights, drawstyle="steps-post", transform=transform, color=colour, linewidth=0.6, label="_rate")
        axes.text(
            0.01,
            bottom + height + 0.004,
            words_for(trace, None if method is None else comparison.shown(method)),
            transform=axes.transAxes,
            fontsize="xx-small",
            color="0.25",
            va="bottom",
        )


def words_for(trace: RateTrace, method: str | None) -> str:
    low, high = (rate_text(end(trace.rates_bit_per_s)) for end in (min, max))
    runs = "" if method is None else f" during {method}"
    return f"cap{runs}: {low} to {high}" if low != high else f"cap{runs}: {low}"
