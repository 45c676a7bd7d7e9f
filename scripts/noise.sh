#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures how much this machine's times vary: repeats one run, with the same seed, and compares its times. A second call
# does only the missing repetitions. Let nothing else run beside it.
#
#   scripts/noise.sh                                              five times the dense run of experiments/quickstart.json
#   scripts/noise.sh experiments/convergence.json 'fp16*'         another one
#   REPETITIONS=10 scripts/noise.sh                               more often
#
# The result goes into results/reference/noise.json; tables print it, and leave out the digits below it.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --help ]; then
  sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
fi
experiment=${1:-experiments/quickstart.json}
run=${2:-dense}

# noise.py expects one run in each folder.
results=results/noise/$(basename "$experiment" .json)/${run//\//-}
folders=()
for ((i = 1; i <= ${REPETITIONS:-5}; ++i)); do
  build/release/thinpipe run "$experiment" --only "$run" --results "$results/$i"
  folders+=("$results/$i")
done
/usr/bin/python3 plotting/noise.py "${folders[@]}"
