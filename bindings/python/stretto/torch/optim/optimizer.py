# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer: any PyTorch optimizer, stepping by the gradients of all workers."""

import collections
from typing import Any, Iterable, Mapping, Optional, Tuple, Type, Union

import torch

from stretto import session
from stretto.closing import Exchange
from stretto.torch.core import compression as compressions
from stretto.torch import elastic
from stretto.torch.core import agreement, divergence, ways
from stretto.torch.gradients import gradients
from stretto.torch.optim import delayed, layerwise, orders, synchronous
from stretto.torch.elastic import on_loss as losses
from stretto.torch.optim import stale as stale_modes

_RATE_RULES = ("constant", "inverse", "inverse_root", "relative", "compensated")
MODES = ("sync", "bounded", "async", "eager", "eager_async", "delayed")


def _with_underscores(name):
    # "eager-async" is "eager_async", as in flags.
    return name.replace("-", "_") if isinstance(name, str) else name


def check_compression(compression):
    """TypeError unless it is one."""
    if not (hasattr(compression, "compress") and hasattr(compression, "decompress")):
        raise TypeError(f"compression is {compression!r}, wanted Compression.none or "
                        "Compression.fp16")


def _refuse(optimizer, compression, mode, staleness, lr_rule, model, sampler):
    # Errors that would otherwise show at the first step, or not at all.
    synchronous.check(optimizer)
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}, wanted one of {', '.join(MODES)}")
    check_compression(compression)
    if mode == "sync":
        return
    if sampler is not None:
        raise ValueError(f"sampler= is for mode 'sync'; in mode {mode!r} batches are taken to have "
                         "one size")
    if model is not None:
        raise ValueError(f"model= is for mode 'sync'; in mode {mode!r} the whole step is hidden")
    if mode == "delayed":
        return
    if compression is not compressions.Compression.none:
        raise ValueError(f"compression is for mode 'sync'; in mode {mode!r} updates travel "
                         "as they are")
    if lr_rule not in _RATE_RULES:
        raise ValueError(f"lr_rule is {lr_rule!r}, wanted one of {', '.join(_RATE_RULES)}")
    if not isinstance(staleness, int) or staleness < 0:
        raise ValueError(f"staleness is {staleness!r}, wanted a whole number from 0")


def named(optimizer, named_parameters):
    """(name, parameter) of every trained parameter, in the order given; without names, in that of
    the optimizer's groups. A parameter with several names, as in a layer of two towers, has the
    first of them by in_order(): it has one gradient. ValueError for duplicate or missing names."""
    trained = list(dict.fromkeys(
        parameter for group in optimizer.param_groups for parameter in group["params"]))
    if named_parameters is None:
        return [(f"noname.{index}", parameter) for index, parameter in enumerate(trained)
                if parameter.requires_grad]
    pairs = list(named_parameters)
    if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in pairs):
        raise ValueError("named_parameters should be a sequence of tuples (name, parameter), "
                         "usually produced by model.named_parameters().")
    wrong = [name for name, _ in pairs if not isinstance(name, str)]
    if wrong:
        raise ValueError(f"the name of a parameter is {wrong[0]!r}, wanted a str")
    counts = collections.Counter(name for name, _ in pairs)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise ValueError("Parameter names in named_parameters must be unique. Found duplicates: "
                         + ", ".join(twice))
    known = {id(parameter) for _, parameter in pairs}
    nameless = sum(id(parameter) not in known for parameter in trained)
    if nameless:
        raise ValueError("named_parameters was specified, but one or more model parameters were "
                         f"not named: {nameless} of the optimizer's {len(trained)}. Python object "
                         "ids do not tell which; pass all of model.named_parameters().")
    mine = set(trained)
    first_names = {parameter: name for name, parameter in reversed(agreement.in_order(pairs))}
    return [(name, parameter) for name, parameter in pairs if parameter.requires_grad
            and parameter in mine and first_names[parameter] == name]


def _scope():
    # Two optimizers of a program, as in a GAN, may have parameters of the same names. No
    # parameter's name starts like a scope.
    return session.current().new_scope("optimizer", first="")


# BytePS's arguments, and Stretto's own.
def DistributedOptimizer(  # pylint: disable=invalid-name
        optimizer: torch.optim.Optimizer,
        named_parameters: Optional[Iterable[Tuple[str, torch.nn.Parameter]]] = None,
        compression: Type[compressions.Compressor] = compressions.Compression.none,
        backward_passes_per_step: int = 1, *, mode: str = "sync", staleness: int = 3,
        lr_rule: str = "relative", warm_up: int = 0, model: Optional[torch.nn.Module] = None,
        compression_params: Optional[Mapping[str, Any]] = None, on_loss: Optional[str] = None,
        sampler: Optional[elastic.ElasticSampler] = None, digest_every: int = 0,
        on_divergence: str = "raise", exchange: Exchange = None,
        approximate: str = "local", stale: Union[str, int] = "auto",
        order: Optional[orders.Order] = None) -> Any:
    """Wraps an optimizer so that all workers train one model. The result is used as the optimizer
    was; wrap it before training, and give all workers the same initial state with
    broadcast_parameters().

    named_parameters          model.named_parameters(), in any order; without, parameters are told
                              apart by their order, which must be the same everywhere
    compression               Compression.fp16 halves the traffic in mode sync
    compression_params        mode sync: a codec instead, by BytePS's keys, such as {"compressor":
                              "onebit", "scaling": True, "ef": "vanilla"}; docs/COMPRESSION.md
    backward_passes_per_step  backward passes that add up before each step
    mode                      "sync": every step is by the mean of all gradients; all workers stay
                              identical. "eager": the same sequence of updates, one step late, while
                              the next step computes. "delayed": mean gradients as in sync, those of
                              the first layers one step late, and all workers have the same
                              committed weights. "bounded", "async", "eager_async": workers do not
                              wait for slower ones, or stay at most `staleness` steps ahead of the
                              slowest
    staleness                 mode bounded: maximum lead over the slowest worker, in steps
    lr_rule                   modes bounded, async and eager_async: how the updates of a worker
                              that lags are damped: constant, inverse, inverse_root or relative; or
                              compensated: gradients are corrected for the others' updates since
    warm_up                   eager modes: number of first steps that wait for their own updates
    model                     mode sync: step() does not wait; the model's next forward does, layer
                              by layer, each for its own gradients. Code that keeps a reference to a
                              weight, instead of getting it from its module, must call synchronize()
                              before using it
    order                     with model=: parameters in the order of the next forward: the path of
                              a file (record_order() writes it), names, or ranks by name. None:
                              found in the first backward
    on_loss                   when an elastic job loses a worker: "redistribute" divides its samples
                              among the others, if they come from an ElasticSampler in a TorchState;
                              "shrink" skips them until the next epoch.
                              None: the first, if there is an ElasticSampler
    sampler                   mode sync: the ElasticSampler of whose batches() the gradients are;
                              their mean is by samples
    digest_every              mode sync: steps between comparisons of a digest of the parameters
                              over all workers; 0: never. If some differ, on_divergence is "raise":
                              all get Diverged, which names them; or "refill": the deviating workers
                              get the parameters and the optimizer's state of the others
    exchange                  modes sync and delayed: a strategy, as in docs/COLLECTIVES.md; None:
                              "servers" if any. Mode sync: a Quorum or Backups, so that steps do not
                              wait for stragglers
    approximate, stale        mode delayed: the estimate of a pending mean, and the stale layers;
                              docs/PYTORCH.md
    """
    return _wrapped(
        optimizer, named_parameters, compressions.from_params(compression_params, compression),
        backward_passes_per_step, mode=_with_underscores(mode), staleness=staleness,
        lr_rule=_with_underscores(lr_rule), warm_up=warm_up, model=model, on_loss=on_loss,
        sampler=sampler, digests=(digest_every, on_divergence), way=exchange,
        late=(approximate, stale), order=order)


def _wrapped(optimizer, named_parameters, compression, passes, *, mode, staleness, lr_rule, warm_up,
             model, on_loss, sampler, digests, way, late, order=None):
    # As DistributedOptimizer.
    if order is not None and model is None:
        raise ValueError("order= is for mode 'sync' with model=: without it a step waits for all "
                         "gradients, and their order does not matter")
    _refuse(optimizer, compression, mode, staleness, lr_rule, model, sampler)
    synchronous.whole("backward_passes_per_step", passes)
    _check_digests(*digests, mode, model)
    delayed.check_mode(mode, *late)
    loss = losses.OnLoss(on_loss, sampler)
    pairs = named(optimizer, named_parameters)
    ways.check_gradients(way, pairs, compression, mode)
    if mode == "delayed":
        made = delayed.make(optimizer, pairs, _scope, late, passes=passes, compression=compression,
                            way=way)
    elif mode != "sync":
        made = stale_modes.make(optimizer, pairs, _scope(), mode=mode, bound=staleness,
                                rate_rule=lr_rule, warm_up=warm_up)
    elif model is None:
        made = stepping_by(optimizer, pairs, compression, passes, loss=loss, way=way)
    else:
        scope = _scope()
        found = gradients.GradientExchange(pairs, passes, compression, scope, layerwise=True,
                                           loss=loss, way=way)
        if order is not None:
            orders.give(found, order, scope.prefix)
        made = layerwise.make(optimizer, model, found, scope.prefix)
    made._stretto_on_loss = on_loss
    if digests[0]:
        made._stretto_exchange.about["digest_every"] = str(digests[0])
        made._stretto_watch = divergence.Watch(pairs, *digests,
                                               f"{made._stretto_scope or 'optimizer'}")
    return made


def _check_digests(every, choice, mode, model):
    if not isinstance(every, int) or every < 0:
        raise ValueError(f"digest_every is {every!r}, wanted a whole number from 0")
    if choice not in divergence.CHOICES:
        raise ValueError(f"on_divergence is {choice!r}, wanted one of "
                         f"{', '.join(divergence.CHOICES)}")
    if every and (mode != "sync" or model is not None):
        raise ValueError("digest_every is for mode 'sync' without model=: else workers have other "
                         "parameters between steps")


def stepping_by(optimizer, pairs, compression, passes, rule="mean", sparse_as_dense=False,
                loss=None, way=None, by=gradients.GradientExchange):
    """The optimizer, wrapped so that it steps by the reduction of all workers' gradients of some
    (name, parameter) by the rule. `by` creates the exchange."""
    scope = _scope()
    found = by(pairs, passes, compression, scope, rule=rule, sparse_as_dense=sparse_as_dense,
               loss=loss, way=way)
    return synchronous.make(optimizer, found, scope.prefix)
