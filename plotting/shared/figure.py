# SPDX-License-Identifier: Apache-2.0
"""Shared by all figures: the program, panels and legends, names and states of methods, the line with the origin."""
from __future__ import annotations

import argparse
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from shared.comparison import Comparison, Panel, compare, panels_of
from shared.figure_file import OUTPUT_HELP, command_of, output_path, save
from shared.load import Results, load
from shared.look import COLUMN_WIDTH_IN, PAGE_WIDTH_IN, Look, Wishes, add_look_options, style_context
from shared.number_text import three_digits
from shared.report import VERDICT_MARKS, InputError, Question
from shared.selection import add_selection
from shared.small_print import caption, incomplete_runs

PANELS_A_ROW = 3
# In a figure narrower than this per panel, panels go below each other.
NARROWEST_PANEL_IN = 2.0
SMALL_PRINT_CHARACTERS_PER_IN = 26
# What the usual height of a figure has room for, and the height of a line more.
USUAL_SMALL_PRINT_LINES, SMALL_PRINT_LINE_IN = 6, 0.085
USUAL_LEGEND_ROWS, LEGEND_ROW_IN = 4, 0.12
ROW_NAME_CHARACTERS = 24
# For words that hide grid lines.
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}


def run_figure(
    name: str, summary: str, draw: Callable[[Comparison], Figure], arguments: Sequence[str] | None
) -> int:
    """Runs the whole program of a figure script and returns its exit code."""
    return write_figure(name, parser_of(name, summary).parse_args(arguments), draw)


def write_figure(
    name: str,
    options: argparse.Namespace,
    draw: Callable[[Comparison], Figure],
    panels: Callable[[pd.DataFrame], tuple[Panel, ...]] = panels_of,
    needs_time: bool = True,
    over: Callable[[Results], Iterable[str]] = lambda results: (),
    narrow: Callable[[Results], Results] = lambda results: results,
) -> int:
    """Draws the figure for the command line's options. Returns the exit code: 0 drawn, 1 not written, 2 wrong input.

    `over` returns the baselines that the figure needs beside dense and fp16; `narrow` leaves out runs before anything
    compares them.
    """
    try:
        results = load(options.results, Question.of(options, options.target))
        if baselines := tuple(over(results)):
            results = load(options.results, Question.of(options, options.target, baselines))
        comparison = compare(narrow(results), options.mode, dict(options.where), panels, needs_time, Wishes.of(options))
        for line in [*comparison.results.superseded, *incomplete_runs(comparison)]:
            print(f"{name}: {line}", file=sys.stderr)
        with style_context(options.style):
            output = output_path(options.output or default_output(options.results, name))
            command = command_of(name, options.words, options.results)
            figure = draw(comparison)
            save(figure, output, figure.get_label(), command)
    except InputError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{name}: cannot write the figure: {error}", file=sys.stderr)
        return 1
    print(output)
    return 0


class FigureParser(argparse.ArgumentParser):
    """Adds `words`, the command line's, to the options."""

    def parse_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def, override]
        words = sys.argv[1:] if args is None else list(args)
        return super().parse_args(words, argparse.Namespace(words=words))


def parser_of(name: str, summary: str, example: str = "results/quickstart") -> argparse.ArgumentParser:
    parser = FigureParser(
        prog=f"{name}.py",
        description=summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"example:\n  python3 plotting/{name}.py {example} --target 0.84 "
        f"--output {name}.pdf\n"
        f"  python3 plotting/{name}.py {example} --width column --no-origin --rename 'topk 0.01=Top-1 %' \\\n"
        f"    --order 'pactrain,topk 0.01' --style paper.mplstyle --output {name}.pgf\n\n"
        "exit codes: 0 drawn, 1 the figure could not be written, 2 wrong input",
    )
    add_selection(parser, example)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help=f"{OUTPUT_HELP} (default: {name}.png in the folder of the results)",
    )
    add_look_options(parser)
    return parser


def default_output(results: Path, name: str) -> Path:
    return (results if results.is_dir() else results.parent) / f"{name}.png"


def new_figure(
    panels: int,
    panel_height_in: float,
    share_x: bool = False,
    share_y: bool = True,
    panels_a_row: int = PANELS_A_ROW,
    look: Look = Look(),
    width_in: float | None = None,
) -> tuple[Figure, list[Axes]]:
    """Returns a figure at printed size, and its axes.

    The width is the user's or else `width_in`; without both, a column for one panel, and the page for more.
    """
    width_in = look.width_in or width_in or (COLUMN_WIDTH_IN if panels == 1 else PAGE_WIDTH_IN)
    columns = max(1, min(panels, panels_a_row, int(width_in / NARROWEST_PANEL_IN)))
    rows = -(-panels // columns)
    figure = Figure(figsize=(width_in, rows * panel_height_in))
    axes = list(figure.subplots(rows, columns, sharex=share_x, sharey=share_y, squeeze=False).flat)
    for unused in axes[panels:]:
        unused.remove()
    return figure, axes[:panels]


def first_in_rows(panels: Iterable[Axes]) -> list[Axes]:
    """Returns the panels at the left, which have the labels of the rows."""
    return [axes for axes in panels if axes.get_subplotspec().is_first_col()]


def make_room_for_legends(figure: Figure, panels: Sequence[Axes]) -> None:
    """Makes the figure higher if legends below its panels have many rows: they would take their room from the curves."""
    rows = max(int(axes.get_legend().get_label()) for axes in panels)
    panel_rows = len({axes.get_subplotspec().rowspan.start for axes in panels})
    figure.set_figheight(figure.get_figheight() + panel_rows * LEGEND_ROW_IN * max(0, rows - USUAL_LEGEND_ROWS))


def legend_below(axes: Axes, ncols: int = 1, **options: object) -> None:
    """Adds a legend below the axis label. The distance is in inches, so it does not depend on the panel's height. The
    legend's own label is the number of its rows."""
    under_label = axes.transAxes + ScaledTranslation(0.0, -0.36, axes.figure.dpi_scale_trans)
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.45, 0.0),
        bbox_transform=under_label,
        borderaxespad=0.0,
        ncols=ncols,
        **options,
    ).set_label(f"{-(-len(axes.get_legend().get_texts()) // ncols)}")


def legend_label(label: str) -> str:
    """Returns the label for a legend. matplotlib leaves out labels that begin with "_", so an invisible character is
    put before that."""
    return f"\u200b{label}" if label.startswith("_") else label


def methods_shown(comparison: Comparison) -> list[str]:
    """Returns the methods that any panel has runs of, in their order."""
    present = set(comparison.runs.method)
    return [method for method in comparison.methods if method in present]


def row_name(method: str, comparison: Comparison) -> str:
    """Returns the method's name beside its row, in lines."""
    return textwrap.fill(legend_label(comparison.shown(method)), ROW_NAME_CHARACTERS)


def name_of(method: str, runs: pd.DataFrame, comparison: Comparison) -> str:
    """Returns the method's name for display, marked if a network of its runs was not faithful."""
    return legend_label(comparison.shown(method)) + marks_of(runs)


def marks_of(runs: pd.DataFrame) -> str:
    """Returns the marks of runs whose networks were not faithful; usually none."""
    verdicts = set(runs["fidelity.verdict"])
    return "".join(mark for verdict, mark in VERDICT_MARKS.items() if verdict in verdicts)


def state_of(runs: pd.DataFrame) -> str:
    """Returns why some or all of a method's runs have no time to the target; empty if all have one."""
    counts = {status: (runs.status == status).sum() for status in ("failed", "interrupted")}
    missed = runs[(runs.status == "completed") & ~runs.reached]
    word = "not held" if missed.first_touch_iteration.notna().all() else "not reached"
    for state, count in (*counts.items(), (word, len(missed))):
        if count == len(runs):
            return state
    parts = [f"{count} of {len(runs)} {status}" for status, count in counts.items() if count]
    return ", ".join([*parts, *([f"{word} in {len(missed)} of {len(runs)}"] if len(missed) else [])])


@dataclass(frozen=True)
class TimeUnit:
    """One unit for all times of a figure, so that they can be compared."""

    symbol: str
    seconds: float

    def text(self, time_s: float) -> str:
        return f"{three_digits(time_s / self.seconds)} {self.symbol}"


def time_unit(runs: pd.DataFrame) -> TimeUnit:
    """Returns seconds, or hours if the longest run took more than two."""
    return TimeUnit("h", 3600.0) if runs.end_time_s.max() > 7200.0 else TimeUnit("s", 1.0)


def mean_time(runs: pd.DataFrame, unit: TimeUnit, comparison: Comparison) -> str:
    """Returns the mean time to the target of runs of which some reached it; a lower bound if not all did."""
    time = comparison.group(runs).to_target("time_to_accuracy_s")
    return f"{time.before}{unit.text(time.spread.mean)}"


def add_origin(figure: Figure, comparison: Comparison, of_seeds: str) -> None:
    """Adds the small print below the figure, with space reserved for it, unless the user wants none. It is the figure's label
    as well, which save() writes into the file. of_seeds: what is drawn of several seeds, as for caption()."""
    figure.set_label(caption(comparison, of_seeds, [text.get_text() for text in figure.findobj(Text)]))
    if comparison.look.has_origin:
        add_small_print(figure, figure.get_label())


def add_small_print(figure: Figure, text: str) -> None:
    """Adds it below the figure, which grows by the lines beyond those that its height has room for."""
    lines = textwrap.wrap(text, int(figure.get_figwidth() * SMALL_PRINT_CHARACTERS_PER_IN))
    more = max(0, len(lines) - USUAL_SMALL_PRINT_LINES)
    figure.set_figheight(figure.get_figheight() + SMALL_PRINT_LINE_IN * more)
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", color="0.35", linespacing=1.25)
