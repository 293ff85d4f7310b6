# SPDX-License-Identifier: Apache-2.0
"""Where processes of torch.distributed listen for each other: addresses of their hosts on the ways
between them.
"""

import socket

from stretto import environment, errors

_LOOPBACK = "127.0.0.1"
_PORT = 9  # Of no meaning: nothing is sent.


def meeting_point(store):
    """The host at which torch.distributed meets, as the program or its environment names it."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return getattr(store, "host", "") or environment.text("MASTER_ADDR", default=_LOOPBACK)


def own_address_towards(host):
    """This host's address on the way to another one, or to itself."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, _PORT))
            return probe.getsockname()[0]
    except OSError as error:
        raise errors.Unsupported(
            f"backend 'stretto' uses IPv4, and finds no IPv4 address for '{host}', where "
            f"torch.distributed meets ({error}): name that host by an IPv4 address, or by a name "
            "that has one", operation="init_process_group") from None


def is_loopback(address):
    """True for an address that only processes of its host can reach."""
    return address.startswith("127.")


def listening_address(own, others):
    """Where rank 0 listens, whose address on the way to the meeting point is `own`. That is
    loopback where /etc/hosts names the host so; then it is the address on the way to the first of
    `others`, which the other ranks give, that is on another host."""
    if not is_loopback(own):
        return own
    distant = next((other for other in others if not is_loopback(other)), own)
    return own_address_towards(distant)
