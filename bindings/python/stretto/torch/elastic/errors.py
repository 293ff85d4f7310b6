# SPDX-License-Identifier: Apache-2.0
"""Interrupts of elastic training, with Horovod's names."""

from stretto.errors import Error as HorovodInternalError

__all__ = ["HorovodInternalError", "HostsUpdatedInterrupt"]


class HostsUpdatedInterrupt(RuntimeError):
    """The members have changed. run() catches it and calls its function again.

    skip_sync   no worker has joined: the remaining workers have the same state, and need no sync
    """

    def __init__(self, skip_sync: bool = False) -> None:
        super().__init__("other workers are in the job than before")
        self.skip_sync = skip_sync
