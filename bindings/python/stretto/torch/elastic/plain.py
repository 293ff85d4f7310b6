# SPDX-License-Identifier: Apache-2.0
"""The state trained by DistributedDataParallel, for joining workers: the names of the modules'
parameters, and the optimizers that step them. PyTorch keeps no list of these: they are searched
among all objects when a worker joins, which is rare, and only if modules are wrapped.
"""

import gc
import sys
from typing import Any, List, NamedTuple

import torch

from stretto import errors
from stretto.torch.core import broadcasting, objects
from stretto.torch.elastic import owners


class Stepper(NamedTuple):
    """An optimizer that is not wrapped."""

    kind: str  # Its class.
    labels: List[str]  # Labels of all parameters that it trains, sorted.
    optimizer: Any


class Modules:
    """The modules of a session that exchange gradients."""

    def __init__(self, now):
        self._exchanges = [exchange for exchange in (each() for each in now.modules)
                           if exchange is not None]
        self._trained = {parameter: name for each in self._exchanges
                         for parameter, name in each.names.items()}
        self._all: Any = None  # Includes the untrained parameters.

    def __bool__(self):
        return bool(self._exchanges)

    def trained(self):
        """(name, parameter) of all trained parameters."""
        return [(name, parameter) for parameter, name in self._trained.items()]

    @property
    def _names(self):
        if self._all is None:
            self._all = {**{parameter: f"frozen{index}/{name}"
                            for index, each in enumerate(self._exchanges)
                            for name, parameter in owners.frozen_of(each)}, **self._trained}
        return self._all

    @property
    def layouts(self):
        """The layouts agreed on by all workers, for each module."""
        return [each.layouts for each in self._exchanges]

    def follow_others(self, layouts):
        """The members have agreed on all this."""
        for each, known in zip(self._exchanges, layouts):
            each.follow_others(known)

    def described(self, tensors):
        """The optimizers' states, without their tensors, which are added to the list; and in words
        the state that cannot be sent."""
        found, lacking = _told_apart(self._steppers())
        states = []
        for each in found:
            of_it: List[torch.Tensor] = []
            state = broadcasting.without_tensors(
                broadcasting.state_by_label(each.optimizer, self._names), of_it)
            try:
                objects.encode(state)
            except TypeError:
                lacking.append(f"the state of {each.kind}, which holds objects of other kinds")
                continue
            tensors.extend(of_it)
            states.append({"kind": each.kind, "labels": each.labels, "state": state})
        return {"states": states, "lacking": lacking}

    def take(self, told, states, operation="join"):
        """Adopts the others' state from described(), and reports it once."""
        mine = {(each.kind, *each.labels): each.optimizer
                for each in _told_apart(self._steppers())[0]}
        taken, lacking = [], list(told["lacking"])
        for each, state in zip(told["states"], states):
            optimizer = mine.get((each["kind"], *each["labels"]))
            if optimizer is None and operation == "restore":
                raise errors.Mismatch(
                    f"the checkpoint has the state of {each['kind']} of these modules' parameters, "
                    "and there is no such optimizer here; call restore() when it has been made",
                    operation=operation)
            if optimizer is None:
                lacking.append(f"the state of {each['kind']}, which is not here yet")
                continue
            broadcasting.load_by_label(optimizer, state, self._names)
            taken.append(each["kind"])
        _say(taken, lacking, _HOW[operation])

    def _steppers(self):
        # Includes unreferenced objects, until they are collected.
        gc.collect()
        found = [each for each in gc.get_objects() if issubclass(type(each), torch.optim.Optimizer)]
        wrapped = {id(each._stretto_original) for each in found
                   if hasattr(each, "_stretto_original")}
        steppers = []
        for each in found:
            trains = [parameter for group in each.param_groups for parameter in group["params"]]
            if hasattr(each, "_stretto_original") or id(each) in wrapped:
                continue
            if any(parameter in self._trained for parameter in trains):
                labels = sorted(self._names.get(parameter, "") for parameter in trains)
                steppers.append(Stepper(type(each).__name__, labels, each))
        return sorted(steppers, key=lambda each: (each.kind, each.labels))


def _told_apart(steppers):
    # The optimizers whose state can be sent, and the message for the others.
    found, lacking = [], []
    for each in steppers:
        alike = [other for other in steppers if other[:2] == each[:2]]
        if "" in each.labels:
            lacking.append(f"the state of {each.kind}, which trains parameters of no wrapped "
                           "module as well")
        elif len(alike) > 1:
            lacking.append(f"the state of {each.kind}, of which there are {len(alike)} of the "
                           "same parameters")
        else:
            found.append(each)
    return found, list(dict.fromkeys(lacking))


# The event at this worker, and the source of its state.
_HOW = {"join": ("has come into a job that trains by DistributedDataParallel: it has the others'",
                 "a stretto.torch.elastic.TorchState would bring it"),
        "restore": ("goes on from a checkpoint by DistributedDataParallel: it has the saved",
                    "stretto.torch.attach() saves it")}


def _say(taken, lacking, how):
    what = "".join(f", and the state of {kind}" for kind in taken)
    lacks = "; it lacks " + "; ".join(lacking) if lacking else ""
    print(f"stretto: this worker {how[0]} parameters and buffers{what}{lacks}. What else its "
          "program keeps from step to step, such as a schedule of learning rates or a scale of "
          f"losses, begins anew here; {how[1]}", file=sys.stderr, flush=True)
