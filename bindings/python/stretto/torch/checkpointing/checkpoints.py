# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a program: the state of wrapped optimizers and modules, broadcast tensors, states
of stretto.torch.elastic, and the program's attachments, in a consistent cut with the servers'
state. Each worker writes a stripe of the replicated state. A checkpoint is named tensors, and one
description of them, which is no pickle.
"""

import operator
import random
import re
from typing import Any, Dict, Mapping, NamedTuple, Optional

import numpy
import torch

from stretto import errors, notices, returning, session, unfinished
from stretto.torch.checkpointing import foreign
from stretto.torch.core import agreement, broadcasting, keeping, objects, wire
from stretto.torch.elastic import healing, newcomers, owners

_DESCRIPTION = "stretto.torch"
_PREFIX = "attached/"
_STATE = "state "
_MOST_FAILURES = 3  # In a row; the last one raises.
_MOST_NAME = 1000
_MADE_ALIKE = "tensors/"  # Tensors described by newcomers.Training.
_SHORTER = tuple((re.compile(pattern), shorter) for pattern, shorter in (
    (r"^tensors/(trained (apart)?0/|trained module1/|model 0/|Parameter\.(module1/)?)", ""),
    ("^tensors/trained (apart|module)?([0-9]+)/(optimizer[0-9]+/)?", r"model\2/"),
    ("^tensors/model ([0-9]+)/", r"model\1/"),
    ("^tensors/", ""),
    ("^apart/0/outer/", "outer/"),
    ("^apart/([0-9]+)/outer/", r"outer\1/"),
    ("^(optimizers|plain/states|apart)/0/(state/)?state/(optimizer[0-9]+/|module1/)?",
     "optimizer/"),
    ("^(optimizers|plain/states|apart)/([0-9]+)/(state/)?state/(optimizer[0-9]+/|module[0-9]+/)?",
     r"optimizer\2/")))
_SCOPE = re.compile("^(optimizer|module)[0-9]+/")
_IS_OUTER = re.compile("apart/[0-9]+/outer/")
# Errors of the program or the job, and not of a disk.
_RAISED = (errors.Mismatch, errors.Cancelled, errors.ServerLost, errors.SchedulerLost,
           errors.UsedAfterFork)


class Restored(NamedTuple):
    """The checkpoint that a job restarts from; false if it started fresh."""

    number: int  # In its folder.
    step: int  # The argument of checkpoint().

    def __bool__(self) -> bool:
        return self.number != 0


class RandomStates:
    """The random states of Python, NumPy and PyTorch in this process, to attach:
    `st.attach("random", st.RandomStates())`."""

    _stretto_of_each = True

    def state_dict(self) -> Dict[str, Any]:
        """The current states."""
        return {"python": random.getstate(), "numpy": numpy.random.get_state(),
                "torch": torch.get_rng_state(),
                "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores the states. States of GPUs that are absent here are skipped."""
        random.setstate(state["python"])
        numpy.random.set_state(state["numpy"])
        torch.set_rng_state(state["torch"])
        for index, each in enumerate(state["cuda"][:torch.cuda.device_count()]):
            torch.cuda.set_rng_state(each, index)


class _Given:
    # Attachments, in the form that the C++ worker takes, and their memory.

    def __init__(self):
        self.tuples = []
        self._memory = []

    def add(self, name, tensor, held, dtype=None, shape=""):
        """Adds the tensor's own memory, or a copy on the CPU."""
        flat = healing.flat(tensor).to("cpu")
        self._memory.append(flat)
        self.tuples.append((name, *wire.place_of(flat), held, dtype, shape))

    def add_object(self, name, value, held):
        """Adds an encoded object. TypeError for a value that cannot be encoded."""
        self.add(name, torch.frombuffer(bytearray(_encoded(name, value)), dtype=torch.uint8), held)


def _encoded(name, value):
    try:
        return objects.encode(value)
    except TypeError as error:
        words = str(error).split(". Broadcast what")[0].replace("be broadcast", "be saved")
        raise TypeError(f"what is attached as '{name.removeprefix(_PREFIX)}' cannot be saved: "
                        f"{words}. Nothing is pickled: attach what it is made of") from error


def _name_of(path):
    # The name of the tensor there in a checkpoint: a parameter as in a state_dict().
    for pattern, shorter in _SHORTER:
        path = pattern.sub(shorter, path)
    return path


def _names(paths):
    names = []
    taken = {_DESCRIPTION}
    for index, path in enumerate(paths):
        fits = [name for name in (_name_of(path), path, f"#{index}")
                if name not in taken and 0 < len(name.encode()) <= _MOST_NAME
                and not name.startswith((_PREFIX, _STATE))]
        taken.add(fits[0])
        names.append(fits[0])
    return names


def _held(path, frozen):
    # The workers that hold the tensor there.
    if path.startswith("apart/"):  # Outer values are equal everywhere after finish().
        return "alike" if _IS_OUTER.match(path) else "each"
    if not path.startswith(_MADE_ALIKE):
        return "alike"
    key = path.removeprefix(_MADE_ALIKE)
    return "alike" if newcomers.is_trained(key) or key in frozen else "first"


def _besides(now):
    # (key, tensor) of the models' tensors other than trained parameters.
    exchanges = [*(each._stretto_exchange for each in _wrapped(now)),
                 *(each for each in (one() for one in now.modules) if each is not None)]
    return [(f"model {index}/{name}", tensor) for index, each in enumerate(exchanges)
            for name, tensor in owners.tensors_besides(each)]


def _facts(now):
    # Facts that must match for each optimizer: its kind, and the members of its groups.
    return [[type(each._stretto_original).__name__,
             sorted(sorted(group["params"])
                    for group in broadcasting.state_by_label(each)["param_groups"])]
            for each in _wrapped(now)]


def _gather(now, given):
    # The trained parameters and broadcast tensors. The state of optimizers in other modes differs.
    besides = _besides(now)
    training = newcomers.Training(now, may_heal=False, besides=_detached(besides))
    described, tensors = training.described()
    _tell_lacking(described)
    if not (tensors or _wrapped(now) or keeping.of(now).attached or keeping.of(now).states):
        raise errors.InvalidArgument(
            "there is nothing to save: no optimizer or module is wrapped, nothing was broadcast, "
            "and nothing is attached", operation="checkpoint")
    frozen = {key for key, tensor in besides if isinstance(tensor, torch.nn.Parameter)}
    paths = broadcasting.paths_of(described) + [_MADE_ALIKE + key for key in training.empty]
    names = _names(paths)
    for name, path, tensor in zip(names, paths, [*tensors, *training.empty.values()]):
        kind = wire.NAMES.get(tensor.dtype)
        shape = "x".join(map(str, tensor.shape)) if kind and tensor.dim() > 1 else ""
        given.add(name, tensor, _held(path, frozen), kind, shape)
    given.add_object(_DESCRIPTION, {"format": 1, "told": described, "names": names,
                                    "optimizers": _facts(now)},
                     "each" if described["apart"] else "first")


def _detached(pairs):
    return [(key, tensor.detach()) for key, tensor in pairs]


def _tell_lacking(described):
    lacking = [] if described["plain"] is None else described["plain"]["lacking"]
    if lacking:
        notices.warn("this program's checkpoints lack " + "; ".join(lacking) + ": attach() it")


def _wrapped(now):
    return [each for each in (one() for one in (*now.optimizers, *now.apart)) if each is not None]


def _warn_of_twins(kind, wrapped):
    # Several of one (type, exchange) are told apart only by the order of wrapping.
    trained = [(name, {(_SCOPE.sub("", label), agreement.fact_of(parameter))
                       for parameter, label in exchange.names.items()})
               for name, exchange in wrapped]
    twin = next((at for at, each in enumerate(trained) if each in trained[:at]), None)
    if twin is not None:
        notices.warn(
            f"the wrapped {kind}s {trained.index(trained[twin]) + 1} and {twin + 1} have "
            "parameters of equal names and shapes: a checkpoint tells them apart by the order in "
            "which the program wraps them. Keep that order, or give names that differ, as in "
            "named_parameters=[('first.' + name, p) for name, p in model.named_parameters()]")


def _check(now, operation):
    foreign.find(now, operation)
    modules = [each for each in (one() for one in now.modules) if each is not None]
    _warn_of_twins("optimizer", [(type(each).__name__, each._stretto_exchange)
                                 for each in _wrapped(now)])
    _warn_of_twins("module", [("", each) for each in modules])
    if now.resumed and not _wrapped(now) and not modules:
        raise errors.Unsupported(
            "this process has resumed in another job, where nothing has been wrapped; wrap its "
            "optimizers and modules again, or save them by torch.save", operation=operation)


def checkpoint(step: int, wait: bool = True) -> bool:
    """Saves the current state of this job: the parameters and states of wrapped optimizers and
    modules, tensors that were broadcast (such as buffers: those of rank 0), states of
    stretto.torch.elastic, attachments, and the servers' state. All workers call it between the same
    steps, with the same `step`, from which the program resumes later. It returns when the
    checkpoint is complete in the job's folder (stretto-launch --checkpoint DIR) and on its device.

    Returns False, at all workers and with a warning, if it could not be written: training can
    continue, and earlier checkpoints are unchanged. The third failure in a row raises. Also False,
    with one warning, in a job without a folder. Mismatch if workers are at different steps.
    TypeError if a state holds objects that cannot be saved: nothing is pickled. It calls finish()
    of each wrapped optimizer.

    wait   False: it returns once this worker's data is copied, and writes in the background. True,
           if that has started; the next call, or the end, reports the result
    """
    now = session.current()
    number = _step_of(step)
    return _without_folder() if now.alone else _saved(now, number, wait)


def checkpoint_if_due(step: int) -> bool:
    """checkpoint(step), if one is due by the clock: the interval of stretto-launch
    --checkpoint-every (60 s without) after the start of the last one. All workers call it after
    each step, with the same, increasing steps, at the cost of a microsecond. It does not wait for
    the write. True, at all workers alike, if one was started."""
    now = session.current()
    number = _step_of(step)
    if now.alone or not keeping.core(now).due(number):
        return False
    return _saved(now, number, wait=False)


def _step_of(step):
    try:
        number = operator.index(step)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 63:
        raise ValueError(f"step is {step!r}, wanted a whole number from 0")
    return number


def _without_folder():
    notices.warn("no checkpoint is made: this job has no folder for them; start it by "
                 "stretto-launch --checkpoint DIR")
    return False


@unfinished.whole("checkpoint", always=True)
def _saved(now, step, wait):
    keeping.check_restored(now)
    _check(now, "checkpoint")
    kept = keeping.of(now)
    if kept.pending is not None:
        _outcome(kept, kept.pending[0], kept.end_pending)
    given = _Given()
    if keeping.has_folder():
        try:
            for each in _wrapped(now):
                each.finish()
        except errors.Error as error:
            if not returning.between_steps(error):
                raise
            returning.come_again(error)
        if session.current() is not now:
            return False  # This worker was lost, and has rejoined.
        _gather(now, given)
        for index, state in enumerate(kept.states):
            given.add_object(f"{_STATE}{index}", state.saved(), "first")
        for name, (one, each) in kept.attached.items():
            given.add_object(_PREFIX + name, keeping.state_of(one), "each" if each else "first")
    else:  # If the others have one, this worker's part fails, and all are told.
        given.add_object(_DESCRIPTION, {}, "each")
    with now.pause("checkpoint"):
        return _outcome(kept, step, lambda: _written(now, step, given, wait))


def _written(now, step, given, wait):
    core = keeping.core(now)
    if wait:
        core.save(step, given.tuples)
        return
    ticket = core.begin(step, given.tuples)
    if ticket.done():
        ticket.wait()  # It has failed, most likely.
    else:
        keeping.of(now).pending = (step, ticket)


def _outcome(kept, step, call):
    # True if the call raised nothing, else the error after which the program can continue.
    try:
        call()
    except errors.Unsupported:  # The job has no folder.
        return _without_folder()
    except _RAISED:
        raise
    except errors.Error as error:
        kept.failures += 1
        if kept.failures >= _MOST_FAILURES:
            raise
        notices.warn(f"no checkpoint of step {step} was made: {error}")
        return False
    if kept.pending is None:
        kept.failures = 0
    return True


def restored() -> Restored:
    """The checkpoint that this job restarts from: its number and step, both 0, and false, if the
    job started fresh."""
    now = session.current()
    return Restored(0, 0) if now.place.alone else Restored(*keeping.core(now).restored)


@unfinished.whole("restore", always=True)
def restore() -> int:
    """Restores this program from the checkpoint that its job restarts from, and returns the step of
    that; 0 if the job started fresh. All workers call it once, before the first step, when models
    and optimizers have been wrapped and broadcast. Attachments get their state back; states of
    stretto.torch.elastic too, before their sync().

    Mismatch if this program trains a different model than the saved one; InvalidArgument if it is
    called again, which would undo the steps since. A worker that joins a running job gets
    everything from the others, and nothing from here: its step has to be in a TorchState, or this
    is InvalidArgument in a job with checkpoints, and 0 in a job without."""
    now = session.current()
    kept = keeping.of(now)
    if kept.has_restored:
        raise errors.InvalidArgument(
            "restore() is called once, before the first step and before checkpoint(): what the "
            "job goes on from is older than what there is now", operation="restore")
    kept.has_restored = True
    for name, (one, _) in kept.attached.items():
        _encoded(_PREFIX + name, keeping.state_of(one))  # Now, and not after hours.
    found = restored()
    if now.came_late and not kept.states and (found or keeping.may_go_on()):
        raise errors.InvalidArgument(
            "this worker has come into a job that runs, and restore() cannot tell it at which step "
            "that is, so that it would make steps and checkpoints that others do not: keep the "
            "step in a state that all share, state = stretto.torch.elastic.TorchState(step=0), "
            "before restore(), then state.sync(), and count by state.step", operation="restore")
    if not found or now.came_late:
        return found.step
    _check(now, "restore")
    _Reading(now).all()
    return found.step


class _Reading:
    # From the checkpoint that the job restarts from.

    def __init__(self, now):
        self._now = now
        self._core = keeping.core(now)
        self._number = self._core.restored[0]
        self._found = {(each.name, each.rank): each for each in self._core.attached()}

    def all(self):
        """All saved state that this program has objects for."""
        told = self._object(_DESCRIPTION, is_shared=True)
        if told is not None:
            self._fill_checked(told)
        elif _wrapped(self._now):
            raise errors.Mismatch(
                f"checkpoint {self._number} was not made by stretto.torch.checkpoint(), and has "
                "nothing for the optimizers of this program (--resume no begins anew)",
                operation="restore")
        kept = keeping.of(self._now)
        for index, state in enumerate(kept.states):
            saved = self._object(f"{_STATE}{index}")
            if saved is not None:
                state.load_saved(saved)
        for name, (one, _) in kept.attached.items():
            self.attached(name, one)
        unused = {name.removeprefix(_PREFIX) for name, _ in self._found
                  if name.startswith(_PREFIX)} - set(kept.attached)
        if unused:
            notices.warn(f"checkpoint {self._number} has what was attached as "
                         f"{', '.join(sorted(unused))}, and nothing is attached by that name yet: "
                         "call attach() before restore(), or it is lost with the next checkpoints")

    def attached(self, name, one):
        """Loads the saved state of an attachment, if the checkpoint has it."""
        saved = self._object(_PREFIX + name)
        if saved is None:
            return
        try:
            one.load_state_dict(saved)
        except errors.Error as error:
            raise errors.Mismatch(f"what was attached as '{name}' cannot be loaded: {error.cause}",
                                  operation="restore") from error

    def _find(self, name, is_each=True, is_shared=False):
        # Of this worker, or of all; None if absent. `is_shared`: with more workers than before, the
        # others get that of the first.
        own = [self._now.present_rank] if is_each else []
        for rank in (*own, -1, *([0] if is_shared else [])):
            if (name, rank) in self._found:
                return self._found[name, rank]
        return None

    def _object(self, name, is_shared=False):
        found = self._find(name, is_shared=is_shared)
        if found is None:
            return None
        data = torch.empty(found.bytes, dtype=torch.uint8)
        self._core.read(found, wire.place_of(data))
        try:
            return objects.decode(data.numpy().tobytes())
        except ValueError as error:
            raise errors.Malformed(f"'{name}' of checkpoint {self._number} cannot be used: "
                                   f"{error}", operation="restore") from error

    def _fill_checked(self, saved):
        # It may be from another program, such as a user's test.
        if not isinstance(saved, dict) or saved.get("format") != 1:
            raise errors.Unsupported(
                f"checkpoint {self._number} was made by a later version of Stretto, or is none of "
                "stretto.torch", operation="restore")
        try:
            self._fill(saved)
        except errors.Error:
            raise
        except (KeyError, TypeError, AttributeError, IndexError, RuntimeError) as error:
            raise errors.Malformed(
                f"the description in checkpoint {self._number} cannot be used: "
                f"{type(error).__name__}: {error}", operation="restore") from error

    def _fill(self, saved):
        told, mine = saved["told"], _facts(self._now)
        other = (f"checkpoint {self._number} is of a program that trains something else (--resume "
                 "no begins anew)")
        if [list(each) for each in saved["optimizers"]] != mine:
            early = ("; call restore() when all optimizers have been wrapped"
                     if len(mine) < len(saved["optimizers"]) else "")
            raise errors.Mismatch(f"{other}: optimizers and their groups are {mine} here, and were "
                                  f"{saved['optimizers']}{early}", operation="restore")
        training = newcomers.Training(self._now, may_heal=False, operation="restore", other=other,
                                      besides=_detached(_besides(self._now)))
        self._tell_missing(told["tensors"].keys(), training.keys)
        paths = broadcasting.paths_of(told)
        templates = training.in_place(told, training.templates(told))
        for name, path, tensor in zip(saved["names"], paths, templates):
            found = self._find(name, path.startswith("apart/"), is_shared=True)
            size = tensor.numel() * tensor.element_size()
            if found is None or found.bytes != size:
                raise errors.Malformed(f"checkpoint {self._number} has no tensor '{name}' of "
                                       f"{size} bytes", operation="restore")
            if size:
                self._core.read(found, wire.place_of(healing.flat(tensor)))
        training.load_apart(told, training.fill(told, templates))

    def _tell_missing(self, theirs, mine):
        # Of untrained tensors: these may differ between runs.
        for keys, words in ((theirs - mine, "is not here, and left out: broadcast it before "
                             "restore()"),
                            (mine - theirs, "was not saved, and stays as it is")):
            names = sorted(_name_of(_MADE_ALIKE + key) for key in keys
                           if not newcomers.is_trained(key))
            if names:
                more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
                notices.warn(f"checkpoint {self._number}: '{names[0]}'{more} {words}")


def attach(name: str, kept: Any, each: Optional[bool] = None) -> None:
    """Later checkpoints contain the result of `kept.state_dict()` under this name, and restore()
    passes it to `kept.load_state_dict()`: for schedules of learning rates, scales of losses,
    samplers, readers, random states (RandomStates), or an object of your own. An attachment may
    contain numbers, text, bytes, tensors, arrays, and lists, tuples, sets and dicts of them.

    each   every worker has its own state, as readers and random states do. Otherwise that of rank 0
           is saved, and all get it. None: as the object says. With more workers than before, some
           find none and keep their own
    """
    if isinstance(kept, type) or not all(callable(getattr(kept, method, None))
                                         for method in ("state_dict", "load_state_dict")):
        raise TypeError(f"what is attached as {name!r} is a {type(kept).__name__}, wanted "
                        "something with state_dict() and load_state_dict()")
    if not isinstance(name, str) or not 0 < len(name.encode()) <= _MOST_NAME - len(_PREFIX):
        raise ValueError(f"the name is {name!r}, wanted 1 to {_MOST_NAME - len(_PREFIX)} bytes")
    now = session.current()
    known = keeping.of(now)
    if name in known.attached and known.attached[name][0] is not kept:
        raise ValueError(f"something else is attached as {name!r} already")
    is_new = name not in known.attached
    known.attached[name] = (kept, getattr(kept, "_stretto_of_each", False) if each is None
                            else each)
    if is_new and known.has_restored and not now.came_late and restored():
        _Reading(now).attached(name, kept)
