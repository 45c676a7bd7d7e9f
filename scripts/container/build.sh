#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the programs inside a container, in the folder of these sources, and removes all but what they need at run time:
# a program finds topologies, the Python package and reference results in the folder that it was built from, by the link "data".
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/setup.sh python
cmake --preset release -DTHINPIPE_TESTS=OFF -DTHINPIPE_BENCHMARKS=OFF --log-level=WARNING
cmake --build --preset release
mv build/release build/all
mkdir build/release
mv build/all/{thinpipe,thinpipe-trainer,thinpipe-polling.so,experiment.schema.json,python,data} build/release
rm -r build/all
