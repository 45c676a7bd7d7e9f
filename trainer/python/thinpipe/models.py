# SPDX-License-Identifier: Apache-2.0
"""Models of the user, as the extension sees them: any torch.nn.Module whose forward takes a batch and returns logits."""
from __future__ import annotations

import inspect
import json
from typing import Any, Callable

import torch
from torch import nn

try:
    from torch.func import functional_call
except ImportError:  # before PyTorch 2.0
    from torch.nn.utils.stateless import functional_call

from .scripts import InvalidScript


def make(factory: Callable[..., nn.Module], values: str, data: Any) -> nn.Module:
    """Calls the class or function with its options, and with the shape of the data if it has a parameter "data"."""
    more = {"data": data} if "data" in inspect.signature(factory).parameters else {}
    model = factory(**json.loads(values), **more)
    if not isinstance(model, nn.Module):
        raise InvalidScript(f"{factory.__name__} must give a torch.nn.Module, but gives a {type(model).__name__}")
    wrong = [name for name, parameter in model.named_parameters() if parameter.dtype != torch.float32]
    if wrong:
        raise InvalidScript(f"{factory.__name__}: the parameter {wrong[0]} must be float32")
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    if frozen:
        raise InvalidScript(f"{factory.__name__}: the parameter {frozen[0]} must have requires_grad=True, because every "
                            "parameter is trained and exchanged; what must not change can be a buffer (register_buffer)")
    if not any(True for _ in model.parameters()):
        raise InvalidScript(f"{factory.__name__} gives a model without parameters")
    return model


def kind(module: nn.Module) -> str:
    if isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        return "linear_or_convolution"
    if isinstance(module, nn.MultiheadAttention):
        return "attention"
    if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
        return "batch_normalisation"
    return "other"


def prunable(model: nn.Module) -> set[str]:
    """Returns the names of the weights that pruning may prune, as in trainer/pruning/mask.hh."""
    stated = getattr(model, "prunable_weights", None)  # of a model in C++: training.py
    if stated is not None:
        return stated
    leaf = {"linear_or_convolution": "weight", "attention": "in_proj_weight"}
    return {f"{place}.{leaf[kind(module)]}".lstrip(".")
            for place, module in model.named_modules() if kind(module) in leaf}


def head(model: nn.Module) -> str:
    """Returns the name of the classifier: the last module with a weight, unless the model has an attribute `head_name`."""
    stated = getattr(model, "head_name", None)
    if stated is not None:
        return stated
    names = [name.rpartition(".")[0] for name, _ in model.named_parameters() if name.rpartition(".")[2] == "weight"]
    return names[-1] if names else ""


def forward(model: nn.Module, replaced: dict[str, torch.Tensor], inputs: torch.Tensor) -> torch.Tensor:
    """replaced: weights to use instead of the model's own, by name."""
    outputs = functional_call(model, replaced, (inputs,)) if replaced else model(inputs)
    if not isinstance(outputs, torch.Tensor):
        raise InvalidScript(f"{type(model).__name__}.forward must return a tensor, but returns {type(outputs).__name__}")
    return outputs
