#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy over the sources; any finding is an error.
#
#   scripts/lint.sh            the files that do not include LibTorch, as build/dev compiles them: a few minutes
#   scripts/lint.sh trainer    the files that do, as build/pytorch compiles them (scripts/check_pytorch.sh): half a
#                              minute each. Clang 14 cannot read Debian's LibTorch in C++20.
#   scripts/lint.sh REGEX      the files of build/dev whose path matches
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/dev
case "${1:-}" in
  "") files='/(common|harness|netem)/' ;;
  trainer) files='/trainer/' build=build/pytorch ;;
  *) files=$1 ;;
esac
# Clang cannot use GCC's precompiled headers; the sources include what they need.
mkdir -p build/lint
sed 's/-Winvalid-pch//; s/-include [^ ]*cmake_pch.hxx//' "$build/compile_commands.json" >build/lint/compile_commands.json
run-clang-tidy -p build/lint -quiet -j "$(nproc)" "^$PWD.*$files.*\.cc$"
