# SPDX-License-Identifier: Apache-2.0
"""Numbers as prose writes them: 1.77, 19,532, -3.2 %, 1/60, a 60th, a third, two."""
from __future__ import annotations

import re
from dataclasses import dataclass

from noise import decimals
from prose.measured import Number
from shared.number_text import rounded
from shared.report import VERDICT_MARKS

COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
PART_WORDS = ("half", "third", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
PARTS = {word: denominator for denominator, word in enumerate(PART_WORDS, 2)}
NUMBER = re.compile(
    r"[*_]*(?P<text>"
    rf"(?:(?P<whole>1|{'|'.join(COUNTS[1:])})[ ])?(?P<part>{'|'.join(PARTS)})s?\b"
    rf"|(?P<count>{'|'.join(COUNTS)})\b"
    r"|(?P<ordinal>\d+)(?:st|nd|rd|th)\b"
    r"|(?P<numerator>\d+)/(?P<denominator>\d+)(?!\d)"
    r"|(?P<decimal>[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(?P<percent>\s?%)?"
    rf")(?P<marks>[{''.join(VERDICT_MARKS.values())}]*)"
)
JUST_ABOVE_HALF = 0.5 * (1.0 + 1e-9)


@dataclass(frozen=True)
class WrittenNumber:
    """A number in a page, as \"27 %†\". start, end: the place of its text in the line, without emphasis."""

    match: re.Match[str]

    @staticmethod
    def at(line: str, start: int) -> WrittenNumber | None:
        """Returns the number that begins there, after asterisks; None if there is none."""
        match = NUMBER.match(line, start)
        return WrittenNumber(match) if match else None

    @property
    def start(self) -> int:
        return self.match.start("text")

    @property
    def end(self) -> int:
        return self.match.end("marks")

    @property
    def text(self) -> str:
        return self.match.string[self.start : self.end]

    def updated(self, number: Number) -> str:
        """Returns the text if the number rounds to it and has its marks, otherwise the number written like it."""
        percent = self.match["percent"] or ""
        if self.match["decimal"]:
            return self.updated_decimal(number * Number(100.0 if percent else 1.0)) + percent + number.marks
        return self.updated_words(number) + number.marks

    def updated_words(self, number: Number) -> str:
        found = self.match
        if found["count"]:
            at = COUNTS.index(found["count"])
            return found["count"] if near(number.value, at) else count_word(round(number.value))
        numerator = int(found["numerator"] or 1)
        if found["part"] and found["whole"] not in (None, "1"):
            numerator = COUNTS.index(found["whole"])
        denominator = int(found["ordinal"] or found["denominator"] or PARTS[found["part"]])
        exact = numerator / number.value if number.value > 0.0 else float("inf")
        if near(exact, denominator):
            return found["text"]
        if number.value <= 0.0 or numerator > 1 and not found["denominator"]:
            return f"{number.value:.2g}"
        return f"{numerator}/{round(exact)}" if found["denominator"] else part_word(round(exact))

    def updated_decimal(self, number: Number) -> str:
        shown = self.match["decimal"]
        written = float(shown.replace(",", "").replace("−", "-"))
        places = len(shown.partition(".")[2])
        if number.noise > 0.0 and number.value:
            places = min(places, decimals(number.value, number.noise / abs(number.value)))
        if round(written, places) == written and abs(number.value - written) <= JUST_ABOVE_HALF * 10.0**-places:
            return shown
        text = rounded(abs(number.value), places)
        if "," in shown:
            text = f"{int(text.partition('.')[0]):,}" + text[text.find(".") :] if "." in text else f"{int(text):,}"
        minus = "−" if "−" in shown else "-"
        return minus + text if number.value < 0.0 and float(text.replace(",", "")) else text


def near(exact: float, written: int) -> bool:
    return abs(exact - written) <= JUST_ABOVE_HALF


def count_word(count: int) -> str:
    return COUNTS[count] if 0 <= count < len(COUNTS) else str(count)


def part_word(denominator: int) -> str:
    words = {value: word for word, value in PARTS.items()}
    return words.get(denominator) or f"{denominator}{suffix(denominator)}"


def suffix(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
