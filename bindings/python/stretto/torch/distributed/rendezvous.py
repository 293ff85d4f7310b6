# SPDX-License-Identifier: Apache-2.0
"""How a process of torch.distributed becomes a worker. Under stretto-launch its environment names
the scheduler's address. Otherwise rank 0 starts a scheduler, of a job without servers, and the
others find its address in the store of torch.distributed.
"""

import datetime
import functools
import json
import os
import secrets
import subprocess

import torch.distributed as dist

from stretto import environment, errors, roles, session
from stretto.torch.distributed import addresses, attempts

_KEY = "stretto job"
_TOLD = ("STRETTO_WORLD_SIZE", "STRETTO_SERVERS", "STRETTO_SCHEDULER", "STRETTO_ENCRYPT",
         "STRETTO_JOB_TOKEN")
_RENDEZVOUS_S = 60.0  # The default of STRETTO_RENDEZVOUS_TIMEOUT_S.
_LIMIT = "STRETTO_RENDEZVOUS_TIMEOUT_S"
_BACKEND = "init_process_group"  # As errors name the call.
_LAST_PORT = 65535
_LONGEST_S = 86400.0  # Maximum for an operation.
_kept_stores = []  # Rank 0 may serve a store, which other ranks read after it has returned.


def worker(store, rank, size, timeout):
    """The worker of this process; None in a job of one, which has none. It joins with the first
    group, which includes all ranks. `rank` and `size` are the group's."""
    of_all = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (rank, size)
    if not session.is_initialized():
        if of_all[1] > size:
            raise errors.InvalidArgument("the first group of backend 'stretto' is of some ranks "
                                         "only; make one of all before")
        if not environment.names_a_job():
            if size > 1:
                _shorten_rendezvous(timeout)
                limit = min(environment.seconds(_LIMIT, default=_RENDEZVOUS_S),
                            max(timeout.total_seconds(), 1.0))
                _meet(attempts.store_of_attempt(store, rank, size, limit, _BACKEND), rank, size)
            else:  # The program's values override its launcher's.
                environment.give("STRETTO_WORLD_SIZE", 1)
        if not environment.text("STRETTO_OPERATION_TIMEOUT_S"):
            seconds = min(max(timeout.total_seconds(), 1.0), _LONGEST_S)
            environment.give("STRETTO_OPERATION_TIMEOUT_S", seconds)
        session.begin()
    now = session.current()
    joined = None if now.alone else now.worker()
    if joined is not None and joined.elastic:
        raise errors.Unsupported("backend 'stretto' is for jobs of fixed size, and this one goes "
                                 "on without workers that are lost: start it with one number of "
                                 "workers", operation="init_process_group")
    if (now.rank, now.size) != of_all:
        raise errors.InvalidArgument(
            f"torch.distributed was told that this is rank {of_all[0]} of {of_all[1]}, and in "
            f"Stretto's job it is worker {now.rank} of {now.size}; under stretto-launch call "
            "init_process_group without rank and world_size")
    return joined


def join_ranks():
    """Under torchrun: makes the environment of this rank that of a worker. Rank 0 starts a
    scheduler, and the ranks meet in the store that RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
    name. Raises InvalidArgument for invalid variables, RendezvousTimeout after
    STRETTO_RENDEZVOUS_TIMEOUT_S, Network if the store fails otherwise, and the errors of
    init_process_group("stretto")."""
    rank, size = environment.rank_of_torch()
    limit = environment.seconds(_LIMIT, default=_RENDEZVOUS_S)
    where = (environment.text("MASTER_ADDR"),
             environment.number("MASTER_PORT", default=0, most=_LAST_PORT))
    serves = rank == 0 and environment.text("TORCHELASTIC_USE_AGENT_STORE") != "True"
    try:
        store = _store_at(*where, size, serves, datetime.timedelta(seconds=limit))
    except (RuntimeError, OSError) as error:  # PyTorch 1 raises TimeoutError.
        kind = errors.RendezvousTimeout if attempts.is_timeout(error) else errors.Network
        raise kind(f"torch.distributed's store at MASTER_ADDR {where[0]}, MASTER_PORT {where[1]} "
                   f"cannot be used: {error}", operation="init") from error
    _kept_stores.append(store)
    _meet(attempts.store_of_attempt(store, rank, size, limit, "init"), rank, size, "init")


def _store_at(*place):
    # As init_process_group does for env://, without PyTorch 1's restart count in its keys, which
    # differs between agents. PyTorch requests libuv whatever USE_LIBUV says, and Debian builds
    # PyTorch 2 without.
    make = functools.partial(dist.TCPStore, *place, wait_for_workers=False, multi_tenant=True)
    try:
        return make()
    except RuntimeError as error:
        if "libuv" not in str(error):
            raise
    return make(use_libuv=False)


def _shorten_rendezvous(timeout):
    # Ranks that have started a group meet within its timeout, if that is shorter than the default.
    seconds = max(timeout.total_seconds(), 1.0)
    if not environment.text(_LIMIT) and seconds < _RENDEZVOUS_S:
        environment.give(_LIMIT, seconds)


def _meet(store, rank, size, operation=_BACKEND):
    # The environment of a job that rank 0 starts.
    if rank == 0:
        job = _begin(store, size, operation)
        store.set(_KEY, json.dumps(job))
        if "error" in job:
            attempts.await_readers(store, _KEY, size)
    else:
        if not _are_local(size):
            _tell_address(store, rank, operation)
        job = json.loads(attempts.told(store, _KEY, 0, operation))
        attempts.note_read(store, _KEY, rank)
    if "error" in job:
        raise errors.Unsupported(job["error"], operation=operation)
    # Data from the store is not trusted: it names a job, and has no other effect.
    encrypted = environment.text("STRETTO_ENCRYPT") == "1"
    if encrypted and (job.get("STRETTO_ENCRYPT") != "1" or "STRETTO_JOB_TOKEN" in job):
        raise errors.InvalidArgument(
            "STRETTO_ENCRYPT is 1 at this rank, and the store of torch.distributed tells of a job "
            "that is not encrypted: give all ranks STRETTO_ENCRYPT=1 and the same "
            "STRETTO_JOB_TOKEN; if they have them, somebody else writes to that store",
            operation=operation)
    for name in _TOLD:
        if name in job:
            environment.give(name, str(job[name]))
    environment.give("STRETTO_RANK", rank)
    if not environment.text("STRETTO_BIND_HOST"):
        scheduler = addresses.host_of(job["STRETTO_SCHEDULER"])
        environment.give("STRETTO_BIND_HOST", addresses.own_address_towards(scheduler))


def _are_local(size):
    # All ranks are on one host, as their launcher says.
    return environment.text("LOCAL_WORLD_SIZE") == str(size)


def _tell_address(store, rank, operation):
    # Sends the rank's address to rank 0, or the reason if it has none.
    try:
        told = {"address": _own_address(store, operation)}
    except errors.Error as error:
        store.set(f"{_KEY} {rank}", json.dumps({"error": error.cause}))
        raise
    store.set(f"{_KEY} {rank}", json.dumps(told))


def _addresses(store, size, operation):
    # Of the other ranks, in their order.
    for rank in range(1, 1 if _are_local(size) else size):
        found = json.loads(attempts.told(store, f"{_KEY} {rank}", rank, operation))
        if "error" in found:
            raise errors.Unsupported(f"rank {rank}: {found['error']}")
        yield found["address"]


def _own_address(store, operation):
    return addresses.own_address_towards(addresses.meeting_point(store), operation)


def _begin(store, size, operation=_BACKEND):
    # Starts the processes of the job other than its workers, and returns the environment variables
    # of the workers, or an error that all of them raise.
    job = {"STRETTO_WORLD_SIZE": str(size), "STRETTO_SERVERS": "0"}
    encrypted = environment.text("STRETTO_ENCRYPT") == "1"
    if encrypted:
        # The store of torch.distributed is not encrypted: the token must not go through it.
        if not environment.text("STRETTO_JOB_TOKEN"):
            return {"error": "STRETTO_ENCRYPT is 1, and STRETTO_JOB_TOKEN is not set: the store of "
                             "torch.distributed is not encrypted, so give every rank the same "
                             "token, such as $(openssl rand -hex 16), or use stretto-launch "
                             "--encrypt"}
        job["STRETTO_ENCRYPT"] = "1"
    else:
        job["STRETTO_JOB_TOKEN"] = secrets.token_hex(16)
    try:
        host = addresses.listening_address(_own_address(store, operation),
                                           _addresses(store, size, operation))
        variables = os.environ | job | {"STRETTO_BIND_HOST": host}
        variables.setdefault("STRETTO_LOG_LEVEL", "warning")
        reading, writing = os.pipe()
        with open(reading, encoding="utf-8") as said:
            with open(writing, "wb"):  # Afterwards only the scheduler holds its end of it open.
                _start_scheduler(variables, "--address", addresses.with_port(host, 0), "--ready_fd",
                                 str(writing), descriptor=writing)
            address = said.readline().strip()
        if not address:
            raise errors.Unsupported(f"rank 0 could not start a scheduler at {host}: its output "
                                     "says why")
        job["STRETTO_SCHEDULER"] = address
    except errors.RendezvousTimeout:
        raise
    except (OSError, errors.Error) as error:
        return {"error": error.cause if isinstance(error, errors.Error) else str(error)}
    return job


def _start_scheduler(variables, *arguments, descriptor):
    # In its own session: it outlives this process, and exits when the workers have left.
    subprocess.Popen([roles.program(roles.PROGRAMS["scheduler"]), *arguments], env=variables,
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(descriptor,),
                     start_new_session=True)
