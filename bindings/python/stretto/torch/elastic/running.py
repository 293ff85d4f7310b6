# SPDX-License-Identifier: Apache-2.0
"""run(): calls a training function again whenever the set of workers has changed."""

import functools
from typing import Any, Callable

from stretto import errors, returning
from stretto.torch.elastic.errors import HostsUpdatedInterrupt


def _may_go_on(error):
    # After the end of a job every call fails, with its own cause. A program that raises the base
    # class by Horovod's name asks for a rollback.
    return isinstance(error, errors.MembersChanged) or type(error) is errors.Error


def run(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function whose first argument is a State. Before each call all workers get the
    state of rank 0, unless their states are equal. After HostsUpdatedInterrupt the function is
    called again, after state.on_reset(). After MembersChanged or HorovodInternalError itself it is
    called again from the last commit. An expelled worker whose process lives rejoins the elastic
    job first."""

    @functools.wraps(func)
    def wrapper(state, *arguments, **options):
        skip_sync = False
        while True:
            try:
                if not skip_sync:
                    state.sync()
                return func(state, *arguments, **options)
            except HostsUpdatedInterrupt as interrupt:
                skip_sync = interrupt.skip_sync
            except errors.Error as error:
                if returning.may_return(error):
                    returning.come_again(error)
                    state.restore()
                elif _may_go_on(error):
                    state.restore()
                    state.attend()
                else:
                    raise
                skip_sync = False
            state.on_reset()

    return wrapper
