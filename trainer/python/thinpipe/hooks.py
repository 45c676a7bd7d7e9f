# SPDX-License-Identifier: Apache-2.0
"""Communication hooks of the user for the trainer pytorch-ddp: {"name": "mine.py:hook", options...}.

A function with the parameters (state, bucket) is the hook itself. A function whose first parameter is called `model`
makes one: it gets the DistributedDataParallel, and its further parameters are options. A parameter `optimiser` gets the
torch.optim.Optimizer.
"""
from __future__ import annotations

import functools
import inspect
import json
import re
import sys
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from . import _core, scripts

_GIVEN = frozenset({"model", "optimiser"})
_DEFAULT_BUCKET_BYTES = 25 << 20  # DistributedDataParallel's own


# How PyTorch reports an exception in a callback of a future: the exception, and where it was raised.
_CALLBACK_ERROR = re.compile(r"running the callback: (.*?)\n\nAt:\n\s*(.+?)\((\d+)\):", re.DOTALL)


class Replica(DistributedDataParallel):
    """Remembers the error of its hook: PyTorch replaces it by a text without the place in the user's file."""

    hook_error: BaseException | None = None
    has_hook = False

    def backward(self, loss: torch.Tensor) -> None:
        """Computes and exchanges gradients. Raises the hook's own error, or LocatedError for one in a callback."""
        try:
            loss.backward()
        except Exception as error:
            if self.hook_error is not None:
                raise self.hook_error from error
            if found := _CALLBACK_ERROR.search(str(error)):
                what, file, line = found.groups()
                raise scripts.LocatedError(f"{file}:{line}: {what}") from error
            raise

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        @functools.wraps(hook)
        def noting_errors(state: Any, bucket: Any) -> Any:
            try:
                return hook(state, bucket)
            except BaseException as error:
                self.hook_error = self.hook_error or error
                raise

        super().register_comm_hook(state, noting_errors)
        self.has_hook = True


def replica_of(model: nn.Module, first_bytes: int, other_bytes: int) -> Replica:
    """Returns the model's replica, with buckets of those sizes.

    Raises InputError if this PyTorch cannot choose the size of the first bucket: in newer versions, an explicit
    bucket_cap_mb is that of the first bucket too.
    """
    dist._DEFAULT_FIRST_BUCKET_BYTES = first_bytes
    if other_bytes == _DEFAULT_BUCKET_BYTES:
        return Replica(model)
    parameters = inspect.signature(DistributedDataParallel).parameters
    if "bucket_cap_mb_list" in parameters:
        return Replica(model, bucket_cap_mb_list=[first_bytes / 2**20, other_bytes / 2**20])
    if parameters["bucket_cap_mb"].default is None and first_bytes != other_bytes:
        raise _core.InputError(
            f"PyTorch {torch.__version__} cannot have a first bucket of another size than the others, unless they have "
            f"25 MiB; set buckets.first_size to {other_bytes} bytes too, or buckets.size to 25 MiB")
    return Replica(model, bucket_cap_mb=other_bytes / 2**20)


def describe(name: str) -> str:
    """Returns the options of the hook of that name as JSON text. Raises InvalidScript if it is no hook."""
    function = _find(name)
    return scripts.describe_callable(function, _GIVEN) if _makes_hook(function) else json.dumps([])


def register(hook: dict[str, Any], model: Replica, optimiser: torch.optim.Optimizer) -> None:
    """Registers the hook with the model. Raises InvalidScript or InputError if it cannot be used."""
    options = json.loads(_core.read_hook(json.dumps(hook)))
    function = _find(hook["name"])
    if not _makes_hook(function):
        return _register(function, model, None, function)
    given = {"optimiser": optimiser} if "optimiser" in inspect.signature(function).parameters else {}
    try:
        made = function(model, **given, **options)
    except _core.CollectiveError:
        raise
    except Exception as error:
        message, trace = scripts.explain(error)
        print(trace, file=sys.stderr)
        raise scripts.InvalidScript(message) from error
    if made is None and model.has_hook:
        return
    if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
        raise scripts.InvalidScript(
            f"{_place_of(function)}{function.__name__} must return (state, hook), or None after it has registered a "
            f"hook itself, but returns {'None without a hook' if made is None else type(made).__name__}")
    _register(function, model, *made)


def _register(function: Callable[..., Any], model: Replica, state: Any, hook: Callable[..., Any]) -> None:
    try:
        model.register_comm_hook(state, hook)
    except (TypeError, ValueError, KeyError) as error:
        raise scripts.InvalidScript(
            f"{_place_of(function)}PyTorch refuses the hook of {function.__name__}: {error}") from error


def _find(name: str) -> Callable[..., Any]:
    file, _, function = name.rpartition(":")
    return scripts.find(file, function)


def _makes_hook(function: Callable[..., Any]) -> bool:
    parameters = list(inspect.signature(function).parameters)
    if parameters[:1] == ["model"]:
        return True
    if len(parameters) == 2 and parameters[1] == "bucket":
        return False
    raise scripts.InvalidScript(
        f"{_place_of(function)}{function.__name__} must have the parameters (state, bucket), or a first parameter "
        f"called model, but has ({', '.join(parameters)})")


def _place_of(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if code else ""
