# SPDX-License-Identifier: Apache-2.0
"""Where processes of torch.distributed listen for each other: addresses of their hosts on the ways
between them.
"""

import socket

from stretto import environment, errors

_LOOPBACK = "127.0.0.1"
_LOOPBACK_IPV6 = "::1"
_PORT = 9  # Of no meaning: nothing is sent.


def meeting_point(store):
    """The host at which torch.distributed meets, as the program or its environment names it."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return getattr(store, "host", "") or environment.text("MASTER_ADDR", default=_LOOPBACK)


def own_address_towards(host, operation="init_process_group"):
    """This host's address on the way to another one, or to itself."""
    try:
        found = socket.getaddrinfo(host, _PORT, type=socket.SOCK_DGRAM)
        # As Stretto's members do: a name that has addresses of both families means that of IPv4.
        family, kind, protocol, _, address = min(
            found, key=lambda one: one[0] != socket.AF_INET)
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)
            return probe.getsockname()[0]
    except OSError as error:
        raise errors.Unsupported(
            f"this rank finds no way to '{host}', where torch.distributed meets "
            f"({error}): name that host by an address that this host can reach",
            operation=operation) from None


def with_port(host, port):
    """`host:port`, with brackets around digits of IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_of(address):
    """The host of `host:port`, without brackets."""
    return address.rpartition(":")[0].strip("[]")


def is_loopback(address):
    """True for an address that only processes of its host can reach."""
    return address.startswith("127.") or address == _LOOPBACK_IPV6


def listening_address(own, others):
    """Where rank 0 listens, whose address on the way to the meeting point is `own`. That is
    loopback where /etc/hosts names the host so; then it is the address on the way to the first of
    `others`, which the other ranks give, that is on another host."""
    if not is_loopback(own):
        return own
    distant = next((other for other in others if not is_loopback(other)), own)
    return own_address_towards(distant)
