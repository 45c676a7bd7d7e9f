#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes a fresh Debian 12 to the time-to-accuracy curves of six methods over a capped network: installs missing
# packages, builds, runs experiments/quickstart.json, and draws results/quickstart/*.png. A second call does only what
# is missing.
set -euo pipefail
cd "$(dirname "$0")"

scripts/setup.sh
# The tests need further packages, which ./check.sh installs.
cmake --preset release -DTHINPIPE_TESTS=OFF -DTHINPIPE_BENCHMARKS=OFF --log-level=WARNING
cmake --build --preset release
build/release/thinpipe run experiments/quickstart.json "$@"
for figure in time_to_accuracy speedup; do
  /usr/bin/python3 "plotting/$figure.py" results/quickstart
done
