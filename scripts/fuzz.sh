#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes every parser of files that users and other programs write, with libFuzzer, AddressSanitizer and
# UndefinedBehaviorSanitizer. Exits with 1 if it found something, and keeps the inputs that show it; with 77 if there is
# no clang with libFuzzer.
#
#   scripts/fuzz.sh                     each target for 60 seconds, as many in parallel as there are cores
#   scripts/fuzz.sh 600                 each for 600 seconds
#   scripts/fuzz.sh --runs 5000         each with this many inputs, the same every time
#   scripts/fuzz.sh 600 trace record    only these targets
set -euo pipefail
cd "$(dirname "$0")/.."

what=seconds
if [ "${1:-}" = --runs ]; then
  what=runs
  shift
fi
amount=${1:-60}
if ! [[ $amount =~ ^[1-9][0-9]*$ ]]; then
  echo "fuzz: expected a number of $what, got \"$amount\"; usage: scripts/fuzz.sh [SECONDS|--runs N [TARGET...]]" >&2
  exit 2
fi
shift || true
known=(experiment topology trace record communication_trace event worker_events worker_file label safetensors npy npz
  pickle idx cifar image peer_hello)
targets=("${@:-${known[@]}}")
if [ $# -eq 0 ]; then targets=("${known[@]}"); fi
for target in "${targets[@]}"; do
  if [[ " ${known[*]} " != *" $target "* ]]; then
    echo "fuzz: unknown target \"$target\"; known: ${known[*]}" >&2
    exit 2
  fi
done
nothing='extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
if ! clang++ -x c++ -fsanitize=fuzzer - -o /dev/null <<<"$nothing" 2>/dev/null; then
  echo "fuzz: needs clang++ with libFuzzer; as root run: apt-get install clang libclang-rt-14-dev" >&2
  exit 77
fi

cmake -S . -B build/fuzz -G Ninja -DTHINPIPE_FUZZ=ON -DTHINPIPE_UNITY=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" --log-level=WARNING
cmake --build build/fuzz --target "${targets[@]/#/fuzz_}"

cd build/fuzz/fuzz

slow_cpu_s=5
# libFuzzer goes by the clock, by which any input may be slow while other programs have the cores.
drop_inputs_that_only_seemed_slow() {
  local input cpu_s TIMEFORMAT=%U
  for input in "finds/$1"/slow-unit-*; do
    [ -e "$input" ] || continue
    cpu_s=$({ time "./$1" "$input" >/dev/null 2>&1; } 2>&1) || continue
    if [ "${cpu_s%.*}" -lt "$slow_cpu_s" ]; then
      echo "fuzz: $1: an input took long, but alone it takes $cpu_s s of CPU time"
      rm "$input"
    fi
  done
}
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
fuzz() {
  local target=$1 ended=well executions finds limit corpus
  mkdir -p "finds/$target"
  if [ "$what" = seconds ]; then
    corpus=corpus/$target  # kept, so that the next run starts from it
    mkdir -p "$corpus"
    limit=(-max_total_time="$amount")
  else
    corpus=$(mktemp -d)  # not kept, so that the inputs are the same every time
    limit=(-runs="$amount" -seed=1)
  fi
  "./$target" "${limit[@]}" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="finds/$target/" "$corpus" "seeds/$target" >"$target.log" 2>&1 || ended=badly
  if [ "$what" = runs ]; then rm -r "$corpus"; fi
  drop_inputs_that_only_seemed_slow "$target"
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$target.log")
  finds=$(find "finds/$target" -type f | wc -l)
  printf '%-12s %10s executions, %d finds\n' "$target" "${executions:-?}" "$finds"
  if [ "$ended" = well ] && [ "$finds" -eq 0 ]; then return 0; fi
  {
    tail -n 40 "$target.log"
    echo "fuzz: $target found something: inputs in $PWD/finds/$target, the log in $PWD/$target.log."
    echo "fuzz: to reproduce: (cd $PWD && ./$target finds/$target/FILE). Remove the file once the fault is fixed."
  } >&2
  return 1
}
at_once=$(nproc)
running=0
status=0
for target in "${targets[@]}"; do
  if [ "$running" -ge "$at_once" ]; then
    wait -n || status=1
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || status=1
  running=$((running - 1))
done
exit $status
