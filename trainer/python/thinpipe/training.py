# SPDX-License-Identifier: Apache-2.0
"""The model of a run as a torch.nn.Module, for workers in Python (trainer/external)."""
from __future__ import annotations

from torch import Tensor, nn

from . import _core


def module_of(training: _core.Training) -> nn.Module:
    """Returns the module that trains: the user's own, or one around a model in C++.

    Dropout draws depend on the iteration that training.begin_iteration() began, as in thinpipe-trainer.
    """
    own = training.module
    if own is None:
        return ModelInCpp(training)
    own.register_forward_pre_hook(lambda module, _: training.seed_draws() if module.training else None)
    return own


class Part(nn.Module):
    """A module inside a model in C++: its parameters and buffers. Only the whole model has a forward pass."""


class ModelInCpp(Part):
    """Has the model's own tensors under their names. Autograd goes through the forward pass."""

    def __init__(self, training: _core.Training) -> None:
        super().__init__()
        self._training = training
        self.prunable_weights = set(training.prunable_weights)
        for name, parameter in training.parameters:
            part, leaf = self._part_of(name)
            parameter.__class__ = nn.Parameter  # nn.Parameter(parameter) would be a copy, without its gradient
            part.register_parameter(leaf, parameter)
        for name, buffer in training.buffers:
            part, leaf = self._part_of(name)
            part.register_buffer(leaf, buffer)

    def forward(self, inputs: Tensor) -> Tensor:
        return self._training.forward(inputs)

    def train(self, mode: bool = True) -> ModelInCpp:
        super().train(mode)
        self._training.train(mode)
        return self

    def _part_of(self, name: str) -> tuple[nn.Module, str]:
        """Returns the part that has the tensor of that name, made if it is new, and the tensor's name in it."""
        *places, leaf = name.split(".")
        part: nn.Module = self
        for place in places:
            if place not in part._modules:
                part.add_module(place, Part())
            part = part._modules[place]
        return part, leaf
