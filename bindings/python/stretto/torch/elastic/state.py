# SPDX-License-Identifier: Apache-2.0
"""The replicated state of training, other than code: State, ObjectState and TorchState, with
Horovod's names.

All exchanged values are agreed: at the end of commit(), check_host_updates() and sync() all members
know the same member list and the same progress of each one's samplers, and so the same step for a
redistribution.
"""

import copy
from typing import Any, Callable, List, Optional, Sequence

import torch

from stretto import leaving, session, unfinished
from stretto.torch.core import broadcasting, exchange, keeping
from stretto.torch.elastic import newcomers
from stretto.torch.elastic.errors import HostsUpdatedInterrupt
from stretto.torch.elastic.reader import ElasticReader
from stretto.torch.elastic.sampler import ElasticSampler


class State:
    """Base class: a derived class defines save, restore and sync.

    bcast_object, get_rank   accepted as in Horovod, and unused
    """

    def __init__(self, bcast_object: Optional[Callable[..., Any]] = None,
                 get_rank: Optional[Callable[[], int]] = None) -> None:
        del get_rank
        self._bcast_object = bcast_object or broadcasting.broadcast_object
        self._reset_callbacks: List[Callable[[], None]] = []
        self._session: Any = None
        self._label = ""
        self._scope: Any = None
        self._seats: Optional[List[int]] = None  # The members' seats, known to all.
        if session.is_initialized():
            session.current().has_state = True
            keeping.of(session.current()).note_state(self)
            leaving.watch()

    def register_reset_callbacks(self, callbacks: Sequence[Callable[[], None]]) -> None:
        """Registers callbacks for changes of the members, for values that depend on their number,
        such as a learning rate."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self) -> None:
        """The members have changed: calls reset(), and the callbacks."""
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def commit(self) -> None:
        """Saves, and checks for member changes: save() and check_host_updates()."""
        self.save()
        self.check_host_updates()

    def check_host_updates(self) -> None:
        """Raises HostsUpdatedInterrupt, at all workers, if the members have changed since their
        last check. In an elastic job it waits for all; in others it does nothing."""
        now = session.current()
        came = now.next_step()
        if came:
            self._meet(now, came)
            raise HostsUpdatedInterrupt()
        before = self._seats
        self.attend()
        leaving.leave_if_told(after_commit=True)
        if before is None or self._seats == before or not self._begins_anew(before):
            return
        raise HostsUpdatedInterrupt(skip_sync=set(self._seats or ()) <= set(before))

    @unfinished.whole("commit", always=True)
    def attend(self) -> None:
        """Determines the members with all others, and sets rank() and size() by them."""
        now = session.current()
        if not now.elastic:
            return
        self._follow(now)
        samplers = self._samplers()
        rows = exchange.attendance(f"Elastic.{self._label}",
                                   [sampler.processed_here for sampler in samplers])
        for index, sampler in enumerate(samplers):
            sampler.note({seat: row[index] for seat, row in rows.items()})
        before, self._seats = self._seats, now.in_order(rows)
        now.agree_on(self._seats)
        if before is not None and self._begins_anew(before):
            for sampler in samplers:
                sampler.divide(self._seats)

    def _follow(self, now):
        if self._session is now:
            return
        self._session, self._seats = now, None
        if self._scope is not None and now.came_late:
            now.keep_scope(self._scope)  # The job is the previous one.
        else:
            self._scope = now.new_scope("state")
        self._label = self._scope.prefix

    @unfinished.whole("commit", always=True)
    def _meet(self, now, came):
        # Workers join, or this one does: then all know the members and the processed samples.
        self._follow(now)
        samplers = self._samplers()
        met = newcomers.meet(now, came, [sampler.processed_here for sampler in samplers])
        now.agree_on(met.seats)
        self._seats = list(met.seats)
        for index, sampler in enumerate(samplers):
            if not met.is_new:
                sampler.note({seat: row[index] for seat, row in met.rows.items()})
            sampler.divide(self._seats)

    def _begins_anew(self, before):
        # Unless workers were lost, and their unprocessed samples are skipped.
        return self._seats != before and (self._redistributes()
                                          or not set(self._seats or ()) <= set(before))

    def _samplers(self):
        return []

    def _redistributes(self):
        return True

    def saved(self) -> Any:
        """The state for a checkpoint, except models and optimizers."""
        return None

    def load_saved(self, saved: Any) -> None:
        """Sets the state to that."""
        del saved

    def save(self) -> None:
        """Keeps a copy of the state in memory."""
        raise NotImplementedError

    def restore(self) -> None:
        """Sets the state to the last saved one."""
        raise NotImplementedError

    def sync(self) -> None:
        """Sets the state to that of rank 0, at all workers, and saves it."""
        raise NotImplementedError

    def reset(self) -> None:
        """Called after a change of the members, before the state is synchronized."""


def _copied(value):
    try:
        return copy.deepcopy(value)
    except (TypeError, RuntimeError, copy.Error):
        return value  # Such as an open file, or a tensor within autograd's graph.


class ObjectState(State):
    """Any values that can be broadcast, each of which becomes an attribute."""

    def __init__(self, bcast_object: Optional[Callable[..., Any]] = None,
                 get_rank: Optional[Callable[[], int]] = None, **kwargs: Any) -> None:
        super().__init__(bcast_object, get_rank)
        self._names = list(kwargs)
        for name, value in kwargs.items():
            setattr(self, name, value)
        self._saved: dict = {}
        ObjectState.save(self)

    def save(self) -> None:
        self._saved = {name: _copied(getattr(self, name)) for name in self._names}

    def saved(self) -> Any:
        return {"values": {name: getattr(self, name) for name in self._names}}

    def load_saved(self, saved: Any) -> None:
        for name, value in saved["values"].items():
            if name in self._names:
                setattr(self, name, value)
        ObjectState.save(self)

    def restore(self) -> None:
        for name, value in self._saved.items():
            setattr(self, name, _copied(value))

    def sync(self) -> None:
        now = session.current()
        if now.is_new:
            self._meet(now, now.come_in())
        self.attend()
        if self._names:
            found = self._bcast_object({name: getattr(self, name) for name in self._names})
            for name, value in found.items():
                setattr(self, name, value)
        self._sync_attached(now)
        ObjectState.save(self)

    def _sync_attached(self, now):
        # The program's attachments to checkpoints, except the per-worker ones.
        attached = {name: one for name, (one, each) in keeping.of(now).attached.items() if not each}
        if not attached:
            return
        found = self._bcast_object({name: keeping.state_of(one) for name, one in attached.items()}
                                   if now.rank == 0 else None)
        for name, one in attached.items():
            if now.rank != 0:
                one.load_state_dict(found[name])


class _Model:
    def __init__(self, module):
        self.value = module
        self.save()

    def save(self):
        """A copy."""
        self._saved = copy.deepcopy(self.value.state_dict())

    def restore(self):
        """From the copy."""
        self.value.load_state_dict(self._saved)

    def sync(self, label):
        """As rank 0 has it."""
        broadcasting.broadcast_parameters(broadcasting.tensors_in(self.value.state_dict()), 0,
                                          f"Elastic.{label}.")


class _Optimizer(_Model):
    def restore(self):
        # Some versions of PyTorch keep using the loaded object.
        self.value.load_state_dict(copy.deepcopy(self._saved))

    def sync(self, label):
        broadcasting.broadcast_optimizer_state(self.value, 0, f"Elastic.{label}.")
        exchanged = getattr(self.value, "_stretto_exchange", None)
        if hasattr(exchanged, "layouts"):
            layouts = broadcasting.broadcast_object(exchanged.layouts, name=f"Elastic.{label}")
            if session.current().came_late:
                exchanged.follow_others(layouts)


class _Sampler(_Model):
    def save(self):
        self._saved = self.value.snapshot()

    def restore(self):
        self.value.back_to(self._saved)

    def sync(self, label):
        del label
        self.value.load_state_dict(broadcasting.broadcast_object(self.value.state_dict(),
                                                                 name="Elastic.sampler"))


_KINDS = ((torch.nn.Module, _Model), (torch.optim.Optimizer, _Optimizer),
          (ElasticSampler, _Sampler), (ElasticReader, _Sampler))


def _handler_of(value):
    return next((kind(value) for known, kind in _KINDS if isinstance(value, known)), None)


class TorchState(ObjectState):
    """A model, an optimizer, samplers (several of each under chosen names), and any values that can
    be broadcast. Each becomes an attribute."""

    def __init__(self, model: Optional[torch.nn.Module] = None,
                 optimizer: Optional[torch.optim.Optimizer] = None, **kwargs: Any) -> None:
        values = {**kwargs, "model": model, "optimizer": optimizer}
        handlers = {name: _handler_of(value) for name, value in values.items()}
        self._handlers = {name: handler for name, handler in handlers.items()
                          if handler is not None}
        for name, handler in self._handlers.items():
            object.__setattr__(self, name, handler.value)
        super().__init__(**{name: value for name, value in values.items()
                            if name not in self._handlers and (value is not None
                                                               or name in kwargs)})

    def save(self) -> None:
        for handler in self._handlers.values():
            handler.save()
        super().save()

    def restore(self) -> None:
        for handler in self._handlers.values():
            handler.restore()
        super().restore()

    def sync(self) -> None:
        super().sync()
        for name, handler in self._handlers.items():
            handler.sync(f"{self._label}{name}")
            handler.save()

    def saved(self) -> Any:
        # Models and optimizers are saved as tensors, where they are wrapped.
        return {**super().saved(), "samplers": {
            name: handler.value.state_dict() for name, handler in self._handlers.items()
            if isinstance(handler, _Sampler)}}

    def load_saved(self, saved: Any) -> None:
        for name, state in saved["samplers"].items():
            if isinstance(self._handlers.get(name), _Sampler):
                self._handlers[name].value.load_state_dict(state)
        for handler in self._handlers.values():
            handler.save()
        super().load_saved(saved)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name != "_handlers" and name in self.__dict__.get("_handlers", ()):
            self._handlers[name].value = value
            self._handlers[name].save()

    def _of_kind(self, kind):
        return [handler.value for handler in self._handlers.values()
                if isinstance(handler.value, kind)]

    def _samplers(self):
        return self._of_kind((ElasticSampler, ElasticReader))

    def _redistributes(self):
        return all(getattr(optimizer, "_stretto_on_loss", None) != "shrink"
                   for optimizer in self._of_kind(torch.optim.Optimizer))
