"""thinpipe-trainer's command line, with Python around it: python3 -m thinpipe COMMAND.

Two commands exist only here, and thinpipe-trainer hands them on: `python PROGRAM ...` runs a Python program that finds
the package thinpipe, and `check-hook` examines the communication hook on standard input.
"""
import runpy
import sys


def run_program(words):
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")


def main():
    command = sys.argv[1:2]
    if command == ["python"]:
        return run_program(sys.argv[2:])  # it may set up its environment before it imports torch
    import torch  # noqa: F401  before the extension, which needs its libraries

    from thinpipe import _core

    if command == ["check-hook"]:
        return print(_core.check_hook(sys.stdin.read()))
    return _core.run_command_line(["thinpipe-trainer", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
