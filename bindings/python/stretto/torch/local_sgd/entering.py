# SPDX-License-Identifier: Apache-2.0
"""Workers that join an elastic job of local steps, at an outer round's end: the state that they get
from the members. The description comes immediately; the values and the outer momentum follow while
the others continue: only the joining worker waits for them, for it listens to that round's mean
without a contribution. States of inner optimizers differ between workers, and start fresh.
"""

from stretto import errors
from stretto.torch.core import agreement
from stretto.torch.elastic import healing, newcomers, stripes

_KINDS = (bool, int, float, str, type(None))


def check(now, rounds):
    """Unsupported if the program has other state that joining workers would need."""
    others = [each for each in (one() for one in (*now.optimizers, *now.modules, *now.apart))
              if each is not None and getattr(each, "_stretto_exchange", each) is not rounds]
    if others or now.has_state:
        what = "elastic.State" if now.has_state else "another wrapped optimizer or module"
        raise errors.Unsupported(
            f"LocalSteps in an elastic job gives newcomers what they need, and not what {what} "
            "has; use one LocalSteps alone, or a job of fixed size", operation="local steps")


def _options_of(optimizer):
    # The options of each group that can be sent, such as a rate.
    return [{key: value for key, value in group.items() if isinstance(value, _KINDS)}
            for group in optimizer.param_groups]


class _Given:
    # In the form of newcomers.meet().

    def __init__(self, rounds, is_end=False):
        self._rounds = rounds
        self._is_end = is_end
        self.seats = []  # The givers' seats.
        self.told = None

    def givers(self, givers):
        """All of them."""
        self.seats = givers
        return givers

    def described(self):
        """The part that is sent immediately: everything but tensors."""
        rounds = self._rounds
        told = {"facts": rounds.facts, "round": rounds.round, "steps": rounds.steps,
                "open": rounds.open, "made": rounds.made, "unit": rounds.unit,
                "is_end": self._is_end, "givers": self.seats, "options": _options_of(rounds.inner)}
        # The other keys are for programs that train differently, which detect it by them.
        return {"heals": None, "local": told, "tensors": {}, "optimizers": [], "apart": [],
                "plain": None, "modules": [], "openings": []}, []

    def templates(self, described):
        """No tensors. Mismatch if the others train a different model."""
        local = described.get("local")
        mine, theirs = self._rounds.facts, {} if local is None else local["facts"]
        if mine != theirs:
            raise errors.Mismatch(
                "this worker comes into a job that trains something else: "
                + ("it has no LocalSteps" if local is None
                   else agreement.difference(mine, theirs)), operation="join")
        return []

    def take(self, described, values, giver):
        """Sets the joining worker to the others' state."""
        del values, giver
        self.told = told = described["local"]
        rounds = self._rounds
        rounds.round, rounds.steps, rounds.open = told["round"], told["steps"], told["open"]
        rounds.made, rounds.unit = told["made"], told["unit"]
        for group, options in zip(rounds.inner.param_groups, told["options"]):
            group.update({key: value for key, value in options.items() if key in group})


class _Transfer:
    # Values and momenta in transfer to this worker.

    def __init__(self, stripes_):
        self._stripes = stripes_

    def fill(self, pieces):
        """Waits for them."""
        data = self._stripes.wait()
        if data is None:
            raise errors.PeerLost(
                "a worker that gave this one the model was lost meanwhile; start this one again "
                "(stretto-launch --restarts does)", operation="join")
        reader = healing.Reader(data)
        for piece in pieces:
            for each in piece.state():
                each.copy_(reader.tensor(str(each.dtype).removeprefix("torch."), list(each.shape)))


def _stripes(now, rounds, givers, wants):
    tensors = [] if wants else [healing.flat(each) for piece in rounds.pieces
                                for each in piece.state()]
    return stripes.Stripes(now, f"OuterState.{rounds.label}", rounds.pieces.bytes, givers,
                           tensors, wants)


def give(now, came, rounds, is_end):
    """Called by all members when `came` workers join. Returns the transfer of values to them, which
    continues in the background."""
    given = _Given(rounds, is_end)
    newcomers.meet(now, came, (), given)
    return _stripes(now, rounds, given.seats, wants=False)


def take(now, rounds):
    """Joins this worker. Returns the transfer of values to it, and whether finish() ends the round
    that it joins."""
    given = _Given(rounds)
    newcomers.meet(now, now.come_in(), (), given)
    return _Transfer(_stripes(now, rounds, given.told["givers"], wants=True)), given.told["is_end"]
