# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts"))
import rate_steps  # noqa: E402

# 12.5 MB and 1.25 MB in the 100 ms that an exchange may take, without headers.
STEP_DOWN = {
    "label": "netsense",
    "synchroniser": {"mean_exchange_budget_s": 0.1},
    "network_events": [
        {"train_time_s": 0.0, "requested": {"rate_bit_per_s": 1e9}},
        {"train_time_s": 2.5, "requested": {"rate_bit_per_s": 1e8}},
    ],
}


def run(record: dict[str, Any], sent_bytes: list[float]) -> tuple[int, str, str]:
    """Reports on a run with one iteration per second."""
    lines: list[dict[str, Any]] = [{"event": "evaluation"}]
    for iteration, sent in enumerate(sent_bytes, start=1):
        lines.append({"event": "iteration", "train_time_s": float(iteration), "sent_bytes": sent})
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "run.json").write_text(json.dumps(record))
        Path(folder, "iterations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = rate_steps.main([folder])
    return status, out.getvalue(), err.getvalue()


class RateSteps(unittest.TestCase):
    def test_a_step_is_followed_when_the_sent_bytes_fit(self) -> None:
        status, out, _ = run(STEP_DOWN, [9e6, 9e6, 9e6, 1.1e6, 1.1e6])
        self.assertEqual(status, 0)
        self.assertIn("at 2.50 s to 100 Mbit/s: 7.53 0.92 0.92; followed in iteration 2", out)
        self.assertEqual(out.count("at "), 1, "the first rate is no change")

    def test_other_events_and_those_that_never_happened_are_left_out(self) -> None:
        more = [
            {"train_time_s": 3.0, "requested": {"state": "down"}},
            {"train_time_s": None, "requested": {"rate_bit_per_s": 1e6}},
        ]
        record = STEP_DOWN | {"network_events": STEP_DOWN["network_events"] + more}
        status, out, err = run(record, [9e6, 9e6, 9e6, 1.1e6])
        self.assertEqual((status, err, out.count("at ")), (0, "", 1))

    def test_too_few_bytes_do_not_follow_either(self) -> None:
        self.assertIn("not followed within 10 iterations", run(STEP_DOWN, [9e6, 9e6] + 20 * [0.9e6])[1])

    def test_the_next_step_ends_the_first_one(self) -> None:
        twice = json.loads(json.dumps(STEP_DOWN))
        twice["network_events"].append({"train_time_s": 4.5, "requested": {"rate_bit_per_s": 1e9}})
        out = run(twice, [9e6, 9e6, 9e6, 9e6, 9e6])[1]
        self.assertIn("to 100 Mbit/s: 7.53 7.53; not followed within 2 iterations", out)
        self.assertIn("to 1000 Mbit/s: 1.00; followed in iteration 1", out)

    def test_the_largest_kept_fraction_bounds_what_is_expected(self) -> None:
        step_up = json.loads(json.dumps(STEP_DOWN))
        step_up["network_events"][1]["requested"]["rate_bit_per_s"] = 1e10
        self.assertIn("0.50 1.00; followed in iteration 2", run(step_up, [1e6, 1e6, 4e6, 8e6])[1])

    def test_another_method_is_refused(self) -> None:
        status, _, err = run({**STEP_DOWN, "synchroniser": {}}, [1e6])
        self.assertEqual(status, 2)
        self.assertIn("is not a live run of netsense on changing links: it lacks 'mean_exchange_budget_s'", err)


if __name__ == "__main__":
    unittest.main()
