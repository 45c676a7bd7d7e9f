# SPDX-License-Identifier: Apache-2.0
"""thinpipe.report and thinpipe.option, as a training script uses them."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

PACKAGE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE))
import thinpipe  # noqa: E402


class Number:
    """Stands for a NumPy number or a tensor with one element."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)


class Tensor:
    """Stands for a tensor with several elements."""

    def __float__(self) -> float:
        raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")


class WithPipe(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "reports"
        os.mkfifo(self.path)
        self.reader = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)  # as the controller opens it
        self.addCleanup(lambda: self.reader is None or os.close(self.reader))
        environment = mock.patch.dict(os.environ, {"THINPIPE_REPORTS": str(self.path)})
        environment.start()
        self.addCleanup(environment.stop)

    def received(self) -> list[dict]:
        try:
            text = os.read(self.reader, 1 << 20)
        except BlockingIOError:
            return []
        return [json.loads(line, parse_constant=self.fail) for line in text.splitlines()]

    def test_sends_what_is_given(self) -> None:
        thinpipe.report(iteration=10, test_accuracy=0.5, train_loss=1.5, payload_bytes=400, note="warm-up", best=True)
        (message,) = self.received()
        self.assertIn("python", message.pop("libraries", {"python": ""}))
        self.assertLessEqual(message.pop("monotonic_s"), time.monotonic())
        self.assertEqual(
            message,
            {"iteration": 10, "test_accuracy": 0.5, "train_loss": 1.5, "payload_bytes": 400, "note": "warm-up", "best": True},
        )

    def test_takes_numbers_of_other_packages(self) -> None:
        thinpipe.report(Number(10), test_accuracy=Number(0.5), lr=Number(0.1))
        (message,) = self.received()
        self.assertEqual((message["iteration"], message["test_accuracy"], message["lr"]), (10, 0.5, 0.1))

    def test_sends_null_for_a_number_that_is_not_finite(self) -> None:
        thinpipe.report(iteration=1, test_loss=float("nan"), train_loss=float("inf"), norm=Number(float("-inf")))
        (message,) = self.received()
        self.assertEqual((message["test_loss"], message["train_loss"], message["norm"]), (None, None, None))

    def test_names_of_the_user_may_extend_known_ones(self) -> None:
        thinpipe.report(iteration=1, test_accuracy_top5=0.9, train_loss_ema=2.5)
        (message,) = self.received()
        self.assertEqual((message["test_accuracy_top5"], message["train_loss_ema"]), (0.9, 2.5))

    def test_refuses_wrong_values(self) -> None:
        for arguments, words in (
            ({"iteration": 1.5}, "iteration must be a whole number"),
            ({"iteration": "1"}, "iteration must be a whole number"),
            ({"iteration": True}, "iteration must be a whole number"),
            ({"iteration": float("nan")}, "iteration must be a whole number"),
            ({"iteration": -1}, "iteration must be from 0"),
            ({"iteration": 1, "test_accuracy": 93.2}, "share from 0 to 1, but is 93.2; divide a percentage by 100"),
            ({"iteration": 1, "test_loss": "low"}, "test_loss must be a number"),
            ({"iteration": 1, "train_loss": Tensor()}, "train_loss must be a number"),
            ({"iteration": 1, "train_time_s": -1}, "train_time_s must be at least 0"),
            ({"iteration": 1, "test_acuracy": 0.5}, 'did you mean "test_accuracy"'),
            ({"iteration": 1, "history": [1, 2]}, "history must be a number"),
            ({"test_accuracy": 0.5}, "needs the iteration"),
            ({}, "needs at least one value"),
            ({"iteration": 1, "note": "x" * 5000}, "is too long"),
        ):
            with self.subTest(arguments=arguments), self.assertRaises((TypeError, ValueError)) as raised:
                thinpipe.report(**arguments)
            self.assertIn(words, str(raised.exception))
        self.assertEqual(self.received(), [])

    def test_payload_needs_no_iteration(self) -> None:
        thinpipe.report(payload_bytes=400)
        self.assertEqual(self.received()[0]["payload_bytes"], 400)

    def test_works_after_a_fork_and_in_children(self) -> None:
        thinpipe.report(iteration=1)
        child = os.fork()
        if child == 0:
            thinpipe.report(iteration=2)
            os._exit(0)
        os.waitpid(child, 0)
        script = "import thinpipe; thinpipe.report(iteration=3)"
        subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(PACKAGE)}, check=True)
        self.assertEqual([message["iteration"] for message in self.received()], [1, 2, 3])

    def test_finds_the_extension_that_another_folder_has(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            installed = Path(folder) / "thinpipe"
            installed.mkdir()
            (installed / "__init__.py").touch()
            (installed / "_core.py").write_text("top_k = 'the installed one'")
            script = "import thinpipe; print(thinpipe.__file__, thinpipe.top_k)"
            found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                                   env={**os.environ, "PYTHONPATH": f"{PACKAGE}:{folder}"}).stdout
        self.assertEqual(found, f"{PACKAGE}/thinpipe/__init__.py the installed one\n")

    def test_waits_while_the_pipe_is_full(self) -> None:
        def report_all() -> None:
            for iteration in range(3000):
                thinpipe.report(iteration=iteration, note="x" * 100)

        writer = threading.Thread(target=report_all)
        writer.start()
        iterations = []
        while len(iterations) < 3000:
            iterations += [message["iteration"] for message in self.received()]
        writer.join()
        self.assertEqual(iterations, list(range(3000)))

    def test_does_nothing_after_the_run(self) -> None:
        os.close(self.reader)
        self.reader = None
        thinpipe.report(iteration=1)
        self.path.unlink()
        thinpipe.report(iteration=2)

    def test_options_are_those_of_the_run(self) -> None:
        with mock.patch.dict(os.environ, {"THINPIPE_OPTIONS": '{"lr": 0.1, "layers": [1, 2]}'}):
            self.assertEqual(thinpipe.options(), {"lr": 0.1, "layers": [1, 2]})
            self.assertEqual(thinpipe.option("lr", 0.5), 0.1)
            self.assertEqual(thinpipe.option("momentum", 0.9), 0.9)


class Outside(unittest.TestCase):
    def test_does_nothing(self) -> None:
        with mock.patch.dict(os.environ):
            for name in ("THINPIPE_REPORTS", "THINPIPE_OPTIONS"):
                os.environ.pop(name, None)
            thinpipe.report(iteration="wrong")
            self.assertEqual(thinpipe.options(), {})
            self.assertEqual(thinpipe.option("lr", 0.1), 0.1)

    def test_a_worker_that_calls_the_user_s_code_receives_the_reports(self) -> None:
        received = []
        with mock.patch.object(thinpipe.reporting, "listener", received.append):
            thinpipe.report(payload_bytes=400)
        thinpipe.report(payload_bytes=500)
        self.assertEqual([message["payload_bytes"] for message in received], [400])

    def test_imports_nothing_heavy(self) -> None:
        script = f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); import thinpipe; print('torch' in sys.modules)"
        loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(loaded.stdout, "False\n")


if __name__ == "__main__":
    unittest.main()
