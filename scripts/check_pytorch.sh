#!/usr/bin/env bash
# Builds against the LibTorch of an installed PyTorch instead of Debian's, and runs the trainer's tests with it.
#
#   scripts/check_pytorch.sh [PYTHON]      the interpreter that has PyTorch; python3 unless given
#
# For example:
#   python3 -m venv ~/torch && ~/torch/bin/pip install torch==2.13.0
#   scripts/check_pytorch.sh ~/torch/bin/python
set -euo pipefail
cd "$(dirname "$0")/.."

python=${1:-python3}
prefix=$("$python" -c 'import torch; print(torch.utils.cmake_prefix_path)') || {
  echo "check_pytorch: $python has no PyTorch; install it, or name an interpreter that has it" >&2
  exit 2
}
scripts/setup.sh check
cmake -S . -B build/pytorch -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DTHINPIPE_BENCHMARKS=OFF --log-level=WARNING
cmake --build build/pytorch
build/pytorch/thinpipe run experiments/smoke-loopback.json --fresh --results build/pytorch/smoke
ctest --test-dir build/pytorch --output-on-failure -j "$(nproc)" \
  -R '^((trainer|model|dataset|pruning|collective|synchroniser)_tests\.|ddp_test$)'
