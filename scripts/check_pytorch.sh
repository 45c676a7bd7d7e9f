#!/usr/bin/env bash
# Builds against the LibTorch of an installed PyTorch instead of Debian's, and runs the trainer's tests with it. A PyTorch for CUDA
# makes a build with CUDA and NCCL, for which there must be nvcc.
#
#   scripts/check_pytorch.sh [--build|--smoke] [PYTHON]
#
#   PYTHON     the interpreter that has PyTorch; python3 unless given
#   --build    builds both programs as the preset release does, to be used, and trains with them in the smoke run
#   --smoke    the same, compiled in less time for slower programs; so are all builds for tests
#
# For example:
#   scripts/check_pytorch.sh "$(scripts/current_pytorch.sh)"
set -euo pipefail
cd "$(dirname "$0")/.."

smoke=false
# Records tell by the build type which of the two a program is.
kind=(-DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG")
case "${1:-}" in
--build)
  smoke=true
  kind=(-DCMAKE_BUILD_TYPE=Release -UCMAKE_CXX_FLAGS_RELEASE) # what an earlier build may have kept
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
scripts/setup.sh full

# LibTorch's configuration asks for more of CUDA than we use. Libraries that a toolkit may lack are in the wheel, though not by the
# names that linkers look for; and without architectures named it would look for this machine's GPUs.
has_cuda=$("$python" -c 'import torch; print(torch.version.cuda is not None)')
cuda=()
if [ "$has_cuda" = True ]; then
  toolkit=$(nvcc -x cu --dryrun /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p')
  toolkit=$(realpath "${toolkit:?check_pytorch: nvcc does not say where its toolkit is}")
  export CUDACXX=$toolkit/bin/nvcc
  cuda=("-DCUDA_TOOLKIT_ROOT_DIR=$toolkit" -DTORCH_CUDA_ARCH_LIST=8.0)
  wheel=$("$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent.parent / "nvidia")')
  for library in cublas cublasLt cufft curand nvrtc; do
    for file in "$wheel"/cu*/lib/lib$library.so.*; do
      if [ -e "$file" ]; then cuda+=("-DCUDA_${library}_LIBRARY=$file"); fi
    done
  done
fi

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
  cmake --build build/pytorch --target gpu_tests
  build/pytorch/gpu_tests --gtest_brief=1
fi
$smoke && exit
pattern=$(IFS='|'; echo "${tests[*]}|resume_test")
# Those that run in shards have a number behind their name.
ctest --test-dir build/pytorch --output-on-failure -R "^($pattern)(\.[0-9]+)?\$" --no-tests=error
# Against its own DistributedDataParallel: another version's kernels round otherwise.
"$python" trainer/tests/ddp_test.py build/pytorch/thinpipe-trainer
