# SPDX-License-Identifier: Apache-2.0
"""Keys of one rendezvous attempt. A store of torch.distributed may have keys of ranks that ended:
torchrun restarts ranks with the same store, and each of its agents counts restarts independently.
So rank 0 names the attempt, and sends the name in answer to a nonce of each rank.
"""

import datetime
import itertools
import json
import secrets
import time

import torch.distributed as dist

from stretto import errors

_KEY = "stretto attempt"
_LEAST_S = 0.001  # A store takes 0 as no limit.
_LONGEST_READ = datetime.timedelta(seconds=5)


def store_of_attempt(store, rank, size, limit, operation):
    """The store with a prefix known only to the ranks of this attempt. Rank 0 returns once all
    ranks have it, or raises RendezvousTimeout after `limit` seconds. The other ranks wait for rank
    0 as long as the store's own timeout."""
    name = _announce(store, size, limit, operation) if rank == 0 else _ask(store, rank, operation)
    return dist.PrefixStore(f"{_KEY} {name}", store)


def is_timeout(error):
    """True for a RuntimeError of a store whose wait timed out."""
    text = str(error).lower()
    return "timeout" in text or "timed out" in text


def told(store, key, rank, operation):
    """A rank's message to the others; the store waits for it up to its own timeout."""
    try:
        return store.get(key).decode()
    except RuntimeError as error:
        if not is_timeout(error):
            raise errors.Network(
                f"the store of torch.distributed failed while this rank waited for rank {rank}: "
                f"{error}", operation=operation) from error
        raise errors.RendezvousTimeout(
            f"rank {rank} has not come within {operation}'s timeout ({error})",
            operation=operation) from error


def await_readers(store, key, size):
    """Returns when the other ranks have called note_read(), or after some seconds. Rank 0 may serve
    the store, so it must not end before."""
    if size > 1:
        try:
            store.wait([f"{key} read by {rank}" for rank in range(1, size)], _LONGEST_READ)
        except RuntimeError:
            pass  # A rank that ended reads nothing.


def note_read(store, key, rank):
    """Tells rank 0 that this rank has read the key."""
    store.set(f"{key} read by {rank}", "yes")


def _ask(store, rank, operation):
    nonce = secrets.token_hex(16)
    _append(store, {"rank": rank, "nonce": nonce})
    name = told(store, f"{_KEY} for {nonce}", 0, operation)
    _append(store, {"rank": rank, "has": name})
    return name


def _append(store, entry):
    # Appends to a log that rank 0 reads from its start. A rank killed here leaves no gap in it.
    text = json.dumps(entry | {"by": secrets.token_hex(16)})
    number = store.add(f"{_KEY} entries", 0)  # At most the number of entries.
    while store.compare_set(f"{_KEY} entry {number}", "", text).decode() != text:
        number += 1
    store.set(f"{_KEY} entry {number}", text)  # compare_set() does not wake a rank that waits.
    store.add(f"{_KEY} entries", 1)


def _announce(store, size, limit, operation):
    # Answers each nonce, also those of ranks that ended.
    name = secrets.token_hex(16)
    deadline = time.monotonic() + limit
    missing = set(range(1, size))
    for number in itertools.count():
        if not missing:
            return name
        entry = _entry(store, number, deadline)
        if entry is None:
            names = ", ".join(map(str, sorted(missing)))
            raise errors.RendezvousTimeout(
                (f"ranks {names} have" if len(missing) > 1 else f"rank {names} has")
                + f" not come within {limit:g} s", operation=operation)
        if "nonce" in entry:
            store.set(f"{_KEY} for {entry['nonce']}", name)
        elif entry["has"] == name:
            missing.discard(entry["rank"])


def _entry(store, number, deadline):
    # None: it does not come in time.
    key = f"{_KEY} entry {number}"
    left = max(deadline - time.monotonic(), _LEAST_S)
    try:
        store.wait([key], datetime.timedelta(seconds=left))
    except RuntimeError as error:
        if not is_timeout(error):
            raise
        return None
    return json.loads(store.get(key))
