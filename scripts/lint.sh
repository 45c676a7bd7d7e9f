#!/usr/bin/env bash
# clang-tidy over the sources that build/check compiles; any finding is an error.
#
#   scripts/lint.sh            the files that do not include LibTorch: a few minutes
#   scripts/lint.sh trainer    those that do: half a minute each
#   scripts/lint.sh REGEX      the files whose path matches
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  "") files='/(harness|netem)/' ;;
  trainer) files='/trainer/' ;;
  *) files=$1 ;;
esac
run-clang-tidy -p build/check -quiet -j "$(nproc)" "^$PWD.*$files" 2>/dev/null
