# SPDX-License-Identifier: Apache-2.0
"""A session's state of checkpoints: their contents other than the trained parameters, and whether
the program restarts from one.
"""

import weakref
from typing import Any, Dict, List

import torch

from stretto import _core, environment, errors, notices

_PATIENCE_S = 310.0  # The default operation timeout.


class Keeping:
    """The state of one session after another."""

    def __init__(self):
        self.attached: Dict[str, Any] = {}  # (object, each), by name.
        self._states: List[Any] = []  # Weak references.
        self.has_restored = False
        self.failures = 0  # In a row.
        self.pending: Any = None  # (step, ticket) of a checkpoint in progress.
        self._core = None  # The C++ worker's object, for this worker.
        self._worker = None

    def core(self, worker):
        """Its C++ object."""
        if self._worker is not worker:
            self._worker, self._core = worker, _core.Checkpoints(worker)
        return self._core

    def end_pending(self, limit=_PATIENCE_S):
        """Waits for the checkpoint in progress, and raises the reason if it was not written."""
        if self.pending is None:
            return
        _, ticket = self.pending
        self.pending = None
        ticket.wait(limit)

    def let_go(self):
        """Releases the C++ worker, which is about to be destroyed."""
        try:
            self.end_pending()
        except errors.Error as error:
            notices.warn(f"the last checkpoint was not made: {error}")
        self._worker = self._core = None

    @property
    def states(self):
        """The states of stretto.torch.elastic, in the order of their creation."""
        return [state for state in (each() for each in self._states) if state is not None]

    def note_state(self, state):
        """Includes the state in later checkpoints, during its lifetime."""
        self._states.append(weakref.ref(state))


def of(now):
    """The Keeping of the session."""
    if now.keeping is None:
        now.keeping = Keeping()
    return now.keeping


def core(now):
    """The C++ worker's checkpoints."""
    return of(now).core(now.worker())


def has_folder():
    """True if the job has a folder for checkpoints, as far as this process knows."""
    return bool(environment.text("STRETTO_CHECKPOINT"))


def state_of(one):
    """The saved state of an attachment: of a schedule of PyTorch without functions and references,
    which a new one creates itself."""
    state = one.state_dict()
    if isinstance(one, torch.optim.lr_scheduler._LRScheduler) and isinstance(state, dict):
        return {key: value for key, value in state.items()
                if not callable(value) and not isinstance(value, weakref.ref)}
    return state


def may_go_on():
    """True if the job has a folder for checkpoints, or restarts from one stored elsewhere."""
    return has_folder() or environment.text("STRETTO_RESUME") not in ("", "auto", "no")


def check_restored(now):
    """A step starts. InvalidArgument if the job restarts from a checkpoint, and the program does
    not: it would train from the start, and its checkpoints would replace the existing ones."""
    keeping = of(now)
    if keeping.has_restored:
        return
    if may_go_on() and not (now.alone or now.came_late or now.resumed):
        number = core(now).restored[0]
        if number:
            raise errors.InvalidArgument(
                f"the job goes on from checkpoint {number}, and this program has not called "
                "stretto.torch.restore() before its first step; to begin anew start it by "
                "stretto-launch --resume no", operation="step")
    keeping.has_restored = True
