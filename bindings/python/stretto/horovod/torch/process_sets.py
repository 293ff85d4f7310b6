# SPDX-License-Identifier: Apache-2.0
"""Horovod's process sets: some of the workers, by rank. All workers add them, in the same order,
and the members of a set exchange among themselves.
"""

import collections.abc
import numbers
from typing import Dict, Optional

from stretto import errors, session, unfinished
from stretto.horovod.torch import handles
from stretto.torch.collectives import groups
from stretto.torch.core import agreement


class ProcessSet:
    """The workers of some ranks. Usable after init() or add_process_set() has added it;
    `process_set_id` is None before, and after remove_process_set()."""

    process_set_id: Optional[int] = None
    ranks = None
    mpi_comm = None
    _group = None

    def __init__(self, ranks_or_comm):
        if not isinstance(ranks_or_comm, collections.abc.Iterable):
            raise ValueError("ProcessSet should be initialized with a list of process ranks; there "
                             f"is no MPI in this, and {ranks_or_comm!r} is none")
        ranks = list(ranks_or_comm)
        if any(not isinstance(rank, numbers.Integral) for rank in ranks):
            raise ValueError("ProcessSet should be initialized with a list of process ranks, and "
                             f"{ranks} is none")
        self.ranks = sorted(map(int, ranks))

    def included(self):
        """True if this worker is in it."""
        return None if self.ranks is None else session.current().rank in self.ranks

    def rank(self):
        """This worker's rank within the set; None if the set cannot be used. ValueError for a
        worker outside it."""
        if self.process_set_id is None:
            return None
        if not self.included():
            raise ValueError("Process is not part of provided process set.")
        return self.ranks.index(session.current().rank)

    def size(self):
        """Workers in the set; None if the set cannot be used."""
        return None if self.process_set_id is None else len(self.ranks)

    def group(self):
        """The workers of the set as a group for collective calls; None for a worker outside the
        set."""
        return self._group

    def __str__(self):
        return (f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks}, "
                f"mpi_comm={self.mpi_comm})")


class _All(ProcessSet):
    """All current workers."""

    process_set_id = 0

    def __init__(self):
        super().__init__([])

    @property
    def ranks(self):
        """Every rank; none before init()."""
        return list(range(session.current().size)) if session.is_initialized() else []

    @ranks.setter
    def ranks(self, ranks):
        del ranks  # The current ranks.

    def included(self):
        """True."""
        return True

    def rank(self):
        """This worker's rank."""
        return session.current().rank

    def size(self):
        """Workers in the job."""
        return session.current().size

    def group(self):
        """All workers. Raises Unsupported in an elastic job. The first call waits for the
        others."""
        return groups.of_all()


global_process_set = _All()

_added: Dict[int, ProcessSet] = {}
_count = 0


def _check_type(process_set):
    if not isinstance(process_set, ProcessSet):
        raise TypeError(f"process_set is {process_set!r}, wanted a ProcessSet")


def check_added(process_set, operation):
    """TypeError unless it is a ProcessSet, InvalidArgument unless it was added."""
    _check_type(process_set)
    if process_set.process_set_id is None:
        raise errors.InvalidArgument(
            f"{process_set} has not been added, or was removed; all workers call "
            "hvd.add_process_set() first", operation=operation)


def check(process_set, operation):
    """The same, and InvalidArgument if this worker is not in it."""
    if process_set is global_process_set:
        return
    check_added(process_set, operation)
    if not process_set.included():
        raise errors.InvalidArgument(
            f"worker {session.current().rank} is not in {process_set}, and only those call it",
            operation=operation)


def add_process_set(process_set):
    """Adds a ProcessSet, or the set of some ranks, and returns it. All workers call it with the
    same ranks, also those outside the set; Mismatch at all of them if not. ValueError for a set
    that exists already, or has no or unknown ranks; Unsupported in an elastic job."""
    global _count
    added = process_set if isinstance(process_set, ProcessSet) else ProcessSet(process_set)
    now = session.current()
    if now.elastic:
        raise errors.Unsupported(
            "process sets are for jobs of fixed size, and this one may lose workers and take "
            "others in; start it with --workers N", operation="add_process_set")
    ranks = groups.checked_ranks(added.ranks, now.size)
    if any(ranks == other.ranks for other in (global_process_set, *_added.values())):
        raise ValueError(f"Attempted to add a duplicate process set: {added}")
    _agree("add_process_set", ranks)
    if added.included():
        added._group = groups.Group(ranks)
    _count += 1
    added.process_set_id = _count
    _added[_count] = added
    return added


def remove_process_set(process_set):
    """Removes a set; all workers call it. Returns whether the set existed; the set of all workers
    stays. TypeError for a value other than a ProcessSet."""
    _check_type(process_set)
    if process_set.process_set_id is None or process_set is global_process_set:
        return False
    _agree("remove_process_set", process_set.ranks)
    handles.forget_set(process_set.process_set_id)
    _added.pop(process_set.process_set_id, None)
    process_set.process_set_id = process_set._group = None
    return True


@unfinished.whole("a process set", always=True)
def _agree(operation, ranks):
    agreement.Agreement(f"horovod.{operation}", "a process set", {"the ranks": str(ranks)},
                        operation).wait()


def forget():
    """Forgets the sets of a job that this worker leaves."""
    global _count
    for each in _added.values():
        each.process_set_id = each._group = None
    _added.clear()
    _count = 0
