# SPDX-License-Identifier: Apache-2.0
"""A reader as PyTorch's DataLoader wants a data set."""

from typing import Any, Iterator

import torch

from stretto import errors


class Dataset(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """What Reader.as_dataset() gives."""

    def __init__(self, reader: Any) -> None:
        super().__init__()
        self._reader = reader

    def __iter__(self) -> Iterator[Any]:
        if torch.utils.data.get_worker_info() is not None:
            raise errors.Unsupported("a Reader in a DataLoader wants num_workers=0: it reads in "
                                     "threads of its own, and a forked process has none of them")
        return iter(self._reader)

    def __len__(self) -> int:
        return len(self._reader)
