# SPDX-License-Identifier: Apache-2.0
"""Reports of a training script that is an experiment's trainer, and the options of its run.

docs/tutorials/your-script.md shows their use.

This file needs nothing but Python 3.8, and may be copied. Outside Thinpipe, report() does nothing and option() returns
its default. Both work in every process of a worker, in every thread, and after a fork.

The protocol: each report is one line of JSON, written at once to the named pipe THINPIPE_REPORTS.
"""
import difflib
import errno
import json
import math
import os
import platform
import sys
import time

# The kernel does not mix lines of this length from several writers (PIPE_BUF).
MAX_BYTES = 4096
KNOWN = ("iteration", "test_accuracy", "test_loss", "train_loss", "epoch", "train_time_s", "payload_bytes")
_process_that_reported = None
# Receives this process's reports in place of the pipe, if it is set: a worker that calls the user's code sets it.
listener = None


def report(
    iteration=None,
    *,
    test_accuracy=None,
    test_loss=None,
    train_loss=None,
    epoch=None,
    train_time_s=None,
    payload_bytes=None,
    **others
):
    """Reports how far training is. Only rank 0's reports count, so every rank may call this.

    iteration      number of iterations (optimiser steps) done, counted over the whole run. Report iteration 0 just
                   before the first one: train time counts from then on
    test_accuracy  share of test examples that are classified correctly, 0 to 1. It makes a point of the run's curve, ...
    test_loss      ... and so does the mean loss over the test set
    train_loss     training loss since the last report
    epoch          passes over the training data
    train_time_s   train time by the script's own clock, such as without evaluations; by default the time since iteration 0
    payload_bytes  bytes that this rank handed to collectives since the last report; Thinpipe warns if its network
                   carried fewer
    others         further numbers, texts or booleans, which are kept in iterations.jsonl

    Numbers may be those of NumPy or tensors with one element. A number that is not finite is recorded as null. Raises
    TypeError or ValueError for a value that Thinpipe would refuse.
    """
    path = os.environ.get("THINPIPE_REPORTS")
    if not path and listener is None:
        return
    message = {
        "iteration": _count("iteration", iteration),
        "test_accuracy": _share("test_accuracy", test_accuracy),
        "test_loss": _number("test_loss", test_loss),
        "train_loss": _number("train_loss", train_loss),
        "epoch": _not_negative("epoch", epoch),
        "train_time_s": _not_negative("train_time_s", train_time_s),
        "payload_bytes": _count("payload_bytes", payload_bytes),
    }
    given = (iteration, test_accuracy, test_loss, train_loss, epoch, train_time_s, payload_bytes)
    message = {name: message[name] for name, value in zip(message, given) if value is not None}
    for name, value in others.items():
        message[name] = _other(name, value)
    if not message:
        raise TypeError("report() needs at least one value, such as iteration=10")
    if iteration is None and set(message) != {"payload_bytes"}:
        raise TypeError("report() needs the iteration that the values belong to: report(iteration=10, ...)")
    message["monotonic_s"] = time.monotonic()  # Thinpipe may be late to read it
    if listener is not None:
        listener(message)
    else:
        _send(path, message)


def options():
    """Returns the options of the run, "trainer": {"options": {...}} in the experiment, as a dict. Empty outside Thinpipe."""
    return json.loads(os.environ.get("THINPIPE_OPTIONS") or "{}")


def option(name, default=None):
    """Returns an option of the run; the default if the experiment does not set it, or outside Thinpipe."""
    return options().get(name, default)


def _number(name, value):
    """Returns a float, or None for a number that is not finite."""
    if value is None:
        return None
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: a tensor with several elements
        raise TypeError("report(): {} must be a number, but is {}".format(name, _shown(value))) from None
    return number if math.isfinite(number) else None


def _not_negative(name, value):
    number = _number(name, value)
    if number is not None and number < 0:
        raise ValueError("report(): {} must be at least 0, but is {}".format(name, _shown(value)))
    return number


def _share(name, value):
    number = _number(name, value)
    if number is not None and not 0 <= number <= 1:
        raise ValueError(
            "report(): {} must be a share from 0 to 1, but is {}; divide a percentage by 100".format(name, _shown(value))
        )
    return number


def _count(name, value):
    if value is None:
        return None
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        if not float(value).is_integer():
            raise TypeError
        count = int(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise TypeError("report(): {} must be a whole number, but is {}".format(name, _shown(value))) from None
    if not 0 <= count <= 2**53:
        raise ValueError("report(): {} must be from 0 to 2^53, but is {}".format(name, _shown(value)))
    return count


def _other(name, value):
    similar = difflib.get_close_matches(name, KNOWN, 1, 0.8)
    if similar and not name.startswith(similar[0] + "_"):  # test_accuracy_top5 is no misspelling
        raise TypeError('report() has no value "{}"; did you mean "{}"?'.format(name, similar[0]))
    if value is None or isinstance(value, (str, bool)):
        return value
    return _number(name, value)


def _shown(value):
    text = repr(value)
    return text if len(text) <= 100 else text[:100] + "..."


def _libraries():
    """Returns the versions of Python and PyTorch; nothing is imported for that."""
    versions = {"python": platform.python_version()}
    torch = sys.modules.get("torch")
    if torch is not None:
        versions["torch"] = str(getattr(torch, "__version__", "unknown"))
    return versions


def _send(path, message):
    global _process_that_reported
    if _process_that_reported != os.getpid():
        message = dict(message, libraries=_libraries())
    line = (json.dumps(message, allow_nan=False) + "\n").encode()
    if len(line) > MAX_BYTES:
        raise ValueError("report(): a report of {} bytes is too long; at most {}".format(len(line), MAX_BYTES))
    try:
        # Opened for each report: a descriptor would be shared after a fork, or closed by the script.
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENOENT):
            return  # nobody listens: the run is over, and this process was left behind
        raise
    try:
        os.set_blocking(pipe, True)  # waits if the pipe is full
        os.write(pipe, line)
    except BrokenPipeError:
        return
    finally:
        os.close(pipe)
    _process_that_reported = os.getpid()
