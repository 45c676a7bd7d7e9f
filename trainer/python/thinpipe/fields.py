# SPDX-License-Identifier: Apache-2.0
"""Options of a user's method, model or data set: what they are called, their defaults and bounds.

A class states them as annotated fields, a function as parameters:

    class MyTopK(thinpipe.Synchroniser):
        ratio: float = thinpipe.field(0.01, above=0, at_most=1, effect="kept share of the entries")
        scope: str = thinpipe.field("bucket", one_of=["bucket", "tensor"])

    def load(path: str, classes: int = 10): ...
"""
from __future__ import annotations

import inspect
import math
import typing
from dataclasses import dataclass
from typing import Any

_REQUIRED = inspect.Parameter.empty
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


@dataclass(frozen=True)
class Option:
    default: Any
    rule: dict[str, Any]


def field(default: Any = _REQUIRED, *, effect: str = "", above: float | None = None, at_least: float | None = None,
          below: float | None = None, at_most: float | None = None, one_of: list[str] | None = None) -> Any:
    """An option with a rule, which Thinpipe checks before a run. Without a default it is required."""
    rule = {"above": above, "at_least": at_least, "below": below, "at_most": at_most, "one_of": one_of}
    return Option(default, {"effect": effect, **{key: value for key, value in rule.items() if value is not None}})


class InvalidOption(TypeError):
    """An option is declared in a way that cannot be checked."""


def _describe_type(owner: str, key: str, annotation: Any) -> dict[str, Any]:
    """Returns the type as Thinpipe's option descriptions state it: common/support/options.hh."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if type(None) in arguments:
        inner = [argument for argument in arguments if argument is not type(None)]
        if len(inner) == 1:
            return {**_describe_type(owner, key, inner[0]), "nullable": True}
    if origin in (list, tuple) and arguments and arguments[0] is not bool:
        return {**_describe_type(owner, key, arguments[0]), "list": True}
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    raise InvalidOption(f"{owner}: the option {key} needs a type: bool, int, float, str, a list of int, float or str, or "
                        f"Optional; it has {annotation!r}")


def _describe(owner: str, key: str, annotation: Any, default: Any) -> dict[str, Any]:
    declared = default if isinstance(default, Option) else Option(default, {"effect": ""})
    if annotation is None and declared.default is not _REQUIRED:
        annotation = type(declared.default)
    out = {"key": key, **_describe_type(owner, key, annotation), **declared.rule}
    out["required"] = declared.default is _REQUIRED
    if not out["required"]:
        out["default"] = float(declared.default) if out["type"] == "number" and type(
            declared.default) is int else declared.default
        if isinstance(out["default"], float) and not math.isfinite(out["default"]):
            raise InvalidOption(f"{owner}: the option {key} has the default {out['default']}, which no experiment could give "
                                "it; use Optional[float] = None")
    return out


def of_class(cls: type) -> list[dict[str, Any]]:
    """Describes the public annotated fields of a class and its bases."""
    annotations = typing.get_type_hints(cls)
    for key in dir(cls):
        if isinstance(inspect.getattr_static(cls, key), Option) and key not in annotations:
            raise InvalidOption(f"{cls.__name__}: the option {key} needs a type, as in {key}: float = thinpipe.field(...)")
    return [_describe(cls.__name__, key, annotation, getattr(cls, key, _REQUIRED))
            for key, annotation in annotations.items()
            if not key.startswith("_") and typing.get_origin(annotation) is not typing.ClassVar]


def of_callable(function: Any, context: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """Describes the parameters of a function or of a class's constructor, but for those that `context` names."""
    hints = typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    out = []
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or key in context:
            continue
        out.append(_describe(function.__name__, key, hints.get(key), parameter.default))
    return out
