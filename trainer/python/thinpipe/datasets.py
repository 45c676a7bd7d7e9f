# SPDX-License-Identifier: Apache-2.0
"""Data sets of the user, as tensors: what the extension keeps in memory."""
from __future__ import annotations

import json
from typing import Any, Callable

import torch

from .scripts import InvalidScript

_FORMS = ('{"train": part, "test": part} or (train, test), where a part is (inputs, labels) or a map-style Dataset of '
          "(input, label)")
# What the two parts, each of which may be valid by itself, must have in common.
_ALIKE = {
    "type of inputs": lambda inputs, _: inputs.dtype,
    "shape of an input": lambda inputs, _: list(inputs.shape[1:]),
    "labels per example": lambda _, labels: "one" if labels.dim() == 1 else "one per token",
}


def make(function: Callable[..., Any], values: str) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Calls the function with its options. Returns "train" and "test": inputs and labels."""
    name = function.__name__
    loaded = function(**json.loads(values))
    if isinstance(loaded, (tuple, list)) and len(loaded) == 2:
        loaded = dict(zip(("train", "test"), loaded))
    if not isinstance(loaded, dict) or set(loaded) != {"train", "test"}:
        raise InvalidScript(f"{name} must return {_FORMS}, but returns {type(loaded).__name__}")
    parts = {part: _part(f"{name}, {part}", loaded[part]) for part in ("train", "test")}
    for what, of in _ALIKE.items():
        train, test = (of(*parts[part]) for part in ("train", "test"))
        if train != test:
            raise InvalidScript(f"{name}: train and test must have the same {what}, but have {train} and {test}")
    return parts


def _part(name: str, part: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if isinstance(part, torch.utils.data.TensorDataset):
        part = part.tensors
    if not isinstance(part, (tuple, list)) and hasattr(part, "__getitem__") and hasattr(part, "__len__"):
        part = _stack(name, part)
    if not isinstance(part, (tuple, list)) or len(part) != 2:
        raise InvalidScript(f"{name}: must be (inputs, labels) or a map-style Dataset, but is {type(part).__name__}")
    inputs, labels = (torch.as_tensor(tensor) for tensor in part)
    return _checked(name, inputs, labels)


def _stack(name: str, dataset: Any) -> tuple[torch.Tensor, torch.Tensor]:
    try:
        items = [dataset[index] for index in range(len(dataset))]
        return (torch.stack([torch.as_tensor(item[0]) for item in items]),
                torch.stack([torch.as_tensor(item[1]) for item in items]))
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        raise InvalidScript(f"{name}: every item must be (input, label), tensors or numbers of the same size each, as "
                            f"after torchvision's ToTensor: {error}") from error


def _checked(name: str, inputs: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if inputs.is_floating_point():
        inputs = inputs.float()
        if not inputs.isfinite().all():
            raise InvalidScript(f"{name}: the inputs are not all finite")
    elif inputs.dim() == 2:
        inputs = inputs.long()
    elif inputs.dtype != torch.uint8:
        raise InvalidScript(f"{name}: images must be float or uint8, but are {inputs.dtype}")
    if inputs.dim() == 3:
        inputs = inputs.unsqueeze(1)
    if inputs.dim() not in (2, 4):
        raise InvalidScript(f"{name}: inputs must be images [n, channels, height, width] or [n, height, width], vectors "
                            f"[n, features] or tokens [n, length], but are {list(inputs.shape)}")
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise InvalidScript(f"{name}: labels must be integers, but are {labels.dtype}")
    if labels.shape not in (inputs.shape[:1], inputs.shape if inputs.dtype == torch.long else ()):
        raise InvalidScript(f"{name}: there must be one label per example or per token, but the shapes are "
                            f"{list(inputs.shape)} and {list(labels.shape)}")
    if labels.numel() == 0 or labels.min() < 0:
        raise InvalidScript(f"{name}: labels must be 0, 1, 2, ..., and there must be some")
    if inputs.dtype == torch.long and inputs.min() < 0:
        raise InvalidScript(f"{name}: tokens must be 0, 1, 2, ..., but one is {inputs.min().item()}")
    return inputs.contiguous(), labels.long().contiguous()
