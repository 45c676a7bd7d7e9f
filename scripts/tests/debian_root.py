# SPDX-License-Identifier: Apache-2.0
"""Debian systems made with debootstrap in folders, and commands inside them, for tests."""

import os
import shutil
import subprocess

MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
# The kernel refuses user namespaces to processes in a chroot, so the root is exchanged as a container's is. All mounts
# end with the command.
ENTER = """set -e
mount --rbind "$0" "$0"
cd "$0"
mount -t proc proc proc
mount --rbind /dev dev
mount --rbind /sys sys
mkdir -p old
pivot_root . old
umount -l /old
cd "$1"
shift
exec "$@"
"""
USER = 1000


class CannotMake(Exception):
    """This machine can make no such system; the message says why."""


def lacks(place, free_bytes):
    """Returns why no system can be made in the folder `place`, or None."""
    if os.geteuid() != 0:
        return "debootstrap and changes of root need root"
    if shutil.which("debootstrap") is None:
        return "debootstrap is not installed (scripts/setup.sh full)"
    if shutil.disk_usage(place).free < free_bytes:
        return f"less than {free_bytes / 1e9:.0f} GB are free in {place}"
    return None


def make(root, release):
    """Makes the smallest system of a release, such as "bookworm". Raises CannotMake."""
    made = subprocess.run(["debootstrap", "--variant=minbase", release, root, MIRROR], capture_output=True, text=True)
    if made.returncode != 0:
        raise CannotMake(f"debootstrap cannot make {release} from {MIRROR}: {made.stdout[-1000:]}{made.stderr[-1000:]}")


class DebianRoot:
    def __init__(self, root, release):
        self.root = root
        make(root, release)
        self.check("useradd", "--uid", str(USER), "--create-home", "thinpipe")

    def run(self, *command, user=0, folder="/", mounts=()):
        """Runs a command as this user. `mounts`: (folder of this machine, folder inside) each. Returns its status and output."""
        enter = ENTER
        for outside, inside in mounts:
            (self.root / inside.lstrip("/")).mkdir(parents=True, exist_ok=True)
            enter = enter.replace("mkdir -p old", f"mount --rbind '{outside}' '.{inside}'\nmkdir -p old")
        home = "/root" if user == 0 else "/home/thinpipe"
        environment = ["env", "-i", "PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin", f"HOME={home}", "LC_ALL=C.UTF-8",
                       "DEBIAN_FRONTEND=noninteractive"]
        identity = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        words = ["unshare", "--mount", "--propagation", "private", "bash", "-c", enter, self.root, folder, *identity,
                 *environment, *command]
        ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return ended.returncode, ended.stdout

    def check(self, *command, **options):
        """Runs a command that must succeed, and returns its output."""
        status, output = self.run(*command, **options)
        if status != 0:
            raise RuntimeError(f"{' '.join(map(str, command))} ended with {status}:\n{output[-6000:]}")
        return output
