"""Thinpipe for Python: methods, models and data of your own in its experiments, and its methods in your scripts."""
from __future__ import annotations

import importlib
from typing import Any

# Everything that needs LibTorch is imported when it is first used.
_PLACES = {
    "Compressor": "compressor",
    "Properties": "method",
    "Synchroniser": "method",
    "field": "options",
    "Residual": "_core",
    "State": "_core",
    "ddp_hook": "ddp",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module thinpipe has no attribute {name}")
    return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
