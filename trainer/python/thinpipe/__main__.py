# SPDX-License-Identifier: Apache-2.0
"""thinpipe-trainer's command line, with Python around it: python3 -m thinpipe COMMAND.

Two commands exist only here, and thinpipe-trainer hands them on: `python PROGRAM ...` runs a Python program that finds
the package thinpipe, and `check-hook` examines the communication hook on standard input.
"""
import json
import runpy
import sys

REMEDY = "build the target thinpipe-python, or install thinpipe in this Python with pip"


def run_program(words):
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")


def check_hook(text):
    """Returns the answer, one line of JSON."""
    try:
        import torch  # noqa: F401  before the extension, which needs its libraries

        from thinpipe import _core
    except ImportError as error:
        message = f"needs thinpipe's Python package: {error}; {REMEDY}"
        return json.dumps({"ok": False, "pointer": "/name", "message": message})
    return _core.check_hook(text)


def main():
    command = sys.argv[1:2]
    if command == ["python"]:
        return run_program(sys.argv[2:])  # it may set up its environment before it imports torch
    if command == ["check-hook"]:
        answers, sys.stdout = sys.stdout, sys.stderr  # the user's file may print
        return print(check_hook(sys.stdin.read()), file=answers)
    import torch  # noqa: F401

    from thinpipe import _core

    return _core.run_command_line(["thinpipe-trainer", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
