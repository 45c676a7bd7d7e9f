#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prepares Shakespeare's plays for the experiments on language: results/data/roles has a file for each role, and
# results/data/words their words as tokens. Installs the plays if they are missing.
#
#   scripts/plays.sh
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --help ]; then
  sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit
fi
thinpipe=${THINPIPE:-build/release/thinpipe}
scripts/setup.sh text
scripts/shakespeare.py results/data/roles
[ -e results/data/words ] ||
  "$thinpipe" tokenize results/data/roles/*/*.txt --out results/data/words --tokens words --vocabulary 10000
