#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the time from saving a file to its test result, in a warm build of the preset "dev".
#
#   scripts/loop_times.sh            for a method, a file of the harness, a file of netem and a message format
#   scripts/loop_times.sh --runs 5   measures each five times instead of three; prints the median
#   scripts/loop_times.sh --update   also writes the table into CONTRIBUTING.md
#
# Each run appends to the file a definition that no cache has seen. The file is restored afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=3
update=false
while [ $# -gt 0 ]; do
  case $1 in
    --runs) runs=${2:?loop_times: --runs takes a number}; shift ;;
    --update) update=true ;;
    *) sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; [ "$1" = --help ] && exit 0 || exit 2 ;;
  esac
  shift
done

# The file to edit, the test program, and its tests.
loops=(
  "trainer/synchronisers/methods/topk.cc synchroniser_tests TopK*:*Conformance*topk_*in_process*"
  "trainer/synchronisers/quantised/ternary.cc core_tests Ternary*"
  "harness/experiment/axis.cc harness_tests *Axis*:Exclude*:Repeat*"
  "netem/topology/link_shape.cc netem_tests LinkShape*"
)

cmake --preset dev --log-level=WARNING >/dev/null
saved=$(mktemp)
log=$(mktemp)
table=$(mktemp)
trap 'if [ -s "$saved" ]; then cp -p "$saved" "$file"; fi; rm -f "$saved" "$log" "$table"' EXIT

quietly() {
  "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
}

printf '| file | tests in | time |\n| :--- | :--- | ---: |\n' | tee "$table"
for loop in "${loops[@]}"; do
  read -r file program tests <<<"$loop"
  quietly cmake --build --preset dev --target "$program"
  # GoogleTest passes if no test matches the filter.
  "build/dev/$program" --gtest_list_tests --gtest_filter="$tests" | grep '^  ' >/dev/null || {
    echo "loop_times: $program has no tests $tests" >&2
    exit 1
  }
  cp -p "$file" "$saved"
  times=()
  for ((run = 0; run < runs; ++run)); do
    printf 'namespace { [[maybe_unused]] const long edited = %s; }\n' "$(date +%s%N)" | cat "$saved" - >"$file"
    began=$(date +%s%N)
    quietly cmake --build --preset dev --target "$program"
    quietly "build/dev/$program" --gtest_brief=1 --gtest_filter="$tests"
    times+=($((($(date +%s%N) - began) / 1000000)))
  done
  cp -p "$saved" "$file"
  : >"$saved"
  median=$(printf '%s\n' "${times[@]}" | sort -n | sed -n "$(((runs + 1) / 2))p")
  printf "| \`%s\` | \`%s\` | %.1f s |\n" "$file" "$program" "$((median / 100))e-1" | tee -a "$table"
done
printf '\nscripts/loop_times.sh · median of %s · cpu %s · commit %s · run on %s\n' "$runs" \
  "$(/usr/bin/python3 -B scripts/cpu_name.py)" \
  "$(git describe --always --dirty --abbrev=10)" "$(date -u +%F)" | tee -a "$table"
if $update; then
  sed -i -e '/<!-- loop times: begin -->/,/<!-- loop times: end -->/{//!d}' \
    -e "/<!-- loop times: begin -->/r $table" CONTRIBUTING.md
fi
