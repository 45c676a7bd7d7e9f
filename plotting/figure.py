"""Shared by all figures: the command line, style, the line with the origin, and saving."""
from __future__ import annotations

import argparse
import os
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

import matplotlib.style
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from comparison import Comparison, Panel, also_differing, compare, panels_of
from load import Results, load
from report import VERDICT_MARKS, InputError, Question, add_report_options

STYLE_FILE = Path(__file__).with_name("thinpipe.mplstyle")
COLUMN_WIDTH_IN, PAGE_WIDTH_IN = 3.5, 7.16
PANELS_A_ROW = 3
MEANINGS_OF_MARKS = {"degraded": "network emulation degraded", "not judged": "network emulation not judged"}
MOST_LISTED_SEEDS = 6
# The formats that figures are written in, by suffix, and their metadata for a description.
METADATA: dict[str, Callable[[str], dict[str, Any]]] = {
    ".png": lambda description: {"Description": description},
    ".pdf": lambda description: {"Subject": description, "CreationDate": None},
}


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
) -> int:
    """Draws the figure for the command line's options. Returns the exit code: 0 drawn, 1 not written, 2 wrong input.

    `over` returns the baselines that the figure needs beside dense and fp16.
    """
    try:
        results = load(options.results, Question.of(options, options.target))
        if baselines := tuple(over(results)):
            results = load(options.results, Question.of(options, options.target, baselines))
        comparison = compare(results, options.mode, dict(options.where), panels, needs_time)
        output = output_path(options.output or default_output(options.results, name))
        for line in [*comparison.results.superseded, *incomplete_runs(comparison)]:
            print(f"{name}: {line}", file=sys.stderr)
        with matplotlib.style.context(STYLE_FILE):
            save(draw(comparison), output, caption(comparison))
    except InputError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{name}: cannot write the figure: {error}", file=sys.stderr)
        return 1
    print(output)
    return 0


def parser_of(name: str, summary: str, example: str = "results/quickstart") -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{name}.py",
        description=summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"example:\n  python3 plotting/{name}.py {example} --target 0.84 "
        f"--output {name}.pdf\n\n"
        "exit codes: 0 drawn, 1 the figure could not be written, 2 wrong input",
    )
    add_selection(parser, example)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help=f"a PNG, or a PDF with vectors (default: {name}.png in the folder of the results)",
    )
    return parser


def add_selection(parser: argparse.ArgumentParser, example: str) -> None:
    """Adds the options, the same for figures and tables, that select runs and target."""
    parser.add_argument(
        "results",
        type=Path,
        help=f"folder of an experiment's records, such as {example}, or a file that 'thinpipe export' wrote",
    )
    parser.add_argument(
        "--target",
        metavar="TARGET",
        help="test accuracy to reach, above 0 and at most 1, or a loss, such as bits_per_byte=2.2 or "
        "test_loss=0.5 (default: the last of the runs' own targets)",
    )
    parser.add_argument(
        "--hold",
        type=int,
        metavar="N",
        help="count the target as reached if N successive evaluations are at it; 1: the first one counts (default: the "
        "runs' own number)",
    )
    parser.add_argument("--mode", help="use the runs of this mode (required if the folder has several modes)")
    parser.add_argument(
        "--where",
        type=axis_value,
        action="append",
        default=[],
        metavar="AXIS=VALUE",
        help="use only runs with this value of a swept axis, such as 'bottleneck.rate=1 Gbit/s'; "
        "repeatable (default: one panel per value)",
    )
    add_report_options(parser)


def axis_value(text: str) -> tuple[str, str]:
    axis, equals, value = text.partition("=")
    if not (axis and equals and value):
        raise argparse.ArgumentTypeError(f"'{text}' must be AXIS=VALUE, such as 'bottleneck.rate=1 Gbit/s'")
    return axis, value


def default_output(results: Path, name: str) -> Path:
    return (results if results.is_dir() else results.parent) / f"{name}.png"


def output_path(output: Path) -> Path:
    """Returns the path. Raises InputError unless its suffix is a supported format and its folder exists."""
    if output.suffix not in METADATA:
        raise InputError(f"--output {output}: must end in .png or .pdf")
    if not output.parent.is_dir():
        raise InputError(f"--output {output}: the folder {output.parent} does not exist")
    return output


def new_figure(
    panels: int,
    panel_height_in: float,
    share_x: bool = False,
    share_y: bool = True,
    panels_a_row: int = PANELS_A_ROW,
) -> tuple[Figure, list[Axes]]:
    """Returns a figure at printed size, one column wide for one panel, as wide as the page for more; and its axes."""
    rows = -(-panels // panels_a_row)
    columns = min(panels, panels_a_row)
    figure = Figure(figsize=(COLUMN_WIDTH_IN if panels == 1 else PAGE_WIDTH_IN, rows * panel_height_in))
    axes = list(figure.subplots(rows, columns, sharex=share_x, sharey=share_y, squeeze=False).flat)
    for unused in axes[panels:]:
        unused.remove()
    return figure, axes[:panels]


def legend_below(axes: Axes, **options: object) -> None:
    """Adds a legend below the axis label. The distance is in inches, so it does not depend on the panel's height."""
    under_label = axes.transAxes + ScaledTranslation(0.0, -0.36, axes.figure.dpi_scale_trans)
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.45, 0.0),
        bbox_transform=under_label,
        borderaxespad=0.0,
        **options,
    )


def legend_label(label: str) -> str:
    """Returns the label for a legend. matplotlib leaves out labels that begin with "_", so an invisible character is
    put before that."""
    return f"\u200b{label}" if label.startswith("_") else label


def name_of(method: str, runs: pd.DataFrame) -> str:
    """Returns the method's name for display, marked if a network of its runs was not faithful."""
    verdicts = set(runs["fidelity.verdict"])
    return legend_label(method) + "".join(mark for verdict, mark in VERDICT_MARKS.items() if verdict in verdicts)


def state_of(runs: pd.DataFrame) -> str:
    """Returns why some or all of a method's runs have no time to the target; empty if all have one."""
    for status in ("failed", "interrupted"):
        count = (runs.status == status).sum()
        if count:
            return status if count == len(runs) else f"{count} of {len(runs)} {status}"
    missed = runs[~runs.reached]
    if missed.empty:
        return ""
    word = "not held" if missed.first_touch_iteration.notna().all() else "not reached"
    return word if len(missed) == len(runs) else f"{word} in {len(missed)} of {len(runs)}"


@dataclass(frozen=True)
class TimeUnit:
    """One unit for all times of a figure, so that they can be compared."""

    symbol: str
    seconds: float

    def text(self, time_s: float) -> str:
        value = time_s / self.seconds
        return f"{value:.3g} {self.symbol}" if value < 1000 else f"{value:.0f} {self.symbol}"


def time_unit(runs: pd.DataFrame) -> TimeUnit:
    """Returns seconds, or hours if the longest run took more than two."""
    return TimeUnit("h", 3600.0) if runs.end_time_s.max() > 7200.0 else TimeUnit("s", 1.0)


def incomplete_runs(comparison: Comparison) -> list[str]:
    """Returns a line for each run that did not complete, with the reason."""
    runs = comparison.runs[comparison.runs.status != "completed"]
    return [
        f"{run.method}{''.join(f', {value}' for value in run.other_axes.values())}: {run.status}"
        + (f" ({run.message})" if isinstance(run.message, str) else "")
        for run in runs.rename(columns={"error.message": "message"}).itertuples()
    ]


def origin(comparison: Comparison, more: Iterable[str] = ()) -> str:
    """Returns the small print: the origin of the numbers, and the caveats about them."""
    runs = comparison.runs
    parts = (
        f"mode {listed(runs['mode'])}",
        *task_of(runs),
        f"{listed(whole(runs['config.workers']))} workers",
        seeds(runs),
        f"cpu {listed(runs['provenance.cpu'])} ({listed(whole(runs['provenance.cores']))} cores)",
        f"commit {commits(runs)}",
    )
    return " · ".join([*parts, *more, *caveats(comparison)])


def task_of(runs: pd.DataFrame) -> Iterable[str]:
    """Yields the data and the model, and the command of a script, which brings its own."""
    if not runs["config.trainer.command"].notna().all():
        yield f"data {listed(runs['config.dataset.name'])}"
        yield f"model {listed(runs['config.model.name'])}"
    commands = runs["config.trainer.command"].dropna().map(" ".join)
    if len(commands):
        yield f"script {listed(commands)}"


def caption(comparison: Comparison) -> str:
    """Returns the small print below a figure: the origin and, if there are several seeds, the meaning of whiskers."""
    more = [f"means; whiskers and {comparison.results.spread_note}"] if has_spread(comparison) else []
    held = listed(whole(comparison.runs["hold"]))
    return origin(comparison, [*more, *([f"target held for {held} evaluations"] if held not in ("1", "unknown") else [])])


def has_spread(comparison: Comparison) -> bool:
    return any(panel.runs.group.duplicated().any() for panel in comparison.panels)


def whole(counts: pd.Series) -> pd.Series:
    """Returns counts as text: a column with a missing value has floating-point numbers."""
    return counts.map(lambda count: f"{count:.0f}", na_action="ignore")


def listed(values: pd.Series) -> str:
    return ", ".join(sorted({str(value) for value in values.dropna()})) or "unknown"


def seeds(runs: pd.DataFrame) -> str:
    """Returns the runs' seeds: "seed 1", "seeds 1, 5" or "seeds 1–3"; only their number if more cannot be listed."""
    numbers = sorted({int(seed) for seed in runs["config.seed"].dropna()})
    if not numbers:
        return "seed unknown"
    if len(numbers) == 1:
        return f"seed {numbers[0]}"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"seeds {numbers[0]}–{numbers[-1]}"
    return f"seeds {', '.join(map(str, numbers))}" if len(numbers) <= MOST_LISTED_SEEDS else f"{len(numbers)} seeds"


def commits(runs: pd.DataFrame) -> str:
    names = {
        str(commit)[:10] + (" + uncommitted changes" if dirty is True else "")
        for commit, dirty in zip(runs["provenance.git_commit"].fillna("unknown"), runs["provenance.dirty"])
    }
    return ", ".join(sorted(names))


def caveats(comparison: Comparison) -> list[str]:
    notes = []
    verdicts = set(comparison.runs["fidelity.verdict"])
    notes += [f"{VERDICT_MARKS[verdict]} {meaning}" for verdict, meaning in MEANINGS_OF_MARKS.items() if verdict in verdicts]
    if comparison.runs["network_events"].map(any_happened).any():
        notes.append("links changed during the runs")
    if not comparison.target_was_preset:
        notes.append("target chosen after the runs")
    differing = sorted({name for panel in comparison.panels for name in also_differing(panel)})
    if differing:
        notes.append(f"methods also differ in {', '.join(differing)}")
    return notes + [textwrap.shorten(line, 90, placeholder=" …") for line in incomplete_runs(comparison)]


def any_happened(events: object) -> bool:
    """Returns whether a link of the run changed. Older records have no network_events; a run may end before any."""
    return isinstance(events, list) and any(event["confirmed_s"] is not None for event in events)


def add_origin(figure: Figure, comparison: Comparison) -> None:
    """Adds the small print below the figure, with space reserved for it."""
    width_chars = int(figure.get_figwidth() * 26)
    figure.supxlabel(
        "\n".join(textwrap.wrap(caption(comparison), width_chars)),
        x=0.01,
        ha="left",
        color="0.35",
        linespacing=1.25,
    )


def save(figure: Figure, path: Path, description: str) -> None:
    """Writes the format of the suffix; renames the file into place when complete. It has no date: the same records give
    the same bytes."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        figure.savefig(temporary, metadata=METADATA[path.suffix](description))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
