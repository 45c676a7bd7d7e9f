#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a test program on Debian's own kernel in a small virtual machine, for features that this machine's
# kernel lacks.
# Needs no privileges. The kernel is downloaded once and kept.
#
#   netem/tests/in_debian_kernel.sh PROGRAM CACHE_FOLDER [ARGUMENT...]
#
# Exits with the program's status, or with 77 and the reason if the virtual machine cannot start.
# A skipped test counts as failed: Debian's kernel has every feature, so a skip hides a fault.
set -euo pipefail

program=$(realpath "$1")
mkdir -p "$2"
cache=$(realpath "$2")
shift 2
source_folder=$(realpath "$(dirname "$0")/../..")
skip() {
  echo "SKIPPED: $1"
  exit 77
}
source "$source_folder/scripts/debian_kernel.sh"
fetch_debian_kernel "$cache"

# The machine's whole file system: busybox, the modules, the program with its libraries, and the topologies.
root=$(mktemp -d "$cache/root.XXXXXX")
chmod 755 "$root"
trap 'rm -rf "$root" "$root.cpio" "$root.log"' EXIT
copy() {
  mkdir -p "$root$(dirname "$1")"
  cp -Lr "$1" "$root$1"
}
make_first_root "$cache" "$root"
drop_privileges=$(command -v setpriv)
for file in "$program" "$drop_privileges"; do
  copy "$file"
  while read -r library; do copy "$library"; done < <(ldd "$file" | grep -o '/[^ ]*')
done
copy "$source_folder/topologies"
"$root/bin/busybox" --list | while read -r applet; do
  [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
printf -v command '%q ' "$program" "$@"
first_commands >"$root/init"
cat >>"$root/init" <<EOF
export PATH=/bin HOME=/tmp GTEST_COLOR=no ASAN_OPTIONS=detect_leaks=0
$drop_privileges --reuid 1000 --regid 1000 --clear-groups $command </dev/null 2>&1
echo "exit status in the machine: \$?"
busybox poweroff -f >/dev/null 2>&1
EOF
chmod +x "$root/init"
pack_first_root "$root"

# A kernel that panics ends the machine too (panic=-1, -no-reboot).
# The clock is the emulated one, not the CPU's own counter, which the emulator passes through.
# The CPU never sleeps (idle=poll): a sleeping one was seen to miss its timer and stall for minutes.
timeout 500 qemu-system-x86_64 -accel tcg -cpu max -smp 1 -m 1024 -nodefaults -no-reboot -display none \
  -serial stdio -kernel "$cache/vmlinuz" -initrd "$root.cpio" \
  -append "console=ttyS0 quiet panic=-1 idle=poll tsc=unstable clocksource=hpet" </dev/null 2>&1 | tr -d '\r' | tee "$root.log" || true
status=$(sed -n 's/^exit status in the machine: //p' "$root.log")
[ -n "$status" ] || { echo "the virtual machine ended before the program did"; exit 1; }
if grep -q '^\[  SKIPPED \]' "$root.log"; then
  echo "tests were skipped, although this kernel has every feature that they need"
  exit 1
fi
exit "$status"
