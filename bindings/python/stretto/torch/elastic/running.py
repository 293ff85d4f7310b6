# SPDX-License-Identifier: Apache-2.0
"""run(): calls a training function again whenever other workers are in than before."""

import functools
from typing import Any, Callable

from stretto import errors, returning
from stretto.torch.elastic.errors import HostsUpdatedInterrupt


def _may_go_on(error):
    # Of a job that has ended every call fails, with a cause of its own; who raises the base class
    # by Horovod's name wants to go back.
    return isinstance(error, errors.MembersChanged) or type(error) is errors.Error


def run(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function whose first argument is a State. Before each call the state becomes that
    of rank 0, unless all have the same already. The function is called again, after
    state.on_reset(), when it ends by HostsUpdatedInterrupt; and from what was committed last, when
    it ends by MembersChanged or by HorovodInternalError itself, or because an elastic job has lost
    this worker, whose process lives: it joins the job again first."""

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
