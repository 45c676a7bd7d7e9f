#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures how close all-reduces come to what the network allows: the tables in docs/results/performance.md.
# Nothing else should run.
#
#   scripts/exchange_speed.sh             all tables
#   scripts/exchange_speed.sh exchange    by cap and size, beside PyTorch's and MPI libraries': about twenty minutes
#   scripts/exchange_speed.sh racks       with hosts' own links twice as fast as the bottleneck: two minutes
#   scripts/exchange_speed.sh scaling     by the number of workers, up to 64 measured and 1024 simulated
#   scripts/exchange_speed.sh hops        messages of 64 bytes, whose time is hops, not links: a minute
#   scripts/exchange_speed.sh pieces      ternary codes, made before or during the exchange: two minutes
#   scripts/exchange_speed.sh messages    from each worker to one other or to all, at one switch: a minute
#
# `scripts/setup.sh full` installs the MPI libraries. The table marks a library that is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --help ]; then
  sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
table=$folder/table

# Measures, and writes the table between its two marks.
update() {
  local name=$1
  shift
  build/release/exchange_benchmark "$@" | tee "$table"
  sed -i -e "/<!-- $name: begin -->/,/<!-- $name: end -->/{//!d}" -e "/<!-- $name: begin -->/r $table" docs/results/performance.md
}

exchange() {
  local python
  python=$(scripts/current_pytorch.sh) || python=
  update exchange ${python:+--current-pytorch "$python"}
}

# At a fifth of the caps: few cores can carry the full ones.
racks() {
  sed 's/"1 Gbit/"200 Mbit/' topologies/two-rack.json > "$folder/two-rack-at-a-fifth.json"
  update racks --topology "$folder/two-rack-at-a-fifth.json" --rates 100 --sizes 25 100 --ways island ring simulated
}

scaling() {
  update scaling --crowds 1 2 4 8 128 --rates 50 100 --sizes 4 --ways island simulated
}

hops() {
  update hops --milliseconds --sizes 0.000064 --repetitions 101 \
    --ways ring island gloo gloo-polling pytorch pytorch-polling openmpi mpich
}

pieces() {
  update pieces --milliseconds --sizes 25 --repetitions 9 --ways ternary ternary-pieces
}

messages() {
  update messages --topology experiments/spardl/star.json --rates 20 100 --sizes 0.2 1 --ways circle pairs everyone
}

case ${1:-} in
  '' | exchange | racks | scaling | hops | pieces | messages) ;;
  *)
    echo "exchange_speed: unknown table \"$1\"; known: exchange, racks, scaling, hops, pieces, messages" >&2
    exit 2
    ;;
esac
cmake --preset release -DTHINPIPE_BENCHMARKS=ON --log-level=WARNING
cmake --build --preset release --target exchange_benchmark
if [ $# -eq 0 ]; then
  exchange
  racks
  scaling
  hops
  pieces
  messages
else
  "$1"
fi
