# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions. Each has the code that the error lines of Stretto's processes
have, the peer that caused it, the operation and the cause, so that programs can tell them apart.
"""


class Error(RuntimeError):
    """The base of all. `code` is the word of the error line, such as "PeerLost". The text has it
    only where the class does not: a traceback names the class."""

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
    """Workers that have made the same steps have other parameters; the text says who and which."""


class Timeout(Error):
    """A deadline passed; the outcome is unknown unless the text says so."""

    code = "Timeout"


class RendezvousTimeout(Timeout):
    """Not everybody came in time; the text names who is missing."""

    code = "RendezvousTimeout"


class Refused(Error):
    """Wrong token, protocol, world size, rank or incarnation."""

    code = "Refused"


class PeerLost(Error):
    """A worker crashed, fell silent or left too early."""

    code = "PeerLost"


class ServerLost(PeerLost):
    """A server did."""

    code = "ServerLost"


class SchedulerLost(PeerLost):
    """The scheduler did."""

    code = "SchedulerLost"


class MembersChanged(PeerLost):
    """The job goes on, but without a worker that this needed: go back to what was committed, or
    begin it again. All workers get it."""

    code = "MembersChanged"


class NotFinite(Error):
    """A contribution had elements that are NaN or infinite (STRETTO_NONFINITE)."""

    code = "NotFinite"

    @property
    def is_rejected(self):
        """Only this contribution is missing: the round was made of the others', and the result is
        theirs."""
        return self.cause.endswith("nothing of it was sent")


class LinkBroken(Error):
    """A connection ended."""

    code = "LinkBroken"


class Malformed(Error):
    """Bytes from outside that are not ours."""

    code = "Malformed"


class Unsupported(Error):
    """Not in this build, or not for this combination."""

    code = "Unsupported"


class Resource(Error):
    """Memory, descriptors or ports: the text says what is needed and what is there."""

    code = "Resource"


class Cancelled(Error):
    """The job, or the object that was used, ended first."""

    code = "Cancelled"


class Network(Error):
    """The operating system refused an address or a socket."""

    code = "Network"


class Interrupted(Error):
    """A signal asked this process to end."""

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
    """The exception that says what a status of the C++ library says."""
    error = _CLASSES.get(code, Error)(cause, peer, operation)
    error.code = code
    return error
