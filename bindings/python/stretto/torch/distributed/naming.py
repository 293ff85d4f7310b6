# SPDX-License-Identifier: Apache-2.0
"""Queries of PyTorch 2's torch.distributed to a group, other than collective calls: its name, the
devices of its tensors, and the features of its backend.
"""

import torch
import torch.distributed as dist

_CPU = torch.device("cpu")


class NamedGroup(dist.ProcessGroup):
    """A group that is also its own backend. PyTorch's C++ calls the methods with names of C++.
    Thread: any."""

    supports_splitting = False
    supports_coalescing = False  # Means _start_coalescing(); the *_coalesced calls need no support.
    supports_time_estimate = False
    supports_shrinking = False
    supports_reconfigure = False
    supports_window = False

    _group_name = ""
    _group_desc = ""

    def setGroupName(self, name):  # pylint: disable=invalid-name
        """Called before the group is used."""
        self._group_name = name

    def getGroupName(self):  # pylint: disable=invalid-name
        """Functional collectives find the group by it; the same at all members."""
        return self._group_name

    def setGroupDesc(self, description):  # pylint: disable=invalid-name
        """For logs of PyTorch."""
        self._group_desc = description

    def getGroupDesc(self):  # pylint: disable=invalid-name
        """The value set before; empty: none."""
        return self._group_desc

    @property
    def _device_types(self):
        return [_CPU]

    def _get_backend(self, device):
        if torch.device(device).type != "cpu":
            raise RuntimeError("backend 'stretto' is for tensors of the CPU, and a call wants it "
                               f"for tensors on {device}")
        return self

    get_backend = _get_backend

    def supports_tensor_alloc(self, device):
        """False: the backend has no memory of its own for tensors."""
        del device
        return False
