# SPDX-License-Identifier: Apache-2.0
"""Thinpipe for Python: methods, models and data of your own in its experiments, and its methods in your scripts.

In a training script, thinpipe.report(...) and thinpipe.option(...) need no other package and do nothing outside
Thinpipe. Everything else needs PyTorch and is imported when it is first used.
"""
from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from .reporting import option, options, report

__all__ = ["option", "options", "report"]

# Thinpipe's own folder may come first without the extension, which pip has installed in another one.
__path__ = pkgutil.extend_path(__path__, __name__)

_PLACES = {
    "Compressor": "compressor",
    "Properties": "method",
    "Synchroniser": "method",
    "field": "fields",
    "Residual": "_core",
    "State": "_core",
    "top_k": "_core",
    "ddp_hook": "ddp",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module thinpipe has no attribute {name}")
    return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
