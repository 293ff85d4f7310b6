# SPDX-License-Identifier: Apache-2.0
"""The exceptions of Stretto. Each has the code used in the error lines of Stretto's processes, the
peer that caused it, the operation and the cause, so that programs can tell them apart.
"""


class Error(RuntimeError):
    """Base class. `code` is the code of the error line, such as "PeerLost". The text contains it
    only if the class does not: a traceback names the class."""

    code = "Error"

    def __init__(self, cause="", peer="", operation=""):
        super().__init__(cause)
        self.cause = cause
        self.peer = peer
        self.operation = operation

    def __str__(self):
        text = self.cause
        if self.operation:
            text = f"{self.operation}: {text}"
        if self.peer:
            text = f"{text} (peer: {self.peer})"
        return text if self.code == type(self).code else f"{self.code}: {text}"


class InvalidArgument(Error, ValueError):
    """The caller's value cannot be used; nothing was changed."""

    code = "InvalidArgument"


class Mismatch(Error, ValueError):
    """Two workers disagree on a tensor's size, type, mode or round."""

    code = "Mismatch"


class Diverged(Mismatch):
    """Workers that have made the same steps have different parameters; the text names them."""


class Timeout(Error):
    """A deadline passed; the outcome is unknown unless the text says so."""

    code = "Timeout"


class RendezvousTimeout(Timeout):
    """Not all members arrived in time; the text names the missing ones."""

    code = "RendezvousTimeout"


class Refused(Error):
    """Wrong token, protocol, world size, rank or incarnation."""

    code = "Refused"


class PeerLost(Error):
    """A worker crashed, stopped responding or left too early."""

    code = "PeerLost"


class ServerLost(PeerLost):
    """A server did so."""

    code = "ServerLost"


class SchedulerLost(PeerLost):
    """The scheduler did so."""

    code = "SchedulerLost"


class MembersChanged(PeerLost):
    """The job continues without a worker that this operation needed: roll back to the last commit,
    or retry. All workers get it."""

    code = "MembersChanged"


class NotFinite(Error):
    """A contribution had elements that are NaN or infinite (STRETTO_NONFINITE)."""

    code = "NotFinite"

    @property
    def is_rejected(self):
        """Only this contribution is missing: the round was completed from the others, and the
        result is theirs."""
        return self.cause.endswith("nothing of it was sent")


class LinkBroken(Error):
    """A connection ended."""

    code = "LinkBroken"


class Malformed(Error):
    """Invalid bytes from outside."""

    code = "Malformed"


class Unsupported(Error):
    """Not in this build, or not for this combination."""

    code = "Unsupported"


class Resource(Error):
    """Memory, descriptors or ports: the text names the required and the available amount."""

    code = "Resource"


class Cancelled(Error):
    """The job, or the object in use, ended first."""

    code = "Cancelled"


class Network(Error):
    """The operating system refused an address or a socket."""

    code = "Network"


class Interrupted(Error):
    """A signal asked this process to exit."""

    code = "Interrupted"


class UsedAfterFork(Error):
    """A child process used the worker of its parent."""

    code = "UsedAfterFork"

    def __init__(self, cause="this process was forked after the worker joined the job, and the "
                 "worker's threads and sockets are the parent's; call shutdown() and then "
                 "init() to join in the child, or start children by 'spawn'", peer="",
                 operation=""):
        super().__init__(cause, peer, operation)


_CLASSES = {kind.code: kind for kind in (
    InvalidArgument, Mismatch, Timeout, RendezvousTimeout, Refused, PeerLost, ServerLost,
    SchedulerLost, MembersChanged, NotFinite, LinkBroken, Malformed, Unsupported, Resource,
    Cancelled, Network, Interrupted)}


def of_status(code, cause, peer, operation):
    """The exception for a status of the C++ library."""
    error = _CLASSES.get(code, Error)(cause, peer, operation)
    error.code = code
    return error
