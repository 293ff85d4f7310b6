# SPDX-License-Identifier: Apache-2.0
"""Workers that join a job that trains in a mode other than sync. Values are at the servers, where a
joining worker gets them; the optimizers' states differ between workers, and it gets that of one of
them.

All workers synchronise at a step boundary: faster workers wait there, once per join.
"""

import sys

from stretto.torch.core import broadcasting


class Optimizers:
    """The optimizers of a session that are not in mode sync."""

    def __init__(self, now):
        self._optimizers = [optimizer for optimizer in (each() for each in now.apart)
                            if optimizer is not None]

    def __bool__(self):
        return bool(self._optimizers)

    def __len__(self):
        return len(self._optimizers)

    def trained(self):
        """(name, parameter) of all parameters that they train."""
        return [(f"apart{index}/{name}", parameter)
                for index, each in enumerate(self._optimizers)
                for parameter, name in each._stretto_exchange.names.items()]

    @property
    def openings(self):
        """The common facts of how each optimizer's values were loaded into the servers."""
        return [each._stretto_exchange.opening for each in self._optimizers]

    def follow_others(self, openings):
        """Takes over the facts of the members."""
        for each, opening in zip(self._optimizers, openings):
            each._stretto_exchange.follow_others(opening)

    def givers(self, givers):
        """The giver among these seats: a single one, since states differ."""
        return givers[:1] if self else givers

    def described(self, tensors):
        """Their states, without their tensors, which are added to the list."""
        return [broadcasting.without_tensors(broadcasting.state_by_label(each), tensors)
                for each in self._optimizers]

    def load(self, states):
        """Loads these states."""
        for each, state in zip(self._optimizers, states):
            broadcasting.load_by_label(each, state)

    def take(self, states, giver):
        """Loads the states of the worker in seat `giver`, and reports that."""
        self.load(states)
        if self:
            kinds = ", ".join(dict.fromkeys(type(each).__name__ for each in self._optimizers))
            modes = ", ".join(dict.fromkeys(each._stretto_exchange.mode
                                            for each in self._optimizers))
            print(f"stretto: this worker has come into a job that trains in mode {modes}: it goes "
                  f"on from the servers' values, with the optimizer's state ({kinds}) of worker "
                  f"{giver}, since nobody keeps that of a lost one", file=sys.stderr, flush=True)
