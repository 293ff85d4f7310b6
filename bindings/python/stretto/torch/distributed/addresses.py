# SPDX-License-Identifier: Apache-2.0
"""The addresses at which processes of torch.distributed listen for each other: addresses of their
hosts on the routes between them.
"""

import socket

from stretto import environment, errors

_LOOPBACK = "127.0.0.1"
_LOOPBACK_IPV6 = "::1"
_PORT = 9  # Any port: nothing is sent.


def meeting_point(store):
    """The rendezvous host of torch.distributed, as the program or its environment names it."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return getattr(store, "host", "") or environment.text("MASTER_ADDR", default=_LOOPBACK)


def own_address_towards(host, operation="init_process_group"):
    """This host's address on the route to another host, or to itself."""
    try:
        found = socket.getaddrinfo(host, _PORT, type=socket.SOCK_DGRAM)
        # Like Stretto's members: a name with addresses of both families means the IPv4 address.
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
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_of(address):
    """The host of `host:port`, without brackets."""
    return address.rpartition(":")[0].strip("[]")


def is_loopback(address):
    """True for an address that only processes of its host can reach."""
    return address.startswith("127.") or address == _LOOPBACK_IPV6


def listening_address(own, others):
    """The listening address of rank 0, whose address on the route to the rendezvous host is `own`.
    If /etc/hosts makes `own` loopback, rank 0 uses the address on the route to the first of
    `others`, the addresses of its peers, on another host."""
    if not is_loopback(own):
        return own
    distant = next((other for other in others if not is_loopback(other)), own)
    return own_address_towards(distant)
