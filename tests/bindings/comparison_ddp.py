# SPDX-License-Identifier: Apache-2.0
"""Cases of comparison.py: DistributedDataParallel with its options and communication hooks, and
optimizers of torch.distributed. Each returns the parameters after some steps."""

import contextlib
import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import (debugging_hooks, default_hooks,
                                                         post_localSGD_hook, powerSGD_hook,
                                                         quantization_hooks)
from torch.distributed.algorithms.join import Join
from torch.distributed.algorithms.model_averaging import averagers
from torch.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer

import comparison

CASES = comparison.Cases()
DDP = nn.parallel.DistributedDataParallel


class Net(nn.Module):
    """Has a part that some inputs skip, and buffers."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.Tanh(),
                                  nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))
        self.unused = nn.Linear(3, 3)

    def forward(self, inputs, is_used=False):
        """The output of the body, or of all."""
        found = self.body(inputs)
        return self.unused(found) if is_used else found


def net():
    return Net().body


def batch(rank, step):
    generator = torch.Generator().manual_seed(10 * step + rank)
    return torch.randn(8, 12, generator=generator)


def loss_of(model, rank, step):
    inputs = batch(rank, step)
    return nn.functional.mse_loss(model(inputs).float(), inputs[:, :3] * 2 - 1)


def train(rank, model, optimizer=None, steps=4, around=contextlib.nullcontext):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        with around():
            loss = loss_of(model, rank, step)
        loss.backward()
        optimizer.step()
    return [value.detach() for value in model.state_dict().values()]


def with_options(rank, options):
    return train(rank, DDP(net(), **options))


for _options in ({}, {"gradient_as_bucket_view": True}, {"static_graph": True},
                 {"bucket_cap_mb": 0.01}, {"broadcast_buffers": False}, {"init_sync": False},
                 {"find_unused_parameters": True}, {"check_reduction": True}):
    CASES.add(f"options {_options}", with_options, _options)


def with_hook(rank, make, model=net, **options):
    module = DDP(model(), **options)
    module.register_comm_hook(*make())
    return train(rank, module)


def power_sgd(hook):
    def make():
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2,
                                            start_powerSGD_iter=2, min_compression_rate=0.5)
        return state, waiting(hook)
    return make


def waiting(hook):
    """The hook, which returns its complete result: gloo's calls need one order at all ranks."""
    def wait(state, bucket):
        found = hook(state, bucket).wait()
        future = torch.futures.Future()
        future.set_result(found)
        return future
    return wait


for _name, _make in (
        ("allreduce", lambda: (None, default_hooks.allreduce_hook)),
        ("fp16_compress", lambda: (None, default_hooks.fp16_compress_hook)),
        ("bf16_compress", lambda: (None, default_hooks.bf16_compress_hook)),
        ("fp16_compress_wrapper", lambda: (None, default_hooks.fp16_compress_wrapper(
            default_hooks.allreduce_hook))),
        ("noop", lambda: (None, debugging_hooks.noop_hook)),
        ("powerSGD", power_sgd(powerSGD_hook.powerSGD_hook)),
        ("batched_powerSGD", power_sgd(powerSGD_hook.batched_powerSGD_hook)),
        ("post_localSGD", lambda: (post_localSGD_hook.PostLocalSGDState(
            None, dist.group.WORLD, 2), post_localSGD_hook.post_localSGD_hook)),
        ("quantization_pertensor", lambda: (dist.group.WORLD,
                                            quantization_hooks.quantization_pertensor_hook))):
    CASES.add(f"hook {_name}", with_hook, _make)


@CASES.case
def builtin_hook_fp16(rank):
    model = DDP(net())
    model._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    return train(rank, model)


@CASES.case
def unused_parameters(rank):
    model = DDP(Net(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for step in range(4):
        optimizer.zero_grad()
        model(batch(rank, step), step % 2 == rank).square().mean().backward()
        optimizer.step()
    return [value.detach() for value in model.state_dict().values()]


@CASES.case
def frozen_parameters(rank):
    model = net()
    model[0].weight.requires_grad_(False)
    return train(rank, DDP(model))


@CASES.case
def no_sync_and_accumulation(rank):
    model = DDP(net())
    with model.no_sync():
        loss_of(model, rank, 0).backward()
    loss_of(model, rank, 1).backward()
    return [parameter.grad for parameter in model.parameters()]


@CASES.case
def join_with_uneven_inputs(rank):
    model = DDP(nn.Linear(12, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    with model.join():
        for step in range(3 + 2 * rank):
            optimizer.zero_grad()
            loss_of(model, rank, step).backward()
            optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


@CASES.case
def join_with_zero(rank):
    model = DDP(nn.Linear(12, 3))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.05)
    with Join([model, optimizer]):
        for step in range(3 + rank):
            optimizer.zero_grad()
            loss_of(model, rank, step).backward()
            optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


@CASES.case
def autocast_bfloat16(rank):
    return train(rank, DDP(net()), around=lambda: torch.autocast("cpu", dtype=torch.bfloat16))


@CASES.case
def mixed_precision_of_the_module(rank):
    from torch.nn.parallel.distributed import _MixedPrecision
    return with_options(rank, {"mixed_precision": _MixedPrecision(
        param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)})


@CASES.case
def grad_scaler(rank):
    model = DDP(nn.Linear(12, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(3):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, rank, step)).backward()
        scaler.step(optimizer)
        scaler.update()
    return [parameter.detach() for parameter in model.parameters()]


@CASES.case
def bfloat16_module(rank):
    model = DDP(nn.Linear(12, 3).bfloat16())
    model(batch(rank, 0).bfloat16()).float().square().mean().backward()
    return [parameter.grad for parameter in model.parameters()]


@CASES.case
def float64_module(rank):
    model = DDP(nn.Linear(12, 3).double())
    model(batch(rank, 0).double()).square().mean().backward()
    return [parameter.grad for parameter in model.parameters()]


@CASES.case
def sparse_embedding(rank):
    model = DDP(nn.Embedding(20, 4, sparse=True))
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    for step in range(3):
        optimizer.zero_grad()
        model(torch.tensor([step, 5, 5 + rank])).square().sum().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


def zero(rank, make=torch.optim.Adam, **options):
    model = DDP(net())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), make, lr=0.01, **options)
    found = train(rank, model, optimizer)
    optimizer.consolidate_state_dict(0)
    state = optimizer.state_dict()["state"] if rank == 0 else {}
    return [found, [value for key in sorted(state) for value in state[key].values()
                    if isinstance(value, torch.Tensor)]]


CASES.add("ZeRO", zero)
CASES.add("ZeRO with SGD", zero, torch.optim.SGD)


@CASES.case
def zero_parameters_as_bucket_view(rank):
    return zero(rank, parameters_as_bucket_view=True)


@CASES.case
def post_local_sgd_optimizer(rank):
    model = DDP(net(), broadcast_buffers=False)
    state = post_localSGD_hook.PostLocalSGDState(None, dist.group.WORLD, 1)
    model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
    return train(rank, model, PostLocalSGDOptimizer(
        torch.optim.SGD(model.parameters(), 0.05),
        averagers.PeriodicModelAverager(period=2, warmup_steps=1)))


@CASES.case
def periodic_averager_without_ddp(rank):
    model = nn.Linear(12, 3)
    averager = averagers.PeriodicModelAverager(period=2)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for step in range(4):
        optimizer.zero_grad()
        loss_of(model, rank, step).backward()
        optimizer.step()
        averager.average_parameters(model.parameters())
    return [parameter.detach() for parameter in model.parameters()]


@CASES.case
def clipped_gradients(rank):
    model = DDP(net())
    loss_of(model, rank, 0).backward()
    return [nn.utils.clip_grad_norm_(model.parameters(), 0.1),
            [parameter.grad for parameter in model.parameters()]]


@CASES.case
def two_modules(rank):
    models = [DDP(net()), DDP(nn.Linear(3, 3))]
    models[1](models[0](batch(rank, 0))).square().mean().backward()
    return [parameter.grad for model in models for parameter in model.parameters()]


@CASES.case
def module_of_a_group(rank):
    return train(rank, DDP(net(), process_group=dist.new_group()))


@CASES.case
def other_parameters_at_start(rank):
    torch.manual_seed(rank)
    return train(rank, DDP(net()))


@CASES.case
def copies_and_state_dicts(rank):
    model = DDP(net())
    train(rank, model)
    other = DDP(copy.deepcopy(model.module))
    other.load_state_dict(model.state_dict())
    return train(rank, other)


@CASES.case
def logging_data(rank):
    model = DDP(net())
    train(rank, model)
    data = model._get_ddp_logging_data()
    return [data["world_size"], data["rank"], data["num_parameter_tensors"]]


@CASES.case
def sync_batch_norm(rank):
    return train(rank, DDP(nn.SyncBatchNorm.convert_sync_batchnorm(net())))
