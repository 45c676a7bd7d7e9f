# SPDX-License-Identifier: Apache-2.0
# Debian's own kernel, for features that this machine's kernel lacks; sourced by the scripts that boot it.
# The caller defines skip REASON, which ends the script.

# Of the network, of virtual machines' devices, and of their file systems.
debian_modules=(sch_tbf sch_netem sch_htb sch_codel sch_red cls_bpf tcp_dctcp inet_diag tcp_diag veth bridge stp llc
  virtio virtio_ring virtio_pci virtio_pci_legacy_dev virtio_pci_modern_dev fscache netfs 9pnet 9pnet_virtio 9p)

needed() { command -v "$1" >/dev/null || skip "$1 is not installed (apt-get install $2)"; }

# Downloads the kernel into the folder $1, unless it is there: vmlinuz, and modules/RELEASE with the modules above.
fetch_debian_kernel() {
  local cache=$1 folder package
  [ "$(uname -m)" = x86_64 ] || skip "only written for x86_64, and this machine is $(uname -m)"
  needed qemu-system-x86_64 qemu-system-x86
  needed busybox busybox-static
  needed dpkg-deb dpkg
  needed setpriv util-linux
  # The list is written last, so that a cache that has it is complete.
  [ "$(cat "$cache/modules.list" 2>/dev/null)" != "${debian_modules[*]}" ] || return 0
  package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
  [ -n "$package" ] || skip "apt does not know linux-image-amd64 (apt-get update)"
  folder=$(mktemp -d "$cache/fetch.XXXXXX")
  (cd "$folder" && apt-get -q download "$package") || { rm -rf "$folder"; skip "cannot download $package"; }
  local wanted=(--wildcards './boot/vmlinuz-*')
  for module in "${debian_modules[@]}"; do wanted+=("*/$module.ko"); done
  dpkg-deb --fsys-tarfile "$folder"/*.deb | tar -x -C "$folder" "${wanted[@]}"
  rm -rf "$cache/modules"
  mv "$folder"/boot/vmlinuz-* "$cache/vmlinuz"
  mv "$folder/lib/modules" "$cache/modules"
  rm -rf "$folder"
  echo "${debian_modules[*]}" >"$cache/modules.list"
}

# Fills the folder $2, the machine's first file system, with busybox and the modules of the cache $1.
make_first_root() {
  local cache=$1 root=$2
  mkdir -p "$root"/{bin,sbin,dev,proc,sys,tmp,lib/modules}
  cp "$(command -v busybox)" "$root/bin/busybox"
  "$root/bin/busybox" true || skip "busybox does not run by itself (apt-get install busybox-static)"
  ln -s ../bin/busybox "$root/sbin/modprobe"
  cp -r "$cache/modules/." "$root/lib/modules"
  busybox depmod -b "$root" "$(ls "$cache/modules")"
}

# The start of /init.
first_commands() {
  cat <<END
#!/bin/busybox sh
busybox mount -t devtmpfs dev /dev
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mkdir -p /dev/shm
busybox chmod 1777 /tmp
for module in ${debian_modules[*]}; do busybox modprobe \$module || echo "cannot load \$module"; done
END
}

# Packs the folder $1 as $1.cpio.
pack_first_root() { (cd "$1" && find . | busybox cpio -o -H newc 2>/dev/null) >"$1.cpio"; }
