#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures how fast methods encode and decode: the table in docs/results/methods.md, and the data behind it.
# Takes about ten minutes and most of 8 GB; nothing else should run.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release -DTHINPIPE_BENCHMARKS=ON --log-level=WARNING
cmake --build --preset release --target synchroniser_benchmarks
build/release/synchroniser_benchmarks --benchmark_out=results/reference/encode-decode.json --benchmark_out_format=json \
  --benchmark_context="commit=$(git describe --always --dirty --abbrev=10)"
/usr/bin/python3 plotting/speed_table.py results/reference/encode-decode.json --update docs/results/methods.md
