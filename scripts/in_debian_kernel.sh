#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command on Debian's own kernel, in a virtual machine with this machine's files: for experiments with
# delay, jitter or loss on a kernel that lacks sch_netem.
#
#   scripts/in_debian_kernel.sh build/release/thinpipe run experiments/wan-by-netem.json
#
# The command runs as the calling user, in the current folder, whose files it may change. It can read all other files of
# this machine, except those in /tmp, where it finds an empty folder and, if they are there, these sources. There is no
# network but its own.
# Records name the kernel that they were made on (`provenance.kernel`). An interrupted experiment goes on where it was.
#
# Needs no privileges. The kernel is downloaded once, into build/debian-kernel. With KVM (/dev/kvm, and a CPU with vmx or
# svm) the machine's CPUs are this machine's. Otherwise they are emulated, many times more slowly: then train before, on
# this machine's kernel, and let only replays run here.
#
# VM_MEMORY: main memory of the machine in MiB; default: half of this machine's.
# Exits with the command's status, or with 125 and the reason if the machine cannot start.
set -euo pipefail

skip() {
  echo "in_debian_kernel: $1" >&2
  exit 125
}

[ $# -gt 0 ] && [ "$1" != --help ] || { sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit $(($# == 0 ? 2 : 0)); }
source_folder=$(realpath "$(dirname "$0")/..")
source "$source_folder/scripts/debian_kernel.sh"
cache=$source_folder/build/debian-kernel
mkdir -p "$cache"
fetch_debian_kernel "$cache"

memory=${VM_MEMORY:-$(awk '/MemTotal/ {print int($2 / 2048)}' /proc/meminfo)}
# Some virtual machines have a /dev/kvm, but a CPU without the extensions that an unchanged kernel needs.
if [ -w /dev/kvm ] && grep -qE '^flags.* (vmx|svm) ' /proc/cpuinfo; then
  machine=(-accel kvm -cpu host -smp "$(nproc)")
  clock=""
else
  echo "in_debian_kernel: without access to KVM, CPUs are emulated: expect it to be many times slower" >&2
  # As in netem/tests/in_debian_kernel.sh: the emulated clock, and a CPU that never misses its timer.
  machine=(-accel tcg,thread=multi -cpu max -smp "$(nproc)")
  clock="idle=poll tsc=unstable clocksource=hpet"
fi

root=$(mktemp -d "$cache/root.XXXXXX")
chmod 755 "$root"
trap 'rm -rf "$root" "$root.cpio" "$root.log"' EXIT
make_first_root "$cache" "$root"

# What runs after the machine has changed to this machine's files. A user namespace cannot be created in a changed root
# (chroot), so the first file system gives way.
become=()
[ "$(id -u)" = 0 ] || become=("$(command -v setpriv)" --reuid "$(id -u)" --regid "$(id -g)" --clear-groups)
{
  export -p | grep -E '^declare -x (PATH|HOME|USER|LANG|LC_ALL|LD_LIBRARY_PATH|PYTHONPATH|THINPIPE[A-Z_]*)='
  printf 'cd %q\n' "$PWD"
  printf '%q ' "${become[@]}" "$@"
  # The command writes to a pipe, because the console is no terminal that people watch.
  echo '</dev/null 2>&1 | cat'
  echo 'echo "exit status in the machine: ${PIPESTATUS[0]}"'
  echo "$(command -v busybox) poweroff -f >/dev/null 2>&1"
} >"$root/command"
first_commands >"$root/init"
cat >>"$root/init" <<EOF
files=trans=virtio,version=9p2000.L,msize=1048576
busybox mkdir /files
busybox mount -t 9p -o \$files,ro,cache=loose files /files || busybox poweroff -f
busybox mkdir /all
busybox mount --bind /files /all
for folder in /files/tmp /files/run /dev/shm; do busybox mount -t tmpfs -o mode=1777 tmpfs \$folder; done
busybox mkdir -p $(printf %q "/files$source_folder")
busybox mount --bind $(printf %q "/all$source_folder") $(printf %q "/files$source_folder")
busybox cp /command /files/run/command
busybox mkdir -p $(printf %q "/files$PWD")
busybox mount -t 9p -o \$files,cache=mmap folder $(printf %q "/files$PWD") || busybox poweroff -f
busybox ifconfig lo up
for folder in dev proc sys; do busybox mount --move /\$folder /files/\$folder; done
exec busybox switch_root /files /bin/bash /run/command
EOF
chmod +x "$root/init"
pack_first_root "$root"

qemu-system-x86_64 "${machine[@]}" -m "$memory" -nodefaults -no-reboot -display none -serial stdio \
  -virtfs "local,path=/,mount_tag=files,security_model=none,readonly=on,multidevs=remap" \
  -virtfs "local,path=$PWD,mount_tag=folder,security_model=none,multidevs=remap" \
  -kernel "$cache/vmlinuz" -initrd "$root.cpio" \
  -append "console=ttyS0 quiet panic=-1 $clock" </dev/null 2>&1 | tr -d '\r' | tee "$root.log" || true
status=$(sed -n 's/^exit status in the machine: //p' "$root.log")
[ -n "$status" ] || skip "the virtual machine ended before the command did"
exit "$status"
