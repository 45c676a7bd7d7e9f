#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and tests everything, after installing what it needs. Exits with 0 if everything passes.
#
#   ./check.sh               format; documentation as a site; unit tests with AddressSanitizer and
#                            UndefinedBehaviorSanitizer; whole programs, optimised, and the tests that run them; a
#                            fixed number of inputs for each fuzz target
#   ./check.sh --full        adds: every file compiled on its own, ThreadSanitizer, a current LibTorch, CUDA and NCCL
#                            if there is nvcc, Debian's kernel in a virtual machine, the container's image, Debian 13, fuzzing
#                            for FUZZ_SECONDS (60) per target, benchmarks, plans of the largest models, planted faults
#                            that tests must catch
#   ./check.sh -R network    builds, and passes the arguments to ctest: only the tests whose names match
set -euo pipefail
cd "$(dirname "$0")"

full=false
if [ "${1:-}" = --full ]; then
  full=true
  shift
fi
step() { printf '\n== %s  (%d s)\n' "$1" "$SECONDS"; }
skip() { printf '\n!! SKIPPED: %s\n\n' "$1"; }

step "packages"
scripts/setup.sh check
if $full; then scripts/setup.sh full; fi

step "format"
lacking=$(git grep -L 'SPDX-License-Identifier: Apache-2.0' -- '*.cc' '*.hh' '*.cu' '*.py' '*.sh' '*.js' '*.html' '*.css' \
  '*.yml' '*.toml' '*.mplstyle' '*Containerfile' '*.def' '*.cmake' '*CMakeLists.txt') || true
[ -z "$lacking" ] || { printf 'add the line "SPDX-License-Identifier: Apache-2.0" to:\n%s\n' "$lacking"; exit 1; }
mapfile -t sources < <(git ls-files '*.cc' '*.hh')
clang-format --dry-run -Werror "${sources[@]}"
mapfile -t scripts < <(git ls-files '*.sh')
bash -n "${scripts[@]}"

step "documentation as a site"
scripts/docs_site.sh || {
  [ $? -eq 77 ] || exit 1
  skip "the documentation was not built as a site: pip cannot install MkDocs on this machine."
}

step "unit tests: sanitised build, warnings as errors"
cmake --preset check --log-level=WARNING
cmake --build --preset check

step "whole programs and their tests: optimised build"
cmake --preset release -DTHINPIPE_TESTS=system -DTHINPIPE_BENCHMARKS=ON --log-level=WARNING
cmake --build --preset release --target all benchmarks

# Short backtraces of allocations, and a smaller quarantine of freed memory: tests take a seventh less CPU time.
export ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=8:quarantine_size_mb=64}
# One run of CTest over both builds.
mkdir -p build/tests
at_once=$(($(nproc) + 1))  # many tests wait for a network or a time-out
printf 'subdirs("%s" "%s")\n' "$PWD/build/check" "$PWD/build/release" >build/tests/CTestTestfile.cmake
if [ $# -gt 0 ]; then
  exec ctest --test-dir build/tests --output-on-failure --no-tests=error -j "$at_once" "$@"
fi

if $full; then
  step "every file compiled on its own"
  cmake --preset dev --log-level=WARNING
  cmake --build --preset dev

  step "benchmarks: each for a moment, to check that it runs"
  for benchmark in {netem,simulator}_benchmark {trainer,dataset,collective,synchroniser}_benchmarks; do
    "build/release/$benchmark" --benchmark_min_time=0.001 --benchmark_filter='-/(25000000|67108864)/'  # not the large ones
  done

  step "the worker program with a current LibTorch (other builds have Debian's), and with CUDA if there is nvcc"
  if python=$(scripts/current_pytorch.sh); then
    export THINPIPE_TENSORBOARD_PYTHON=$python THINPIPE_CURRENT_PYTORCH=$python
    scripts/check_pytorch.sh --smoke "$python"
  else
    skip "nothing was built with a current LibTorch: this machine has none and cannot install one."
  fi

  step "ThreadSanitizer build of the threaded parts"
  cmake --preset thread-check --log-level=WARNING
  cmake --build --preset thread-check --target thread_tests
  build/thread-check/thread_tests --gtest_brief=1

  step "planted faults"
  scripts/planted_faults.py
fi

fuzzing=(--runs 5000)
if $full; then fuzzing=("${FUZZ_SECONDS:-60}"); fi
step "fuzzing: ${fuzzing[*]}"
scripts/fuzz.sh "${fuzzing[@]}" || {
  [ $? -eq 77 ] || exit 1
  skip "the parsers were not fuzzed: this machine has no clang with libFuzzer."
}

step "tests"
tier=(-LE slow)
if $full; then tier=(); fi
status=0
ctest --test-dir build/tests --output-on-failure -j "$at_once" "${tier[@]}" --output-junit "$PWD/build/tests/tests.xml" |
  tee build/tests/tests.log || status=$?
step "slowest tests, and reasons of skipped tests"
/usr/bin/python3 scripts/test_report.py build/tests/tests.xml
printf '\n'
grep -E 'tests passed, .* tests failed out of' build/tests/tests.log
exit $status
