# SPDX-License-Identifier: Apache-2.0
"""What a session knows of checkpoints: what is in them besides what is trained, and whether the
program goes on from one.
"""

import weakref
from typing import Any, Dict, List

import torch

from stretto import _core, environment, errors, notices

_PATIENCE_S = 310.0  # As operations have.


class Keeping:
    """Of one session after the other."""

    def __init__(self):
        self.attached: Dict[str, Any] = {}  # (object, each), by name.
        self._states: List[Any] = []  # Weakly.
        self.has_restored = False
        self.failures = 0  # In a row.
        self.pending: Any = None  # (step, ticket) of one that was begun.
        self._core = None  # The C++ worker's, of this worker.
        self._worker = None

    def core(self, worker):
        """Its checkpoints, in C++."""
        if self._worker is not worker:
            self._worker, self._core = worker, _core.Checkpoints(worker)
        return self._core

    def end_pending(self, limit=_PATIENCE_S):
        """Waits for one that was begun, and raises why it was not written."""
        if self.pending is None:
            return
        _, ticket = self.pending
        self.pending = None
        ticket.wait(limit)

    def let_go(self):
        """Of the C++ worker, which is about to go."""
        try:
            self.end_pending()
        except errors.Error as error:
            notices.warn(f"the last checkpoint was not made: {error}")
        self._worker = self._core = None

    @property
    def states(self):
        """Those of stretto.torch.elastic, in the order in which they were made."""
        return [state for state in (each() for each in self._states) if state is not None]

    def note_state(self, state):
        """It is in the checkpoints to come, as long as it lives."""
        self._states.append(weakref.ref(state))


def of(now):
    """That of the session."""
    if now.keeping is None:
        now.keeping = Keeping()
    return now.keeping


def core(now):
    """The C++ worker's checkpoints."""
    return of(now).core(now.worker())


def has_folder():
    """The job has a folder for checkpoints, as far as this process knows."""
    return bool(environment.text("STRETTO_CHECKPOINT"))


def state_of(one):
    """What is saved of what is attached: of a schedule of PyTorch's without functions and
    references, which a new one has of its own."""
    state = one.state_dict()
    if isinstance(one, torch.optim.lr_scheduler._LRScheduler) and isinstance(state, dict):
        return {key: value for key, value in state.items()
                if not callable(value) and not isinstance(value, weakref.ref)}
    return state


def may_go_on():
    """The job has a folder for checkpoints, or goes on from one that lies elsewhere."""
    return has_folder() or environment.text("STRETTO_RESUME") not in ("", "auto", "no")


def check_restored(now):
    """A step begins. InvalidArgument if the job goes on from a checkpoint, and the program does
    not: it would begin anew, and its checkpoints would take the place of what there is."""
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
