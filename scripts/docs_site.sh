#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation as a site in build/site, with MkDocs in an environment of its own (build/docs-venv).
#
#   scripts/docs_site.sh            warnings are errors: broken links and headings, pages that the navigation lacks
#   scripts/docs_site.sh --serve    serves it at http://127.0.0.1:8000, and rebuilds when a page changes
#
# Exits with status 77 if pip cannot install MkDocs.
set -euo pipefail
cd "$(dirname "$0")/.."

longest_s=300
requirements=docs/site/requirements.txt
folder=$PWD/build/docs-venv

if ! cmp -s "$requirements" "$folder/requirements.txt"; then
  rm -rf "$folder"
  mkdir -p build
  { /usr/bin/python3 -m venv "$folder" &&
    timeout "$longest_s" "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"; } >&2 || {
    echo "docs_site: pip cannot install the packages of $requirements" >&2
    exit 77
  }
  cp "$requirements" "$folder/requirements.txt"
fi
export NO_MKDOCS_2_WARNING=1
if [ "${1:-}" = --serve ]; then exec "$folder/bin/mkdocs" serve; fi
"$folder/bin/mkdocs" build --strict
echo "docs_site: build/site/index.html"
