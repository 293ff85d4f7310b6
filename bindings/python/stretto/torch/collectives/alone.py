# SPDX-License-Identifier: Apache-2.0
"""A group of one: every call ends immediately, and is at most a copy. It has the calls of
_core.Group."""

import ctypes

from stretto import done, errors


def _copied(source, target):
    if source[0] != target[0] and source[1]:
        ctypes.memmove(target[0], source[0], source[1])
    return done.Done()


class Alone:
    """Thread: any."""

    rank = 0
    size = 1
    ranks = (0,)

    def barrier(self, priority):
        """Ends immediately."""
        del priority
        return done.Done()

    def all_reduce(self, dtype, source, target, op, priority, owner):
        """A reduction of one value is that value."""
        del dtype, op, priority, owner
        return _copied(source, target)

    def reduce(self, dtype, source, target, root, op, priority, owner):
        """As all_reduce()."""
        del dtype, root, op, priority, owner
        return _copied(source, target)

    def reduce_scatter(self, dtype, source, target, op, priority, owner):
        """As all_reduce()."""
        del dtype, op, priority, owner
        return _copied(source, target)

    def broadcast(self, data, root, priority, owner):
        """Ends immediately."""
        del data, root, priority, owner
        return done.Done()

    def all_gather(self, source, target, priority, owner):
        """A copy."""
        del priority, owner
        return _copied(source, target)

    def gather(self, source, target, root, priority, owner):
        """A copy."""
        del root, priority, owner
        return _copied(source, target)

    def scatter(self, source, target, root, priority, owner):
        """A copy."""
        del root, priority, owner
        return _copied(source, target)

    def all_to_all(self, source, target, give, take, priority, owner):
        """A copy."""
        del give, take, priority, owner
        return _copied(source, target)

    def send(self, source, to, tag, priority, owner):
        """Fails: there is no peer to send to,"""
        del source, to, tag, priority, owner
        raise errors.InvalidArgument("a group of one has nobody to send to, or to receive from")

    def receive(self, target, from_, tag, priority, owner):
        """nor to receive from."""
        self.send(target, from_, tag, priority, owner)
