# SPDX-License-Identifier: Apache-2.0
"""What interrupts elastic training, under Horovod's names."""

from stretto.errors import Error as HorovodInternalError

__all__ = ["HorovodInternalError", "HostsUpdatedInterrupt"]


class HostsUpdatedInterrupt(RuntimeError):
    """Other workers are in than before. run() catches it and calls its function again.

    skip_sync   none has come: who is left has the same state, and needs no other's
    """

    def __init__(self, skip_sync: bool = False) -> None:
        super().__init__("other workers are in the job than before")
        self.skip_sync = skip_sync
