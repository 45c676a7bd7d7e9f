#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes a fresh Debian to the time-to-accuracy curves of six methods over a capped network: installs missing packages,
# builds, trains for some seconds without a network, runs experiments/quickstart.json, and draws results/quickstart/*.png.
# A second call does only what is missing. Arguments are those of `thinpipe run`.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s  (%d s since the start)\n' "$1" "$SECONDS"; }

step "1 of 4: packages. A few minutes the first time"
scripts/setup.sh

# The tests need further packages, which ./check.sh installs.
step "2 of 4: build. About 10 minutes on two cores the first time"
cmake --preset release -DTHINPIPE_TESTS=OFF -DTHINPIPE_BENCHMARKS=OFF --log-level=WARNING
cmake --build --preset release

step "3 of 4: smoke test: two workers on 127.0.0.1, uncapped. Some seconds"
build/release/thinpipe run experiments/smoke-loopback.json

step "4 of 4: six methods over two links of 100 Mbit/s, eight workers. About 6 minutes on two cores"
build/release/thinpipe run experiments/quickstart.json "$@"
for figure in time_to_accuracy speedup breakdown; do
  /usr/bin/python3 "plotting/$figure.py" results/quickstart
done

step "done"
cat <<'TEXT'
Next:
  docs/tutorials/first-run.md                                  how to read the table, and a faster network
  build/release/thinpipe report results/quickstart --html quickstart.html    the curves on a page, to be zoomed
  build/release/thinpipe verify three-switch                   compares the emulated network with its specification
  docs/tutorials/first-experiment.md                           a sweep of your own
  docs/tutorials/your-method.md                                your method in Python, beside these
TEXT
