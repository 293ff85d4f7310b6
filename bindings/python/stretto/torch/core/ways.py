# SPDX-License-Identifier: Apache-2.0
"""The backend of an exchange: servers, or the workers among themselves, and the limits of the
latter (docs/COLLECTIVES.md)."""

import torch

from stretto import closing, session
from stretto.torch.core import compression as compressions

EXCHANGES = ("servers", "direct", "ring", "halving", "tree", "hierarchical", "auto")
"""The ways that there are. By the first each part of a tensor has a server, by the others it goes
up a tree of workers, and its value down."""

_TYPES = (torch.float32, torch.float64)


def check(exchange):
    """Raises ValueError unless there is such a backend; None is the job's default."""
    if closing.is_one(exchange):
        _check_closing(exchange)
    elif exchange is not None:
        check_name(exchange, ", or a Quorum or Backups")


def check_name(exchange, more=""):
    """Raises ValueError unless there is a backend of this name."""
    if exchange not in EXCHANGES:
        raise ValueError(f"exchange is {exchange!r}, wanted one of {', '.join(EXCHANGES)}{more}")


def _check_closing(exchange):
    now = session.current()
    if now.elastic:
        raise ValueError(f"{exchange!r} is for jobs of fixed size; start this one with "
                         "--workers N, or name another exchange")
    if now.alone:
        return
    if isinstance(exchange, closing.Quorum) and exchange.workers > now.size:
        raise ValueError(f"{exchange!r} wants more workers than there are: this job has "
                         f"{now.size}")
    if isinstance(exchange, closing.Backups) and now.size % (exchange.spare + 1) != 0:
        raise ValueError(f"{exchange!r} wants a multiple of {exchange.spare + 1} workers, and this "
                         f"job has {now.size}")
    if torch.are_deterministic_algorithms_enabled():
        raise ValueError(f"{exchange!r} makes sums that depend on who is late, and "
                         "torch.use_deterministic_algorithms() is on")


def name_of(exchange):
    """The backend in a word or two, for messages and comparisons."""
    return str(exchange or session.current().place.usual_way)


def check_gradients(exchange, pairs, compression, mode="sync"):
    """Raises ValueError unless this backend can exchange these (name, parameter)'s gradients."""
    check(exchange)
    now = session.current()
    if (exchange or now.place.usual_way) == EXCHANGES[0]:
        if now.place.servers == 0:
            raise ValueError("exchange 'servers' wants some, and this job has none (--servers 0); "
                             "leave exchange= out, or start servers")
        return
    if closing.is_one(exchange) and mode != "sync":
        _refuse(exchange, f"mode 'sync', this is {mode!r}")
    if mode not in ("sync", "delayed"):
        _refuse(exchange, f"modes 'sync' and 'delayed'; mode {mode!r} has its values at the "
                "servers")
    if compression is not compressions.Compression.none:
        _refuse(exchange, "gradients as they are; compression= is for those that go to servers")
    if compressions.coded_from(compression) is not None:
        _refuse(exchange, "gradients as they are, and STRETTO_CODEC is set; unset it")
    for name, parameter in pairs:
        if parameter.dtype not in _TYPES:
            _refuse(exchange, "means of float32 and float64, and parameter "
                    f"'{name}' is {str(parameter.dtype).removeprefix('torch.')}")


def _refuse(exchange, why):
    if exchange is None:
        way = session.current().place.usual_way
        raise ValueError("this job has no servers (--servers 0), so gradients go by exchange "
                         f"{way!r}, which is for {why}; or start servers")
    raise ValueError(f"exchange {name_of(exchange)!r} is for {why}; or use exchange='servers'")
