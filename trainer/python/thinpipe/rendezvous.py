# SPDX-License-Identifier: Apache-2.0
"""How the processes of a script find each other for Thinpipe's own collectives."""
from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

import torch.distributed as dist


@dataclass(frozen=True)
class Peers:
    """This process among those of a group, as thinpipe-trainer's worker files describe it."""

    rank: int
    world_size: int
    address: str
    folder: str


def own_address() -> str:
    """Returns the IPv4 address from which this host reaches the others.

    It is that of the interface that GLOO_SOCKET_IFNAME names, otherwise the one on the way to MASTER_ADDR.
    """
    interface, master = os.environ.get("GLOO_SOCKET_IFNAME"), os.environ.get("MASTER_ADDR")
    if interface:
        return _address_of(interface)
    if not master:
        raise ValueError("ddp_hook cannot find this host's address, because neither GLOO_SOCKET_IFNAME nor MASTER_ADDR "
                         'is set; pass address="..."')
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((master, int(os.environ.get("MASTER_PORT", "29500"))))  # sends nothing
        return probe.getsockname()[0]


def _address_of(interface: str) -> str:
    get_address = 0x8915  # SIOCGIFADDR
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            answer = fcntl.ioctl(any_socket, get_address, struct.pack("256s", interface.encode()))
        except OSError as error:
            raise ValueError(f"GLOO_SOCKET_IFNAME is {interface}, which has no IPv4 address: {error}") from None
    return socket.inet_ntoa(answer[20:24])


@contextmanager
def meeting(group: dist.ProcessGroup, address: str | None, folder: str | None) -> Iterator[Peers]:
    """Yields the peers, while a folder exists that they share: a new one below `folder`, or below the temporary folder.

    Collective over `group`.
    """
    rank, ranks = dist.get_rank(group), dist.get_process_group_ranks(group)
    made, problem = _make_folder(folder) if rank == 0 else (None, None)
    try:
        from_rank_0: list[Any] = [made, problem]
        dist.broadcast_object_list(from_rank_0, ranks[0], group)
        shared, problem = from_rank_0
        if shared is None:
            raise ValueError(f"rank 0 cannot make a folder for the rendezvous: {problem}")
        seen: list[Any] = [None] * len(ranks)
        dist.all_gather_object(seen, Path(shared).is_dir(), group)
        if not all(seen):
            raise ValueError(f"rank {seen.index(False)} does not see the folder {shared} of rank 0; pass "
                             "rendezvous_directory, a folder that all hosts share")
        yield Peers(rank, len(ranks), address or own_address(), shared)
    finally:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)


def _make_folder(parent: str | None) -> tuple[str | None, str | None]:
    """Returns a new folder, or None and the reason."""
    try:
        return tempfile.mkdtemp(prefix="thinpipe-", dir=parent), None
    except OSError as error:
        return None, str(error)
