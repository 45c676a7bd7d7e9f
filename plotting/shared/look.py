# SPDX-License-Identifier: Apache-2.0
"""The user's choices about looks: style file, width, order and names of methods, small print."""
from __future__ import annotations

import argparse
import contextlib
import difflib
import logging
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, Sequence

import matplotlib
import matplotlib.style

from shared.report import InputError

STYLE_FILE = Path(__file__).with_name("thinpipe.mplstyle")
COLUMN_WIDTH_IN, PAGE_WIDTH_IN = 3.5, 7.16
NAMED_WIDTHS_IN = {"column": COLUMN_WIDTH_IN, "page": PAGE_WIDTH_IN}
NARROWEST_IN, WIDEST_IN = 1.0, 30.0


@dataclass(frozen=True)
class Look:
    """width_in: of the whole figure; None: the figure's own. order: methods to show first, in this order; the others follow.
    names: other names for display, by method. has_origin: whether the small print is drawn."""

    width_in: float | None = None
    has_origin: bool = True
    order: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)

    def shown(self, method: str) -> str:
        return self.names.get(method, method)

    def sorted(self, methods: Sequence[str]) -> list[str]:
        return sorted(methods, key=lambda method: self.order.index(method) if method in self.order else len(self.order))


@dataclass(frozen=True)
class Wishes:
    """The options as they were written. They are checked once the methods are known."""

    width_in: float | None = None
    has_origin: bool = True
    order: str | None = None
    renames: tuple[str, ...] = ()

    @staticmethod
    def of(options: argparse.Namespace) -> Wishes:
        width, has_origin = getattr(options, "width", None), not getattr(options, "no_origin", False)
        return Wishes(width, has_origin, options.order, tuple(options.rename))

    def look(self, methods: Sequence[str]) -> Look:
        """Returns the look for these methods. Raises InputError if a method is unknown."""
        names = dict(renamed(text, methods) for text in self.renames)
        shown = [names.get(method, method) for method in methods]
        for name in names.values():
            if shown.count(name) > 1:
                raise InputError(
                    f"--rename …={name}: several methods would have this name; the methods are: {listed(methods)}"
                )
        by_name = {**dict(zip(shown, methods)), **dict(zip(methods, methods))}
        order = () if self.order is None else ordered(self.order, by_name)
        return Look(self.width_in, self.has_origin, order, names)


def listed(methods: Sequence[str]) -> str:
    return "; ".join(methods)


def renamed(text: str, methods: Sequence[str]) -> tuple[str, str]:
    """Splits OLD=NEW. Both may contain "=": OLD is the longest method that the text begins with."""
    for old in sorted(methods, key=len, reverse=True):
        if text.startswith(f"{old}=") and len(text) > len(old) + 1:
            return old, text[len(old) + 1 :]
    raise InputError(f"--rename {text}: must be OLD=NEW with a method for OLD; the methods are: {listed(methods)}")


def ordered(text: str, methods: dict[str, str]) -> tuple[str, ...]:
    """Splits names at commas. A name may contain commas: the longest one that fits is taken. `methods`: by their names."""
    order: list[str] = []
    rest = text
    while rest:
        fitting = [name for name in methods if rest == name or rest.startswith(f"{name},")]
        if not fitting:
            unknown = rest.partition(",")[0]
            raise InputError(f"--order {text}: '{unknown}' is no method; the methods are: {listed(list(methods))}")
        name = max(fitting, key=len)
        if methods[name] in order:
            raise InputError(f"--order {text}: names '{name}' twice")
        order.append(methods[name])
        rest = rest[len(name) + 1 :].lstrip()
    return tuple(order)


def width_in(text: str) -> float:
    if text in NAMED_WIDTHS_IN:
        return NAMED_WIDTHS_IN[text]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not NARROWEST_IN <= value <= WIDEST_IN:
        named = ", ".join(f"{name} ({width:g})" for name, width in NAMED_WIDTHS_IN.items())
        raise argparse.ArgumentTypeError(f"'{text}' must be {named} or inches from {NARROWEST_IN:g} to {WIDEST_IN:g}")
    return value


def add_look_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of figures."""
    group = parser.add_argument_group("looks")
    group.add_argument(
        "--style",
        type=Path,
        metavar="FILE",
        help="a matplotlib style file, applied after ours, for fonts, sizes and lines; methods keep their colours",
    )
    group.add_argument(
        "--width",
        type=width_in,
        metavar="IN",
        help=f"width of the figure in inches, or 'column' ({COLUMN_WIDTH_IN:g}) or 'page' ({PAGE_WIDTH_IN:g}) (default: as the "
        "panels need); font sizes stay",
    )
    group.add_argument(
        "--no-origin", action="store_true", help="leave out the small print; it stays in the file's metadata"
    )
    add_name_options(group)


def add_name_options(parser: argparse._ActionsContainer) -> None:
    """Adds the options about methods that figures and tables share."""
    parser.add_argument(
        "--order",
        metavar="NAME,NAME...",
        help="show these methods first, in this order, such as 'pactrain,topk 0.01'; the others follow",
    )
    parser.add_argument(
        "--rename",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="show a method under another name, such as 'pactrain ternary=PacTrain (ternary)'; repeatable",
    )


@contextlib.contextmanager
def style_context(file: Path | None) -> Iterator[None]:
    """Draws in our style and then in that of the file. Raises InputError if the file is not a style."""
    if file is not None:
        check_style(file)
    with matplotlib.style.context([STYLE_FILE, *([file] if file else [])]):
        yield


def check_style(file: Path) -> None:
    """Raises InputError for what matplotlib only logs: a file that is missing, a key or a value that is wrong."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--style {file}: cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        key = line.partition("#")[0].partition(":")[0].strip()
        if key and key not in matplotlib.rcParams:
            close = difflib.get_close_matches(key, list(matplotlib.rcParams), n=1)
            hint = f"; did you mean {close[0]}?" if close else "; matplotlib.org lists them as rcParams"
            raise InputError(f"--style {file}:{number}: '{key}' is no setting of matplotlib{hint}")
    with Complaints(logging.getLogger("matplotlib")) as complaints:
        try:
            matplotlib.rc_params_from_file(file, fail_on_error=True, use_default_template=False)
        except Exception as error:  # matplotlib raises whatever a setting's check raises
            raise InputError(f"--style {file}: {error}") from error
    if complaints.messages:
        raise InputError(f"--style {file}: {complaints.messages[0]}")


class Complaints(logging.Handler):
    """Collects the messages of a logger in place of printing them."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__(logging.WARNING)
        self.logger, self.messages = logger, list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(" ".join(record.getMessage().split()))

    def __enter__(self) -> Complaints:
        self.logger.addHandler(self)
        self.propagates, self.logger.propagate = self.logger.propagate, False
        return self

    def __exit__(self, *_: object) -> None:
        self.logger.removeHandler(self)
        self.logger.propagate = self.propagates
