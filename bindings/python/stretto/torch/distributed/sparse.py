# SPDX-License-Identifier: Apache-2.0
"""Sums of sparse tensors: every member gathers the entries of all, and adds them up."""

import torch

from stretto import errors


def check(op):
    """Raises Unsupported for a reduction other than a sum or a mean."""
    if op not in ("sum", "average"):
        raise errors.Unsupported(f"{op} of sparse tensors, wanted sum or average: entries that a "
                                 "member does not have are 0", operation="all_reduce")


class Entries:
    """The entries of one tensor, and the entries of all members, in tensors that have the same
    shape at all members. Thread: any, one at a time."""

    def __init__(self, tensor, members):
        own = tensor.detach().coalesce()
        self._tensor = tensor
        self._indices, self._values = own.indices(), own.values()
        self._members = members
        self.count = torch.tensor([self._values.shape[0]])
        self.counts = torch.empty(members, dtype=torch.int64)

    def padded(self):
        """(given, wanted) for indices and values, once the counts are known: each member's tensors
        are padded to the rows of the longest."""
        most = int(self.counts.max())
        self._all = [torch.empty(self._members, most, *kind.shape[1:], dtype=kind.dtype)
                     for kind in self._own()]
        return list(zip([self._longer(kind, most) for kind in self._own()], self._all))

    def _own(self):
        return self._indices.t(), self._values

    @staticmethod
    def _longer(rows, most):
        return torch.cat([rows, rows.new_zeros(most - rows.shape[0], *rows.shape[1:])])

    def store(self, divisor):
        """Sets the tensor to the sum of all, divided."""
        indices, values = (torch.cat([rows[member, :count] for member, count in
                                      enumerate(self.counts.tolist())]) for rows in self._all)
        total = torch.sparse_coo_tensor(indices.t(), values, self._tensor.shape).coalesce()
        with torch.no_grad():
            self._tensor.copy_(total if divisor == 1 else total / divisor)
