# SPDX-License-Identifier: Apache-2.0
"""Finds methods, models and data sets in users' Python files. Called by the extension; pure but for the import."""
from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from . import fields

_modules: dict[Path, ModuleType] = {}


class InvalidScript(Exception):
    """A file, or the class or function in it, cannot be used. The message says why."""


class LocatedError(Exception):
    """The user's code failed. The message begins with the place."""


def load(file: str) -> ModuleType:
    """Imports the file once; its folder is searched for the modules that it imports."""
    path = Path(file).resolve()
    if path in _modules:
        return _modules[path]
    if not path.is_file():
        raise InvalidScript(f"{file} does not exist")
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # As a plain import would name it, unless another file has that name.
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_{hashlib.sha1(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    _modules[path] = module
    return module


def find(file: str, name: str, base: type | None = None) -> Any:
    """Returns the class or function. base: the class that it must extend."""
    found = getattr(load(file), name, None)
    if found is None:
        public = [key for key, value in vars(load(file)).items() if callable(value) and not key.startswith("_")]
        raise InvalidScript(f"{Path(file).name} has no {name}; it has {', '.join(sorted(public)) or 'nothing to call'}")
    if base is not None and not (isinstance(found, type) and issubclass(found, base)):
        raise InvalidScript(f"{name} must be a class that extends thinpipe.{base.__name__}")
    return found


def summary(found: Any) -> str:
    return (found.__doc__ or "").strip().split("\n")[0]


def describe_class(cls: type) -> str:
    return json.dumps(fields.of_class(cls))


def describe_callable(function: Any, context: list[str]) -> str:
    return json.dumps(fields.of_callable(function, frozenset(context)))


def make_synchroniser(cls: type, values: str, context: Any) -> Any:
    made = cls()
    for key, value in json.loads(values).items():
        setattr(made, key, value)
    made.start(context)
    made._check(context)
    return made


def _is_installed(file: Path) -> bool:
    return not {"dist-packages", "site-packages"}.isdisjoint(file.parts)


def explain(error: BaseException) -> tuple[str, str]:
    """Returns one line with the place and the error, and the traceback from the user's first line on.

    A script that cannot be used has no traceback of interest: "". The place is the last line outside installed
    packages.
    """
    # The extension's ScriptError has the place already.
    if isinstance(error, (InvalidScript, LocatedError, fields.InvalidOption)) or type(error).__name__ == "ScriptError":
        return str(error), ""
    here = Path(__file__).parent
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if here not in Path(frame.filename).parents and not frame.filename.startswith("<")]
    own = [frame for frame in own if not _is_installed(Path(frame.filename))] or own
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{error.filename}:{error.lineno}: "
    elif own:
        place = f"{own[-1].filename}:{own[-1].lineno}: "
    else:
        place = ""
    first = frames.index(own[0]) if own else 0
    lines = traceback.format_list(frames[first:]) + traceback.format_exception_only(type(error), error)
    what = traceback.format_exception_only(type(error), error)[-1].strip()
    return f"{place}{what}", "".join(lines)
