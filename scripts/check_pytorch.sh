#!/usr/bin/env bash
# Builds against the LibTorch of an installed PyTorch instead of Debian's, and runs the trainer's tests with it. A PyTorch for CUDA
# makes a build with CUDA and NCCL, for which there must be nvcc.
#
#   scripts/check_pytorch.sh [--smoke] [PYTHON]
#
#   PYTHON     the interpreter that has PyTorch; python3 unless given
#   --smoke    builds the worker program alone, and trains with it in the smoke run
#
# For example:
#   scripts/check_pytorch.sh "$(scripts/current_pytorch.sh)"
set -euo pipefail
cd "$(dirname "$0")/.."

smoke=false
if [ "${1:-}" = --smoke ]; then
  smoke=true
  shift
fi
python=${1:-python3}
prefix=$("$python" -c 'import torch; print(torch.utils.cmake_prefix_path)') || {
  echo "check_pytorch: $python has no PyTorch; install it, or name an interpreter that has it" >&2
  exit 2
}
scripts/setup.sh check

# LibTorch's configuration asks for more of CUDA's libraries than we link. Where the toolkit lacks them, the wheel has them, though
# not by the names that linkers look for.
cuda=$("$python" -c 'import torch; print(torch.version.cuda or "")')
libraries=()
if [ -n "$cuda" ]; then
  folder=$("$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent.parent / "nvidia")')
  for file in "$folder"/cu*/lib/lib*.so.*; do
    [ -e "$file" ] || continue
    name=$(basename "$file")
    name=${name#lib}
    libraries+=("-DCUDA_${name%%.so*}_LIBRARY=$file")
  done
fi

tests=(trainer_tests model_tests dataset_tests pruning_tests collective_tests synchroniser_tests)
cmake -S . -B build/pytorch -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
  -DCMAKE_PREFIX_PATH="$prefix" "${libraries[@]}" --log-level=WARNING
echo "LibTorch $("$python" -c 'import torch; print(torch.__version__)')"
if $smoke; then
  cmake --build build/pytorch --target thinpipe thinpipe-trainer
else
  cmake --build build/pytorch --target thinpipe thinpipe-trainer benchmarks "${tests[@]}"
fi
build/pytorch/thinpipe run experiments/smoke-loopback.json --fresh --results build/pytorch/smoke
$smoke && exit
pattern=$(IFS='|'; echo "${tests[*]}|resume_test")
ctest --test-dir build/pytorch --output-on-failure -R "^($pattern)\$" --no-tests=error
# Against its own DistributedDataParallel: another version's kernels round otherwise.
"$python" trainer/tests/ddp_test.py build/pytorch/thinpipe-trainer
