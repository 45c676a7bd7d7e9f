# SPDX-License-Identifier: Apache-2.0
"""Thinpipe's methods as communication hooks of torch.nn.parallel.DistributedDataParallel."""
from __future__ import annotations

import json
import logging
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from . import _core, models, reporting
from .process_group import ProcessGroup
from .rendezvous import meeting

_log = logging.getLogger("thinpipe")


def ddp_hook(model: DistributedDataParallel, method: dict[str, Any], *,
             optimiser: torch.optim.Optimizer | None = None,
             learning_rate: Callable[[], float] | None = None,
             mask: dict[str, torch.Tensor] | None = None,
             seed: int = 1,
             buckets: dict[str, Any] | None = None,
             collective: dict[str, Any] | None = None,
             process_group: dist.ProcessGroup | None = None,
             address: str | None = None,
             rendezvous_directory: str | None = None,
             non_finite: str = "skip",
             grad_scale: Callable[[], float] | None = None) -> DdpHook:
    """Lets a method synchronise the model's gradients from now on, and returns its hook. Call it on every rank.

    method         as in an experiment: {"name": "pactrain", "values": "ternary"}, or "my_method.py:MyTopK"
    optimiser      whose learning rate and weight decay the method may need; required if the method applies momentum
    learning_rate  returns the learning rate of the coming step, instead of the optimiser's. A method that uses the rate
                   needs one of the two
    mask           for pruning, by the parameter's name: True for weights that are kept. The others are set to zero now,
                   and their gradients from now on. Must be the same on every rank
    seed           of the method's random numbers
    buckets        {"first_size": "1 MiB", "size": "25 MiB"}: Thinpipe's own buckets; DistributedDataParallel's do not
                   change the result
    collective     one of Thinpipe's, such as {"name": "ring"} or {"name": "gloo"}; None: over process_group
    process_group  a Gloo group with the ranks of the model's. The default is a new one, so that the script's own calls
                   cannot come between
    address        of this host, for `collective`; the default is that of GLOO_SOCKET_IFNAME, or towards MASTER_ADDR
    rendezvous_directory  for `collective` with several machines: a folder that all of them share
    non_finite     if a gradient of some rank is not finite, "skip" sets every gradient of the step to None on every
                   rank, so that torch.optim changes neither weights nor state; "keep" leaves them as they are, for
                   torch.cuda.amp.GradScaler, which then skips the step itself
    grad_scale     returns the factor of the coming step's gradients, such as GradScaler's get_scale. The method sees
                   them without it, so that its residual or momentum stays right when the factor changes

    Raises ValueError for wrong arguments.
    """
    return DdpHook(model, method, optimiser, learning_rate, mask or {}, seed, buckets or {}, collective,
                   process_group, address, rendezvous_directory, non_finite, grad_scale)


class DdpHook:
    """A method at work in a model. Made by ddp_hook()."""

    def __init__(self, model: DistributedDataParallel, method: dict[str, Any],
                 optimiser: torch.optim.Optimizer | None, learning_rate: Callable[[], float] | None,
                 mask: dict[str, torch.Tensor], seed: int, buckets: dict[str, Any],
                 collective: dict[str, Any] | None, process_group: dist.ProcessGroup | None, address: str | None,
                 rendezvous_directory: str | None, non_finite: str, grad_scale: Callable[[], float] | None) -> None:
        if not isinstance(model, DistributedDataParallel):
            raise ValueError(f"ddp_hook needs a DistributedDataParallel, but got a {type(model).__name__}")
        if non_finite not in ("skip", "keep"):
            raise ValueError(f'non_finite must be "skip" or "keep", but is {non_finite!r}')
        self._learning_rate = learning_rate or (_learning_rate_of(optimiser) if optimiser else None)
        self._skips = non_finite == "skip"
        self._grad_scale = grad_scale or (lambda: 1.0)
        self._scale = 1.0  # of the current step's gradients
        self._parameters = _parameters_of(model)
        self._waiting: list[tuple[torch.futures.Future, torch.Tensor]] = []
        self._reported_bytes = 0
        group = process_group or _own_group(model)
        arguments = dict(
            parameters=list(self._parameters.items()),
            kept=_kept(model, self._parameters, mask),
            method=json.dumps(method),
            buckets=json.dumps(buckets),
            weight_decay=_weight_decay_of(optimiser),
            seed=seed,
            collective=json.dumps(collective),
        )
        if collective is None:
            self._exchange = _core.DdpExchange(**arguments, group=ProcessGroup(group))
        else:
            with meeting(group, address, rendezvous_directory) as peers:
                self._exchange = _core.DdpExchange(**arguments, group=peers)
        if self._exchange.applies_momentum:
            _check_momentum(method["name"], optimiser)
        if self._exchange.uses_learning_rate and self._learning_rate is None:
            raise ValueError(f"the method {method['name']} needs the learning rate: pass optimiser= or learning_rate=")
        model.register_comm_hook(self, _hook)

    def statistics(self) -> dict[str, Any]:
        """Returns counters of this rank's steps so far.

        steps, skipped_steps; payload_bytes: handed to collectives; sent_bytes: sent by this rank, without headers;
        collectives: their number; encode_s, exchange_s, decode_s: the method's time; exposed_exchange_s: the time that
        backward waited; method: the method's own counters.
        """
        return json.loads(self._exchange.statistics())

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Returns this rank's residuals and other state, for a checkpoint of this rank."""
        return self._exchange.state_dict()

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Restores the state. Call it on every rank, before the first step."""
        self._exchange.load_state_dict(state)

    def _take(self, bucket: dist.GradBucket) -> torch.futures.Future:
        if bucket.index() == 0:
            self._waiting.clear()
            self._scale = float(self._grad_scale())
            self._exchange.begin_step(self._learning_rate() if self._learning_rate else None)
        buffer = bucket.buffer()
        if self._scale != 1:
            buffer.div_(self._scale)
        future = torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else [])
        self._waiting.append((future, buffer))
        self._exchange.submit(bucket.parameters(), bucket.gradients())
        if bucket.is_last():
            self._finish_step()
        return future

    def _finish_step(self) -> None:
        applied = self._exchange.finish_step()
        for future, buffer in self._waiting:
            if self._scale != 1:
                buffer.mul_(self._scale)
            future.set_result(buffer)
        self._waiting.clear()
        self._report(applied)
        if applied:
            return
        _log.warning("step %d: some rank's gradient is not finite%s", self._exchange.steps,
                     "; every rank skips the step" if self._skips else "")
        if self._skips:
            # DistributedDataParallel stores the results in a callback that it has not queued yet, at the end of
            # backward. A callback that a callback queues runs after it.
            _at_end_of_backward(lambda: _at_end_of_backward(self._drop_gradients))

    def _drop_gradients(self) -> None:
        for parameter in self._parameters.values():
            parameter.grad = None

    def _report(self, applied: bool) -> None:
        payload_bytes = self._exchange.payload_bytes
        reporting.report(payload_bytes=payload_bytes - self._reported_bytes)
        self._reported_bytes = payload_bytes
        if self._skips and not applied and reporting.listener is not None:
            reporting.listener({"applied": False})


def _hook(state, bucket):  # without annotations, which PyTorch would compare with its own
    return state._take(bucket)


def _at_end_of_backward(action: Callable[[], None]) -> None:
    torch.autograd.Variable._execution_engine.queue_callback(action)


def _parameters_of(model: DistributedDataParallel) -> dict[str, nn.Parameter]:
    ignored = set(getattr(model, "parameters_to_ignore", ()))
    parameters = {name: parameter for name, parameter in model.module.named_parameters()
                  if parameter.requires_grad and name not in ignored}
    wrong = [name for name, parameter in parameters.items() if parameter.dtype != torch.float32]
    if wrong:
        raise ValueError(f"the parameter {wrong[0]} is {parameters[wrong[0]].dtype}, but methods exchange float32; "
                         "keep weights in float32 and use autocast")
    return parameters


def _kept(model: DistributedDataParallel, parameters: dict[str, nn.Parameter],
          mask: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Returns the masks of all weights that can be pruned, as in thinpipe-trainer, and of those that `mask` names."""
    for name, keep in mask.items():
        if name not in parameters:
            raise ValueError(f"mask names {name}, which is not a trainable parameter of the model")
        if keep.dtype != torch.bool or keep.shape != parameters[name].shape:
            raise ValueError(f"mask[{name!r}] must be bool {list(parameters[name].shape)}, but is {keep.dtype} "
                             f"{list(keep.shape)}")
    prunable = models.prunable(model.module)
    return {name: mask.get(name, torch.ones(parameter.shape, dtype=torch.bool))
            for name, parameter in parameters.items() if name in mask or name in prunable}


def _own_group(model: DistributedDataParallel) -> dist.ProcessGroup:
    ranks = dist.get_process_group_ranks(model.process_group)
    if len(ranks) < dist.get_world_size():
        raise ValueError("the model's process group is a part of the world, in which ddp_hook cannot create a group; "
                         "pass process_group=torch.distributed.new_group(ranks, backend=\"gloo\")")
    return dist.new_group(ranks, backend="gloo")


def _learning_rate_of(optimiser: torch.optim.Optimizer) -> Callable[[], float]:
    return lambda: float(optimiser.param_groups[0]["lr"])


def _weight_decay_of(optimiser: torch.optim.Optimizer | None) -> float:
    return float(optimiser.param_groups[0].get("weight_decay", 0)) if optimiser else 0.0


def _check_momentum(name: str, optimiser: torch.optim.Optimizer | None) -> None:
    if optimiser is None:
        raise ValueError(f"the method {name} applies momentum itself and needs the learning rate: pass optimiser=, a "
                         "torch.optim.SGD without momentum")
    if not isinstance(optimiser, torch.optim.SGD) or any(group["momentum"] for group in optimiser.param_groups):
        raise ValueError(f"the optimiser must be torch.optim.SGD with momentum 0, because the method {name} applies "
                         "momentum itself")
    for key in ("lr", "weight_decay"):
        if len({float(group[key]) for group in optimiser.param_groups}) > 1:
            raise ValueError(f"all parameter groups of the optimiser must have the same {key} for the method {name}")
