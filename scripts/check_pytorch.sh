#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds against the LibTorch of an installed PyTorch instead of Debian's, and runs the trainer's tests with it.
# With a PyTorch for CUDA, the build has CUDA and NCCL and needs nvcc.
#
#   scripts/check_pytorch.sh [--build|--smoke] [PYTHON]
#
#   PYTHON     the interpreter that has PyTorch (default python3)
#   --build    builds both programs like the preset release, for use and without tests, and trains with them in the
#              smoke run
#   --smoke    also builds the tests that need a GPU; compiles faster and makes slower programs, like all builds for tests
#
# For example:
#   scripts/check_pytorch.sh "$(scripts/current_pytorch.sh)"
set -euo pipefail
cd "$(dirname "$0")/.."

smoke=false
packages=check
# Records name the build type, which distinguishes the two.
kind=(-DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG" -DTHINPIPE_TESTS=ON
  -DTHINPIPE_BENCHMARKS=ON)
case "${1:-}" in
--build)
  smoke=true
  # An earlier build may have set others.
  kind=(-DCMAKE_BUILD_TYPE=Release -UCMAKE_CXX_FLAGS_RELEASE -DTHINPIPE_TESTS=OFF -DTHINPIPE_BENCHMARKS=OFF)
  packages=python
  shift
  ;;
--smoke)
  smoke=true
  shift
  ;;
esac
python=${1:-python3}
prefix=$("$python" -c 'import torch; print(torch.utils.cmake_prefix_path)') || {
  echo "check_pytorch: $python has no PyTorch; install it, or name an interpreter that has it" >&2
  exit 2
}
scripts/setup.sh $packages

# LibTorch's configuration needs more of CUDA than Thinpipe uses. Libraries that a toolkit may lack are in the wheel,
# but not under the names that linkers look for.
# If no architectures were given, the configuration would look for this machine's GPUs.
has_cuda=$("$python" -c 'import torch; print(torch.version.cuda is not None)')
cuda=()
if [ "$has_cuda" = True ]; then
  toolkit=$(nvcc -x cu --dryrun /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p')
  toolkit=$(realpath "${toolkit:?check_pytorch: nvcc does not print where its toolkit is}")
  export CUDACXX=$toolkit/bin/nvcc
  cuda=("-DCUDA_TOOLKIT_ROOT_DIR=$toolkit" -DTORCH_CUDA_ARCH_LIST=8.0)
  wheel=$("$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent.parent / "nvidia")')
  for library in cublas cublasLt cufft curand nvrtc; do
    for file in "$wheel"/cu*/lib/lib$library.so.*; do
      if [ -e "$file" ]; then cuda+=("-DCUDA_${library}_LIBRARY=$file"); fi
    done
  done
fi

# What `pip install .` configures in that environment, without a CUDA toolkit's help.
cmake -S . -B build/pip-configuration -G Ninja -DSKBUILD=ON "-DPython_EXECUTABLE=$(command -v "$python")" \
  -DTHINPIPE_TESTS=OFF -DTHINPIPE_BENCHMARKS=OFF --log-level=WARNING

tests=(trainer_tests model_tests dataset_tests pruning_tests collective_tests synchroniser_tests)
cmake -S . -B build/pytorch -G Ninja "${kind[@]}" -DTHINPIPE_UNITY=ON \
  -DCMAKE_PREFIX_PATH="$prefix" "${cuda[@]}" --log-level=WARNING
echo "LibTorch $("$python" -c 'import torch; print(torch.__version__)')"
if $smoke; then
  cmake --build build/pytorch --target thinpipe thinpipe-trainer
else
  cmake --build build/pytorch --target thinpipe thinpipe-trainer benchmarks "${tests[@]}"
fi
build/pytorch/thinpipe run experiments/smoke-loopback.json --fresh --results build/pytorch/smoke
if [ "$has_cuda" = True ]; then
  build/pytorch/thinpipe doctor | grep -A1 -E 'NCCL|CUDA'
  [ $packages = check ] || exit 0
  cmake --build build/pytorch --target gpu_tests
  build/pytorch/gpu_tests --gtest_brief=1
  "$python" -B trainer/tests/gpu/nccl_run_test.py build/pytorch/thinpipe || [ $? -eq 77 ] # it says that there is no GPU
fi
$smoke && exit
pattern=$(IFS='|'; echo "${tests[*]}|resume_test")
# Tests that run in shards have a number after their name.
ctest --test-dir build/pytorch --output-on-failure -R "^($pattern)(\.[0-9]+)?\$" --no-tests=error
# Compares with this PyTorch's own DistributedDataParallel: another version's kernels round differently.
"$python" trainer/tests/ddp_test.py build/pytorch/thinpipe-trainer
