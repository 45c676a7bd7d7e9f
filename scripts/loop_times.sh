#!/usr/bin/env bash
# Prints how long a developer waits from saving a file to its tests' result, in a warm build of the preset "dev".
#
#   scripts/loop_times.sh            a method, a part of the harness, a part of netem, a code of messages
#   scripts/loop_times.sh --runs 5   each this many times (3), and the median
#
# The file gets a definition that no cache has seen, and is put back afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=3
if [ "${1:-}" = --runs ]; then runs=${2:?loop_times: --runs takes a number}; fi

# What is edited, the program it is tested by, and its tests.
loops=(
  "trainer/synchronisers/topk.cc synchroniser_tests TopK*:*Conformance*topk_*in_process*"
  "trainer/synchronisers/quantised/ternary.cc core_tests Ternary*"
  "harness/axis.cc harness_tests *Axis*:Exclude*:Repeat*"
  "netem/shape.cc netem_tests Shape*"
)

cmake --preset dev --log-level=WARNING >/dev/null
saved=$(mktemp)
trap 'if [ -s "$saved" ]; then cp -p "$saved" "$file"; fi; rm -f "$saved"' EXIT
for loop in "${loops[@]}"; do
  read -r file program tests <<<"$loop"
  cmake --build --preset dev --target "$program" >/dev/null
  # GoogleTest is content with a filter that no test matches.
  "build/dev/$program" --gtest_list_tests --gtest_filter="$tests" | grep '^  ' >/dev/null || {
    echo "loop_times: $program has no tests $tests" >&2
    exit 1
  }
  cp -p "$file" "$saved"
  times=()
  for ((run = 0; run < runs; ++run)); do
    printf 'namespace { [[maybe_unused]] const long edited = %s; }\n' "$(date +%s%N)" | cat "$saved" - >"$file"
    began=$(date +%s%N)
    cmake --build --preset dev --target "$program" >/dev/null
    "build/dev/$program" --gtest_brief=1 --gtest_filter="$tests" >/dev/null
    times+=($((($(date +%s%N) - began) / 1000000)))
  done
  cp -p "$saved" "$file"
  : >"$saved"
  median=$(printf '%s\n' "${times[@]}" | sort -n | sed -n "$(((runs + 1) / 2))p")
  printf '%6.1f s  %-45s %s\n' "$((median / 100))e-1" "$file" "$program"
done
