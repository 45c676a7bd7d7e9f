#!/usr/bin/env bash
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
modules=(sch_tbf sch_netem sch_htb cls_bpf veth bridge stp llc)

skip() {
  echo "SKIPPED: $1"
  exit 77
}

needed() { command -v "$1" >/dev/null || skip "$1 is not installed (apt-get install $2)"; }

[ "$(uname -m)" = x86_64 ] || skip "only written for x86_64, and this machine is $(uname -m)"
needed qemu-system-x86_64 qemu-system-x86
needed busybox busybox-static
needed dpkg-deb dpkg
needed setpriv util-linux

# Keeps only the kernel and the listed modules. `modules` is created last, so that a cache that has it is
# complete.
fetch_kernel() {
  local folder package
  package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
  [ -n "$package" ] || skip "apt does not know linux-image-amd64 (apt-get update)"
  folder=$(mktemp -d "$cache/fetch.XXXXXX")
  (cd "$folder" && apt-get -q download "$package") || { rm -rf "$folder"; skip "cannot download $package"; }
  local wanted=(--wildcards './boot/vmlinuz-*')
  for module in "${modules[@]}"; do wanted+=("*/$module.ko"); done
  dpkg-deb --fsys-tarfile "$folder"/*.deb | tar -x -C "$folder" "${wanted[@]}"
  mv "$folder"/boot/vmlinuz-* "$cache/vmlinuz"
  mv "$folder/lib/modules" "$cache/modules"
  rm -rf "$folder"
}
[ -d "$cache/modules" ] || fetch_kernel

# The machine's whole file system: busybox, the modules, the program with its libraries, and the topologies.
root=$(mktemp -d "$cache/root.XXXXXX")
chmod 755 "$root"
trap 'rm -rf "$root"' EXIT
copy() {
  mkdir -p "$root$(dirname "$1")"
  cp -Lr "$1" "$root$1"
}
mkdir -p "$root"/{bin,sbin,dev,proc,sys,tmp,lib/modules}
cp "$(command -v busybox)" "$root/bin/busybox"
"$root/bin/busybox" true || skip "busybox does not run by itself (apt-get install busybox-static)"
ln -s ../bin/busybox "$root/sbin/modprobe"
cp -r "$cache/modules/." "$root/lib/modules"
release=$(ls "$cache/modules")
busybox depmod -b "$root" "$release"
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
cat >"$root/init" <<EOF
#!/bin/busybox sh
busybox mount -t devtmpfs dev /dev
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mkdir -p /dev/shm
busybox chmod 1777 /tmp
for module in ${modules[*]}; do busybox modprobe \$module || echo "cannot load \$module"; done
export PATH=/bin HOME=/tmp GTEST_COLOR=no ASAN_OPTIONS=detect_leaks=0
$drop_privileges --reuid 1000 --regid 1000 --clear-groups $command </dev/null 2>&1
echo "exit status in the machine: \$?"
busybox poweroff -f >/dev/null 2>&1
EOF
chmod +x "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$root.cpio"
trap 'rm -rf "$root" "$root.cpio" "$root.log"' EXIT

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
