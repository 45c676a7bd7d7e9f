#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of an interpreter that has a current PyTorch (2.x), for check_pytorch.sh to build against.
#
#   scripts/current_pytorch.sh       $THINPIPE_CURRENT_PYTORCH if it is set; otherwise one in build/, installed once with pip
#
# Exits with status 1 and the reason on standard error if there is none.
set -euo pipefail
cd "$(dirname "$0")/.."

# The newest tested versions. With a CUDA compiler, one for CUDA (6 GB); otherwise one whose plain wheel is for CPUs
# only.
version=2.13.0
if command -v nvcc >/dev/null; then version=2.14.1; fi
longest_s=900

has_pytorch_2() { "$1" -c 'import torch, sys; sys.exit(torch.__version__ < "2")' 2>/dev/null; }
has_version() { "$1" -c 'import sys, tensorboard, torch; sys.exit(torch.__version__.split("+")[0] != sys.argv[1])' "$version" 2>/dev/null; }

if [ -n "${THINPIPE_CURRENT_PYTORCH:-}" ]; then
  has_pytorch_2 "$THINPIPE_CURRENT_PYTORCH" || { echo "current_pytorch: $THINPIPE_CURRENT_PYTORCH has no PyTorch 2.x" >&2; exit 1; }
  echo "$THINPIPE_CURRENT_PYTORCH"
  exit
fi

folder=$PWD/build/pytorch-venv
# TensorBoard is for a test in which its own reader reads the files of `thinpipe report --tensorboard`.
if ! has_version "$folder/bin/python"; then
  rm -rf "$folder"
  /usr/bin/python3 -m venv "$folder" >&2
  timeout "$longest_s" "$folder/bin/pip" install --quiet --disable-pip-version-check "torch==$version" numpy tensorboard >&2 || {
    echo "current_pytorch: pip cannot install torch==$version" >&2
    exit 1
  }
fi
echo "$folder/bin/python"
