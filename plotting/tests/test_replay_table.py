import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import replay_table
from comparison import compare
from load import load

from .records import BEST_ACCURACY, ITERATION_TIME_S, make_converge_record, make_curve, make_record, write


def pair(method: str, factor: float, **axes: str) -> list[dict[str, Any]]:
    """A live run, and its replay that takes `factor` times as long."""
    live = make_record(method, axes={"mode": "live", **axes})
    slower = make_curve(factor * ITERATION_TIME_S[method], BEST_ACCURACY[method])
    replay = make_record(method, axes={"mode": "replay", **axes}, mode="replay", curve=slower)
    return [live, replay]


class ReplayTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *records: dict[str, Any]) -> tuple[int, str, str]:
        for record in records:
            write(self.folder, record)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = replay_table.main([str(self.folder)])
        return code, out.getvalue(), err.getvalue()

    def test_a_row_for_each_training_that_was_run_both_ways(self) -> None:
        code, text, err = self.call(*pair("dense", 1.02), make_record("fp16", axes={"mode": "live"}))
        self.assertEqual((code, err), (0, ""))
        rows = [line for line in text.splitlines() if line.startswith("| dense") or line.startswith("| fp16")]
        self.assertEqual(len(rows), 1)
        cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
        self.assertEqual((cells[3], cells[6]), ("1.020", "1.020"))
        self.assertEqual(cells[4:6], ["800", "816"])

    def test_the_summary_counts_replays_within_five_percent(self) -> None:
        _, text, _ = self.call(*pair("dense", 1.02), *pair("topk 0.1", 0.9))
        self.assertIn("of 1 of 2 replays are within 5 %", text)
        self.assertIn("largest deviation is -10.0 %", text)

    def test_other_axes_make_tables_of_their_own(self) -> None:
        _, text, _ = self.call(
            *pair("dense", 1.0, **{"bottleneck.rate": "500 Mbit/s"}),
            *pair("dense", 1.0, **{"bottleneck.rate": "100 Mbit/s"}),
        )
        slow, fast = text.index("bottleneck.rate = 100"), text.index("bottleneck.rate = 500")
        self.assertLess(slow, fast)

    def test_without_pairs_it_says_how_to_get_them(self) -> None:
        code, _, err = self.call(make_record("dense"), make_converge_record("dense"))
        self.assertEqual(code, 2)
        self.assertIn('sweep "mode": ["live", "replay"]', err)


class ModesTest(unittest.TestCase):
    def test_replays_are_meant_where_their_convergence_runs_stand_beside_them(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), make_converge_record("dense"), make_record("dense", mode="replay"))
            comparison = compare(load(Path(folder)))
        self.assertEqual(list(comparison.runs["mode"]), ["replay"])


if __name__ == "__main__":
    unittest.main()
