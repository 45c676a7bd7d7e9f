"""thinpipe-trainer's command line, with Python around it: python3 -m thinpipe COMMAND."""
import sys

import torch  # noqa: F401  before the extension, which needs its libraries

from thinpipe import _core

sys.exit(_core.run_command_line(["thinpipe-trainer", *sys.argv[1:]]))
