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
# GCC's precompiled headers mean nothing to Clang; the sources include what they need.
mkdir -p build/lint
sed 's/-Winvalid-pch//; s/-include [^ ]*cmake_pch.hxx//' build/check/compile_commands.json >build/lint/compile_commands.json
run-clang-tidy -p build/lint -quiet -j "$(nproc)" "^$PWD.*$files.*\.cc$"
