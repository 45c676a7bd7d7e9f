#!/usr/bin/env bash
# How near all-reduces come to what the network allows, measured here: the table in docs/performance.md. Arguments go to
# exchange_benchmark; without them it takes about ten minutes. Nothing else should run.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release -DTHINPIPE_BENCHMARKS=ON --log-level=WARNING
cmake --build --preset release --target exchange_benchmark
table=$(mktemp)
trap 'rm -f "$table"' EXIT
build/release/exchange_benchmark "$@" > "$table"
commit=$(git describe --always --dirty --abbrev=10)
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
printf '\nexchange_benchmark · cpu %s (%s cores) · commit %s · run on %s\n' "$cpu" "$(nproc)" "$commit" "$(date -u +%F)" >> "$table"
# Between the two marks.
sed -i -e "/<!-- exchange: begin -->/,/<!-- exchange: end -->/{//!d}" -e "/<!-- exchange: begin -->/r $table" docs/performance.md
cat "$table"
