# SPDX-License-Identifier: Apache-2.0
"""The base class of methods that synchronise gradients.

The contract is that of the methods in C++ (trainer/synchronisers/synchroniser.hh): the result must have the same bits on
every worker, and state changes only when a step is applied.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import torch  # noqa: F401  before the extension, which needs its libraries

from . import _core
from .scripts import InvalidScript


@dataclass(frozen=True)
class Properties:
    """What a method claims about its result, which `thinpipe check-method` checks.

    estimate: how the result relates to the mean over workers: "exact", up to the order of additions; "rounded", to a
    narrower format; "unbiased"; "biased"; "error_feedback": what is missing is sent in later steps.
    """

    estimate: str = "biased"
    relative_rounding: float = 0.0
    all_reduce_compatible: bool = False
    traffic_depends_on_data: bool = True
    applies_momentum: bool = False


class Synchroniser:
    """Subclass it, and name the class in an experiment: {"name": "my_method.py:MyMethod", options...}.

    Annotated fields are options: thinpipe.field. They are set before start().
    """

    # Whether all parameters that are not left dense must be in one bucket.
    needs_one_bucket: ClassVar[bool] = False
    # Whether observe() is called. The method then depends on the network that it meets: it runs in modes live and
    # cluster only.
    senses_network: ClassVar[bool] = False

    @functools.cached_property
    def properties(self) -> Properties:
        """What the method claims, unless the class states it or start() sets it: with a Residual, error feedback."""
        remembers = any(isinstance(state, _core.Residual) for state in self._states().values())
        return Properties(estimate="error_feedback" if remembers else "biased")

    def start(self, context: _core.Context) -> None:
        """Creates the method's state. context: parameters, kept (masks), weights, weight_decay, seed, workers."""

    def leaves_dense(self, parameter: _core.Parameter) -> bool:
        """Returns whether a parameter is synchronised densely instead, as sparsifiers do with biases."""
        return False

    def prepare(self, layout: list[_core.Bucket]) -> None:
        """Announces the layout of buckets, before the first step and after each change."""

    def set_learning_rate(self, learning_rate: float) -> None:
        """Announces the factor by which the optimiser will multiply the step's result."""

    def begin_step(self, step: int) -> None:
        """Begins step 1, 2, ..."""

    def synchronise(self, bucket: _core.Bucket, net: _core.Network) -> None:
        """Replaces bucket.gradient, float32 [bucket.size], by the estimate of its mean over the workers.

        On entry it is this worker's own gradient. A NaN or infinity on any worker must give a result that is not finite
        on every worker. net is valid only during the call.
        """
        raise NotImplementedError(f"{type(self).__name__}.synchronise")

    def finish_dense(self, bucket: _core.Bucket, workers: int) -> None:
        """Finishes parameters that are left dense. A method that applies momentum does so here too.

        On entry bucket.gradient is the mean over the workers, on return the optimiser's input, the same on every worker.
        """

    def finish_step(self, applied: bool) -> None:
        """Ends a step. If not applied, state must stay as it was. By default, commits or discards every State."""
        for state in self._states().values():
            state.commit() if applied else state.discard()

    def observe(self, step: _core.Observation) -> None:
        """Tells what the step's exchange took, the same on every worker. After finish_step(True).

        step: sent_bytes by a worker; exchange_s inside collectives; compute_s from the step's beginning to the last gradient.
        """

    def adopt_masks(self, kept: list[Any]) -> None:
        """Announces new pruning masks. By default, drops the state of pruned entries."""
        for state in self._states().values():
            state.drop_pruned(kept)

    def add_residual(self, bucket: _core.Bucket) -> None:
        """Adds this worker's residual to bucket.gradient. By default, that of every Residual."""
        for state in self._states().values():
            if isinstance(state, _core.Residual):
                state.add_to(bucket)

    def traffic(self, bucket: _core.Bucket, workers: int) -> int | None:
        """Returns the bytes that one worker passes to collectives in its next step for a bucket.

        None (the default): Thinpipe finds out with one trial step.
        """
        return None

    def statistics(self) -> dict[str, Any] | None:
        """Returns counters of the steps so far, for the record. NaN and infinity become null there."""
        return None

    def state_dict(self) -> dict[str, Any]:
        """Returns the state for a checkpoint, tensors by name. By default, that of every State."""
        return {f"{name}.{key}": tensor
                for name, state in self._states().items() for key, tensor in state.state_dict().items()}

    def load_state_dict(self, tensors: dict[str, Any]) -> None:
        for name, state in self._states().items():
            prefix = f"{name}."
            state.load_state_dict({key[len(prefix):]: tensor
                                   for key, tensor in tensors.items() if key.startswith(prefix)})

    def _check(self, context: _core.Context) -> None:
        """Raises InvalidScript if what the method claims contradicts what it does. After start()."""
        left_without = self.properties.applies_momentum and type(self).finish_dense is Synchroniser.finish_dense
        dense = [parameter.name for parameter in context.parameters if left_without and self.leaves_dense(parameter)]
        if dense:
            raise InvalidScript(f"{type(self).__name__} applies momentum, but not to {dense[0]}, which it leaves dense; "
                                "the optimiser has none: apply it in finish_dense()")

    def _states(self) -> dict[str, _core.State]:
        return {name: value for name, value in vars(self).items() if isinstance(value, _core.State)}
