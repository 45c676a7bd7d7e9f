#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates the claims of all papers beside what the committed records show, with a verdict for each."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Sequence

import pandas as pd

from prose.claim import Claim, read_claims
from prose.expression import evaluate
from prose.quantity import Records
from prose.source import Sources
from shared.destination import add_destination, write_to_destination
from shared.markdown_table import UNKNOWN, grid, in_markdown
from shared.origin import whole_origin
from shared.report import VERDICT_MARKS, InputError
from shared.small_print import MEANINGS_OF_MARKS

ROOT = Path(__file__).resolve().parents[1]
CLAIMS = ROOT / "docs" / "results" / "claims.json"
REFERENCE = ROOT / "results" / "reference"
BEGIN, END = "<!-- paper claims: begin -->", "<!-- paper claims: end -->"
NOT_RUN = "not run yet"
TEXTS = ("claim", "confirmed if", "mode", "verdict")
ABOUT = """\
FILE is a list of claims. Each has "paper", the "page" in docs/results that describes it, the "claim" and what is "claimed".
A claim that is measured also has
  source       a folder in results/reference, as in a mark of a number (plotting/prose_numbers.py --help)
  measured     an expression of quantities of its records
  shown        the text of the cell, with {} for the number, which has as many "decimals"
  confirmed    [lowest, highest] value that confirms the claim; null for no limit. The table shows it: it is the claimed
               value, unless that is in words or measurements scatter around it
  in part      the same, for a part of the claim (optional)
  because      the reason for a difference (optional)
A claim that is not has "not testable", the reason.
A verdict says so if the interval over seeds of a measured quantity has one of these limits in it.

examples:
  python3 plotting/paper_claims.py
  python3 plotting/paper_claims.py --paper 'Sparse Binary Compression'
  python3 plotting/paper_claims.py --update docs/results/claims.md

exit codes: 0 made, 1 the table could not be written, 2 wrong input"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="paper_claims.py",
        description="Tabulate the claims of papers beside what the committed records show.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=ABOUT,
    )
    parser.add_argument(
        "claims", type=Path, nargs="?", metavar="FILE", default=CLAIMS, help="default: docs/results/claims.json"
    )
    parser.add_argument("--paper", metavar="NAME", help="only this paper's claims")
    parser.add_argument(
        "--reference", type=Path, default=REFERENCE, help="the folder of sources (default: results/reference)"
    )
    parser.add_argument("--thinpipe", type=Path, metavar="FILE", help="the program (default: build/release/thinpipe)")
    add_destination(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    return write_to_destination("paper_claims", lambda: table(options), options, BEGIN, END)


def table(options: argparse.Namespace) -> str:
    claims = [claim for claim in read_claims(options.claims) if options.paper in (None, claim.paper)]
    if not claims:
        known = dict.fromkeys(claim.paper for claim in read_claims(options.claims))
        raise InputError(f"--paper {options.paper}: no claim is of this paper; known: {', '.join(known)}")
    measured = [claim for claim in claims if claim.expression is not None and has_records(claim, options.reference)]
    sources = Sources(options.reference, options.thinpipe, measured)
    rows = [row_of(claim, sources if claim in measured else None) for claim in claims]
    pages = {claim.paper: claim.page for claim in claims}
    reasons = dict.fromkeys(claim.because for claim in measured if claim.because)
    shown = "".join(row["measured"] for row in rows)
    meanings = [f"{mark} {MEANINGS_OF_MARKS[name]}." for name, mark in VERDICT_MARKS.items() if mark in shown]
    notes = [
        f"Details: {', '.join(f'[{in_markdown(paper)}]({page})' for paper, page in pages.items())}.",
        *(in_markdown(reason) for reason in reasons),
        *meanings,
        "",
        "The records:\n",
        *(f"- {in_markdown(origin)}" for origin in origins(measured, sources)),
    ]
    return "\n".join([grid(rows, TEXTS), *notes, ""])


def origins(measured: Sequence[Claim], sources: Sources) -> list[str]:
    """Returns one line per experiment."""
    by_name = {claim.source.split()[0]: sources.of(claim) for claim in measured}
    return [whole_origin(pd.concat(source.runs)) for source in by_name.values() if isinstance(source, Records)]


def has_records(claim: Claim, reference: Path) -> bool:
    names = [word for word in claim.source.split() if "=" not in word]
    return any(path.is_dir() for name in names for path in reference.glob(name))


def row_of(claim: Claim, sources: Sources | None) -> dict[str, str]:
    row = {"paper": claim.paper, "claim": claim.claim, "claimed": claim.claimed}
    row["confirmed if"] = UNKNOWN if claim.untestable else claim.limits()
    if claim.untestable:
        return row | {"measured": UNKNOWN, "mode": UNKNOWN, "verdict": f"not testable here: {claim.untestable}"}
    if sources is None:
        return row | {"measured": UNKNOWN, "mode": UNKNOWN, "verdict": NOT_RUN}
    assert claim.expression is not None
    try:
        measured = evaluate(claim.expression, sources.of(claim))
        number = measured.single()
    except InputError as error:
        raise InputError(f"\"{claim.claim}\": {claim.source}: {error}") from error
    return row | {
        "measured": claim.text_of(number) + number.marks,
        "mode": ", ".join(sorted(measured.modes)),
        "verdict": claim.verdict_on(number),
    }


if __name__ == "__main__":
    sys.exit(main())
