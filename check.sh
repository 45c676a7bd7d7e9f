#!/usr/bin/env bash
# The whole test suite, with everything it needs set up first. Exit status 0 when all is well.
#
#   ./check.sh               format, sanitised build and its tests, ThreadSanitizer build of the threaded parts,
#                            optimised build with benchmarks and smoke run, the worker program and the smoke run
#                            with a current LibTorch where one can be had, for CUDA and with NCCL where there is nvcc,
#                            fuzzing of the parsers (each for FUZZ_SECONDS, 60 unless set)
#   ./check.sh -R network    the arguments go to ctest: only the sanitised tests whose names match
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s  (%d s)\n' "$1" "$SECONDS"; }

step "packages"
scripts/setup.sh check

step "format"
mapfile -t sources < <(git ls-files '*.cc' '*.hh')
clang-format --dry-run -Werror "${sources[@]}"
bash -n quickstart.sh check.sh scripts/*.sh

step "sanitised build: AddressSanitizer, UndefinedBehaviorSanitizer, warnings as errors"
cmake --preset check -DTHINPIPE_BENCHMARKS=OFF --log-level=WARNING
cmake --build --preset check

if [ $# -gt 0 ]; then
  exec ctest --preset check "$@"
fi

step "optimised build with benchmarks, and the smoke run"
cmake --preset release --log-level=WARNING
cmake --build --preset release --target thinpipe thinpipe-trainer benchmarks
rm -rf build/smoke
build/release/thinpipe run experiments/smoke-loopback.json --results build/smoke

step "the worker program with a current LibTorch, and CUDA where there is nvcc; all other builds have Debian's"
if python=$(scripts/current_pytorch.sh); then
  export THINPIPE_TENSORBOARD_PYTHON=$python
  scripts/check_pytorch.sh --smoke "$python"
else
  printf '\n!! SKIPPED: nothing was built with a current LibTorch, as none can be had here.\n\n'
fi

step "ThreadSanitizer build of the threaded parts"
cmake --preset thread-check -DTHINPIPE_BENCHMARKS=OFF --log-level=WARNING
cmake --build --preset thread-check --target thread_tests
build/thread-check/thread_tests --gtest_brief=1

step "fuzzing, ${FUZZ_SECONDS:=60} s a target"
scripts/fuzz.sh "$FUZZ_SECONDS" || {
  [ $? -eq 77 ] || exit 1
  printf '\n!! SKIPPED: the parsers were not fuzzed, as there is no clang with libFuzzer here.\n\n'
}

step "tests"
status=0
ctest --preset check --output-junit "$PWD/build/check/tests.xml" | tee build/check/tests.log || status=$?
step "slowest tests, and why tests were skipped"
/usr/bin/python3 scripts/test_report.py build/check/tests.xml
printf '\n'
grep -E 'tests passed, .* tests failed out of' build/check/tests.log
exit $status
