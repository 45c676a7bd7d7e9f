# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import exchange_table

from .records import make_record, write
from .test_replay_table import rows_of

AXES = {"queue": "1 ms", "control": "cubic"}
EDGE = {
    "from": "w0",
    "to": "w1",
    "connections": 1,
    "acknowledged_bytes": 1000,
    "min_round_trip_s": 0.001,
    "mean_round_trip_s": 0.002,
    "max_round_trip_s": 0.003,
    "mean_congestion_window_bytes": 14480.0,
    "mean_delivery_rate_bit_per_s": 1e8,
}


def run(exchange_s: float | None, resent: int | None = None, verdict: str = "faithful", **axes: str) -> dict[str, Any]:
    record = make_record("dense", axes=AXES | axes)
    record["iteration_time_s"]["exchange"] = exchange_s
    record["fidelity"]["verdict"] = verdict
    if resent is not None:
        record["connections"] = [EDGE | {"retransmitted_segments": segments} for segments in (resent, 1)]
    return record


class ExchangeTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *records: dict[str, Any], rows: str = "control", columns: str = "queue") -> tuple[int, str, str]:
        write(self.folder, *records)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = exchange_table.main([str(self.folder), "--rows", rows, "--columns", columns])
        return code, out.getvalue(), err.getvalue()

    def test_each_cell_is_of_its_row_and_column(self) -> None:
        code, text, err = self.call(
            run(0.5, queue="10 ms"), run(0.25), run(0.125, control="bbr"), run(0.375, control="bbr", queue="10 ms")
        )
        self.assertEqual((code, err), (0, ""))
        rows = {row["control"]: row for row in rows_of(text)}
        self.assertEqual(list(rows["cubic"]), ["control", "1 ms", "10 ms"])
        self.assertEqual((rows["cubic"]["1 ms"], rows["cubic"]["10 ms"]), ("250", "500"))
        self.assertEqual((rows["bbr"]["1 ms"], rows["bbr"]["10 ms"]), ("125", "375"))
        self.assertIn("**method = dense**", text)

    def test_without_other_axes_there_is_no_title(self) -> None:
        _, text, _ = self.call(run(0.25), run(0.5, queue="10 ms"), rows="method")
        self.assertIn("**control = cubic**", text)
        records = [make_record("dense", axes={"queue": queue}) for queue in ("1 ms", "10 ms")]
        with tempfile.TemporaryDirectory() as folder:
            self.folder = Path(folder)
            _, text, _ = self.call(*records, rows="method")
        self.assertNotIn("**", text)

    def test_a_cell_counts_segments_that_were_sent_again(self) -> None:
        _, text, _ = self.call(run(0.25, resent=41), run(0.5, queue="10 ms"))
        (row,) = rows_of(text)
        self.assertEqual((row["1 ms"], row["10 ms"]), ("250 (42)", "500"))

    def test_a_network_that_was_not_faithful_is_marked(self) -> None:
        _, text, _ = self.call(run(0.25, verdict="degraded"), run(0.5, queue="10 ms"))
        (row,) = rows_of(text)
        self.assertEqual((row["1 ms"], row["10 ms"]), ("250†", "500"))
        self.assertIn("† The network was degraded.", text)
        self.assertNotIn("‡", text)

    def test_what_was_not_run_has_no_number(self) -> None:
        _, text, _ = self.call(run(0.25), run(0.5, queue="10 ms"), run(0.75, control="bbr"))
        self.assertEqual({row["control"]: row["10 ms"] for row in rows_of(text)}, {"cubic": "500", "bbr": "-"})

    def test_an_exchange_that_was_not_measured_has_no_number(self) -> None:
        code, text, err = self.call(run(0.25), run(None, queue="10 ms"))
        self.assertEqual((code, err), (0, ""))
        (row,) = rows_of(text)
        self.assertEqual((row["1 ms"], row["10 ms"]), ("250", "-"))

    def test_modes_have_tables_of_their_own(self) -> None:
        live, replayed = run(0.25), run(0.75)
        replayed |= {"mode": "replay", "run_id": "0" * 16, "config": replayed["config"] | {"mode": "replay"}}
        _, text, _ = self.call(live, replayed)
        of_live, of_replay = text.split("**method = dense, mode = replay**")
        self.assertEqual([rows_of(each)[0]["1 ms"] for each in (of_live, of_replay)], ["250", "750"])

    def test_an_axis_that_is_not_there_is_refused(self) -> None:
        code, _, err = self.call(run(0.25), columns="queues")
        self.assertEqual(code, 2)
        self.assertIn("not every run has an axis queues; the axes are method, control, queue", err)
        code, _, err = self.call(run(0.25), rows="queue", columns="queue")
        self.assertEqual(code, 2)
        self.assertIn("are both queue; name two axes", err)


if __name__ == "__main__":
    unittest.main()
