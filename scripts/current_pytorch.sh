#!/usr/bin/env bash
# Prints the path of an interpreter that has a current PyTorch (2.x), whose LibTorch check_pytorch.sh then builds against.
#
#   scripts/current_pytorch.sh       $THINPIPE_PYTHON where it is set; otherwise one in build/, made once with pip
#
# Exit status 1, with the reason on standard error, where none can be had.
set -euo pipefail
cd "$(dirname "$0")/.."

# The newest that have been tried. Where there is a CUDA compiler, one for CUDA, which takes 6 GB; else one whose plain wheel is for
# processors alone.
version=2.13.0
if command -v nvcc >/dev/null; then version=2.14.1; fi
longest_s=900

has_pytorch_2() { "$1" -c 'import torch, sys; sys.exit(torch.__version__ < "2")' 2>/dev/null; }
has_version() { "$1" -c 'import sys, tensorboard, torch; sys.exit(torch.__version__.split("+")[0] != sys.argv[1])' "$version" 2>/dev/null; }

if [ -n "${THINPIPE_PYTHON:-}" ]; then
  has_pytorch_2 "$THINPIPE_PYTHON" || { echo "current_pytorch: $THINPIPE_PYTHON has no PyTorch 2.x" >&2; exit 1; }
  echo "$THINPIPE_PYTHON"
  exit
fi

folder=$PWD/build/pytorch-venv
# TensorBoard, because its own reader reads what `thinpipe report --tensorboard` wrote in a test.
if ! has_version "$folder/bin/python"; then
  rm -rf "$folder"
  /usr/bin/python3 -m venv "$folder" >&2
  timeout "$longest_s" "$folder/bin/pip" install --quiet --disable-pip-version-check "torch==$version" numpy tensorboard >&2 || {
    echo "current_pytorch: pip cannot install torch==$version" >&2
    exit 1
  }
fi
echo "$folder/bin/python"
