# SPDX-License-Identifier: Apache-2.0
"""The environment variables of a process: the only place of these packages that reads them. The C++
library reads the member's own again when it joins; the values here are needed before that.
"""

import dataclasses
import math
import os

from stretto import errors

MOST_WORKERS = 1 << 20

# Variables with this worker's index on its host, the innermost launcher first. BytePS's names come
# second: stretto-launch makes each worker its own host in them, so that their product is the world.
_LOCAL_RANK = ("LOCAL_RANK", "BYTEPS_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")
_LOCAL_SIZE = ("LOCAL_WORLD_SIZE", "BYTEPS_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")


def text(*names, default=""):
    """The first of these variables that is set and not empty."""
    for name in names:
        value = os.environ.get(name, "")
        if value:
            return value
    return default


def number(*names, default, least=0, most=MOST_WORKERS):
    """The first of these variables that is set, as a whole number from `least` to `most`."""
    for name in names:
        value = os.environ.get(name, "")
        if not value:
            continue
        try:
            found = int(value)
        except ValueError:
            found = None
        if found is None or not least <= found <= most:
            raise errors.InvalidArgument(
                f"{name} is '{value}', wanted a whole number from {least} to {most}")
        return found
    return default


def seconds(name, default, least=0.001, most=86400.0):
    """The variable as seconds from `least` to `most`."""
    value = os.environ.get(name, "")
    if not value:
        return default
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not least <= found <= most:
        raise errors.InvalidArgument(
            f"{name} is '{value}', wanted seconds from {least:g} to {most:g}")
    return found


def truth(name):
    """True if the variable is set to a value other than 0."""
    return number(name, default=0) != 0


def give(name, value):
    """Sets a variable that is read later, here or in the C++ library."""
    os.environ[name] = str(value)


# Process counts set by launchers of distributed training (torchrun, horovodrun) and launchers of
# any program (MPI's, jsrun, srun).
_WORLDS_OF_TRAINING = ("WORLD_SIZE", "HOROVOD_SIZE")
_WORLDS_OF_OTHERS = (*_WORLDS_OF_TRAINING, "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE",
                     "PMI_SIZE", "JSM_NAMESPACE_SIZE", "SLURM_STEP_NUM_TASKS")
_JOBS = ("STRETTO_WORLD_SIZE", "DMLC_NUM_WORKER", "STRETTO_SCHEDULER", "DMLC_PS_ROOT_URI")


def names_a_job():
    """True if a variable contains the address of a scheduler."""
    return text("STRETTO_SCHEDULER", "DMLC_PS_ROOT_URI") != ""


def is_rank_of_torch():
    """True if torchrun has started this process as one of several, or a program that sets its
    variables, and no variable names a job of Stretto."""
    size = text("WORLD_SIZE")
    return (not text(*_JOBS) and size.isdecimal() and int(size) > 1
            and all(text(name) for name in ("RANK", "MASTER_ADDR", "MASTER_PORT")))


def rank_of_torch():
    """(RANK, WORLD_SIZE) of this process. InvalidArgument for a rank outside the world."""
    rank, size = number("RANK", default=0), number("WORLD_SIZE", default=1, least=1)
    if rank >= size:
        raise errors.InvalidArgument(f"RANK is {rank}, but WORLD_SIZE is {size}: wanted the number "
                                     "of ranks, and which of them this is, from 0")
    return rank, size


def mistaken_for_alone(names=_WORLDS_OF_OTHERS):
    """Why this process, a job of one, was probably meant to be one of several, by these variables;
    empty: it was not."""
    if text(*_JOBS):
        return ""
    for name in names:
        size = text(name)
        if size.isdecimal() and int(size) > 1:
            return (f"{name} is {size}, but no variable names a job of Stretto: this process is a "
                    "job of one, and exchanges nothing with the others. Start all with "
                    f"'stretto-launch -n {size} -- PROGRAM', or set STRETTO_SCHEDULER and "
                    "STRETTO_WORLD_SIZE; STRETTO_WORLD_SIZE=1 if they are not to exchange anything")
    return ""


def check_alone(warn):
    """InvalidArgument if a launcher of distributed training has started this process as one of
    several, and no variable names a job: each process would train a model of its own. Calls `warn`
    with the text for a launcher of any program, whose processes may be independent."""
    if mistaken := mistaken_for_alone(_WORLDS_OF_TRAINING):
        raise errors.InvalidArgument(mistaken, operation="init")
    if mistaken := mistaken_for_alone():
        warn(mistaken)


@dataclasses.dataclass(frozen=True)
class Place:
    """The rank and job of this process."""

    rank: int  # -1: the scheduler assigns it.
    size: int
    servers: int  # 0: workers exchange directly.
    local_rank: int  # Index among the workers of its host, as in torchrun,
    local_size: int  # and their number.
    scheduler: str  # host:port; empty: a job of one.
    late: bool = False  # Joins a running elastic job.

    @property
    def alone(self):
        """True if there are no peers, and no servers to exchange through."""
        return self.size == 1 and not self.scheduler

    @property
    def usual_way(self):
        """The default exchange: through servers, or in a job without servers among the workers,
        each of which reduces its part of a tensor."""
        return "servers" if self.servers else "direct"

    def explained(self, error):
        """The InvalidArgument of a tensor with the default exchange: names that exchange, since the
        caller did not."""
        if self.servers:
            return error
        return errors.InvalidArgument(
            f"{error.cause}: this job has none (--servers 0), and without them what names no "
            f"exchange goes {self.usual_way!r}; start servers", error.peer, error.operation)


def is_single_by_byteps():
    """True if by BytePS's variables this is the only host with workers, which in BytePS needs
    neither scheduler nor servers."""
    return (text("DMLC_NUM_WORKER") != "" and number("DMLC_NUM_WORKER", default=1) <= 1
            and not truth("BYTEPS_FORCE_DISTRIBUTED"))


def _check_local(rank, size, ranks, sizes):
    # InvalidArgument unless the rank is below the size; names the variables that may have set them.
    if rank >= size:
        rank_name = next(name for name in ranks if text(name))
        size_name = next((name for name in sizes if text(name)), None)
        raise errors.InvalidArgument(
            f"{rank_name} is {rank}, but "
            + (f"{size_name} is {size}" if size_name else f"{sizes[0]} is not set")
            + ": wanted the number of this host's workers, and which of them this is, from 0")


def place():
    """This process's place, by STRETTO_* or, if those are missing, DMLC_* and BYTEPS_*."""
    local_rank = number(*_LOCAL_RANK, default=0)
    local_size = number(*_LOCAL_SIZE, default=1, least=1)
    _check_local(local_rank, local_size, _LOCAL_RANK, _LOCAL_SIZE)
    workers = number("DMLC_NUM_WORKER", default=1, least=1)
    dmlc_local_size = number("BYTEPS_LOCAL_SIZE", default=1, least=1)
    size = number("STRETTO_WORLD_SIZE", default=workers * dmlc_local_size, least=1)
    rank = number("STRETTO_RANK", "BYTEPS_GLOBAL_RANK", default=None, least=-1)
    if rank is None:
        worker = number("DMLC_WORKER_ID", default=None)
        dmlc_local_rank = number("BYTEPS_LOCAL_RANK", default=0)
        _check_local(dmlc_local_rank, dmlc_local_size, _LOCAL_RANK[1:2], _LOCAL_SIZE[1:2])
        rank = -1 if worker is None else worker * dmlc_local_size + dmlc_local_rank
    joins = rank == -1 and text("STRETTO_RANK") and text("STRETTO_SCHEDULER")
    if joins and not (text("STRETTO_WORLD_SIZE") or text("DMLC_NUM_WORKER")):
        raise errors.InvalidArgument(
            "this worker joins a job that runs (STRETTO_RANK is -1), and how many workers that "
            "began with is not known on this host: set STRETTO_WORLD_SIZE to that number, MAX of "
            "stretto-launch --workers MIN:MAX")
    late = rank >= size and truth("STRETTO_MIN_WORKERS")
    if rank >= size and not late:
        raise errors.InvalidArgument(
            f"this worker's rank is {rank}, but there are only {size} workers; look at "
            "STRETTO_RANK and STRETTO_WORLD_SIZE, or DMLC_WORKER_ID and DMLC_NUM_WORKER")
    root, port = text("DMLC_PS_ROOT_URI"), text("DMLC_PS_ROOT_PORT")
    if size == 1 and is_single_by_byteps() and not text("STRETTO_WORLD_SIZE"):
        root = ""  # Its scheduler and servers exited immediately, or were never started.
    scheduler = text("STRETTO_SCHEDULER") or (f"{root}:{port}" if root and port else "")
    if size > 1 and not scheduler:
        raise errors.InvalidArgument(
            f"there are to be {size} workers, but no scheduler is named: start this program with "
            "stretto-launch, or set STRETTO_SCHEDULER=host:port (or DMLC_PS_ROOT_URI and "
            "DMLC_PS_ROOT_PORT)")
    servers = number("STRETTO_SERVERS", "DMLC_NUM_SERVER", default=1)
    if size == 1 and rank == -1:
        rank = 0
    return Place(rank, size, servers, local_rank, local_size, scheduler, late)
