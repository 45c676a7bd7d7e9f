# SPDX-License-Identifier: Apache-2.0
"""Writes text for LaTeX, in ASCII."""
from __future__ import annotations

import re

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "%&_#${}"},
}
# Macros of LaTeX's kernel (since 2020), except \checkmark of amssymb, for the other characters that figures and tables
# use. Math is in \ensuremath.
MACROS = {
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
    "×": r"\texttimes{}",
    "·": r"\textperiodcentered{}",
    "…": r"\ldots{}",
    "–": "--",
    "—": "---",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "µ": r"\textmu{}",
    "μ": r"\textmu{}",
    "°": r"\textdegree{}",
    "±": r"\textpm{}",
    "−": r"\ensuremath{-}",
    "≥": r"\ensuremath{\geq}",
    "≤": r"\ensuremath{\leq}",
    "≈": r"\ensuremath{\approx}",
    "∞": r"\ensuremath{\infty}",
    "✓": r"\checkmark{}",
    "✗": r"\ensuremath{\times}",
    "→": r"\ensuremath{\rightarrow}",
    "\u200b": "",
    "\u00a0": "~",
    "\u202f": r"\,",
}
TO_REPLACE = re.compile("|".join(map(re.escape, {**SPECIAL, **MACROS})))


def in_latex(text: str) -> str:
    """Returns the text with LaTeX's special characters escaped, and ours beyond ASCII as macros. Others stay, for XeLaTeX,
    LuaLaTeX, or pdfLaTeX with their packages."""
    return TO_REPLACE.sub(lambda found: {**SPECIAL, **MACROS}[found.group()], text)
