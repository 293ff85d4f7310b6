# SPDX-License-Identifier: Apache-2.0
"""One training script, several ways to exchange gradients: what differs between them is here.
A script of your own needs only the lines of the one that you choose.
"""

import datetime
import os

import torch

NAMES = ("stretto", "byteps", "ddp", "ddp_stretto", "none")


class Framework:
    """What the examples ask of each."""

    rank, size = 0, 1
    share_of_rate = 1.0
    """What each worker's optimizer gets of the learning rate."""
    told = ""
    """Who trains and how, for the last line."""

    def wrap(self, model, optimizer):
        """The model and the optimizer to train with."""
        return model, optimizer

    def finish(self, optimizer):
        """After training: everybody's parameters are the same after it, if they were not."""

    def restore(self, **attached):
        """The epoch of the checkpoint that this job resumes from; else 0. `attached` objects are
        saved in checkpoints, and get their state back."""
        return 0

    def checkpoint(self, epoch):
        """Makes a checkpoint after epoch `epoch`, if the job has a folder for it."""

    def mean(self, value):
        """The mean of a number over all workers."""
        return value

    def close(self):
        """Ends the exchange."""


class Stretto(Framework):
    """stretto.torch: BytePS's API, with additional modes."""

    def __init__(self, mode="sync", layerwise=False, compressor=None):
        import stretto.torch as st
        self._st = st
        self._mode = mode
        self._layerwise = layerwise
        self._compression = {"compressor": compressor} if compressor else None
        st.init()
        self.rank, self.size = st.rank(), st.size()
        if mode in ("bounded", "async", "eager_async"):
            self.share_of_rate = 1 / self.size  # Each worker's updates are added, not averaged.

    def wrap(self, model, optimizer):
        self._st.broadcast_parameters(model.state_dict(), root_rank=0)
        optimizer = self._st.DistributedOptimizer(
            optimizer, model.named_parameters(), mode=self._mode,
            model=model if self._layerwise else None, compression_params=self._compression)
        return model, optimizer

    def finish(self, optimizer):
        optimizer.finish()

    def restore(self, **attached):
        for name, each in attached.items():
            self._st.attach(name, each)
        return self._st.restore()

    def checkpoint(self, epoch):
        if "STRETTO_CHECKPOINT" in os.environ:
            self._st.checkpoint(epoch)

    def mean(self, value):
        return self._st.push_pull(torch.tensor([value]), name="mean").item()

    def close(self):
        self._st.shutdown()


class Byteps(Framework):
    """byteps.torch, as its users' scripts have it."""

    def __init__(self):
        import byteps.torch as bps
        self._bps = bps
        bps.init()
        self.rank, self.size = bps.rank(), bps.size()

    def wrap(self, model, optimizer):
        self._bps.broadcast_parameters(model.state_dict(), root_rank=0)
        self._bps.broadcast_optimizer_state(optimizer, root_rank=0)
        return model, self._bps.DistributedOptimizer(
            optimizer, named_parameters=model.named_parameters())

    def mean(self, value):
        return self._bps.push_pull(torch.tensor([value]), name="mean").item()

    def close(self):
        self._bps.shutdown()


class Ddp(Framework):
    """PyTorch's own DistributedDataParallel, over gloo to compare with or over Stretto."""

    def __init__(self, backend):
        import torch.distributed as dist
        # For gloo, too: it sets USE_LIBUV=0 where PyTorch needs it, as Debian's does.
        import stretto.torch.distributed  # pylint: disable=unused-import
        self._dist = dist
        dist.init_process_group(backend, timeout=datetime.timedelta(seconds=60))
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def wrap(self, model, optimizer):
        return torch.nn.parallel.DistributedDataParallel(model), optimizer

    def mean(self, value):
        tensor = torch.tensor([value])
        self._dist.all_reduce(tensor)
        return tensor.item() / self.size

    def close(self):
        self._dist.destroy_process_group()


class Alone(Framework):
    """No exchange: each worker trains its own model. Measures the cost of a step alone."""

    def __init__(self):
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))


def add_arguments(parser):
    """The flags that choose a framework."""
    parser.add_argument("--with", dest="framework", choices=NAMES, default="stretto",
                        help="how gradients are exchanged (none: not at all)")
    parser.add_argument("--mode", default="sync", type=lambda name: name.replace("-", "_"),
                        choices=("sync", "eager", "delayed", "bounded", "async", "eager_async"),
                        help="of stretto: how workers wait for one another")
    parser.add_argument("--layerwise", action="store_true",
                        help="of stretto in mode sync: the next forward begins layer by layer")
    parser.add_argument("--compressor", help="of stretto in mode sync: a codec, such as fp16")


def make(arguments):
    """The framework that the flags choose."""
    if arguments.framework == "stretto":
        made = Stretto(arguments.mode, arguments.layerwise, arguments.compressor)
    elif arguments.mode != "sync" or arguments.layerwise or arguments.compressor:
        raise SystemExit("--mode, --layerwise and --compressor are for --with stretto, not for "
                         f"--with {arguments.framework}")
    elif arguments.framework.startswith("ddp"):
        made = Ddp("gloo" if arguments.framework == "ddp" else "stretto")
    else:
        made = {"byteps": Byteps, "none": Alone}[arguments.framework]()
    made.told = (f"workers={made.size} with={arguments.framework} mode={arguments.mode}"
                 f"{'+layerwise' if arguments.layerwise else ''}")
    return made
