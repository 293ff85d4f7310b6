# SPDX-License-Identifier: Apache-2.0
"""ElasticSampler: divides the rest of an epoch among the current members."""

import weakref
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Sized, Tuple

import numpy
import torch

from stretto import session

_SEEDS = 1 << 32
_dividers: "weakref.WeakSet[Any]" = weakref.WeakSet()


def note_divider(one: Any) -> None:
    """Notes that the program has an object that redistributes samples, during its lifetime."""
    _dividers.add(one)


def divides_anew() -> bool:
    """True if this program has an ElasticSampler or a similar object."""
    return len(_dividers) > 0


class ElasticSampler(torch.utils.data.Sampler):
    """This worker's part of a dataset, like a DistributedSampler; it also remembers processed
    samples, so that the rest can be redistributed. For that it must be a value of a TorchState,
    whose workers exchange their progress.

    Each sample of an epoch is processed at least once. Repeated samples are those that pad the end
    of an epoch, so that all workers make the same number of steps, and those that a lost worker had
    processed after its last commit() or check_host_updates().

    dataset   of the same length at all workers
    shuffle   in another order each epoch, the same at all workers, by
    seed      and the number of the epoch
    """

    def __init__(self, dataset: Sized, shuffle: bool = True, seed: int = 0) -> None:
        super().__init__(dataset)
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self.rank, self.num_replicas = 0, 1
        self._done: Any = numpy.zeros(len(dataset), dtype=bool)  # By position in the epoch's order.
        self._seats: Optional[Tuple[int, ...]] = None  # The seats of the division; None: by ranks.
        self._processed: Dict[int, int] = {}  # Progress by seat, as last agreed.
        self._per_step: Optional[int] = None  # Total samples of all workers.
        self._by_index: Optional[Tuple[Any, Any]] = None  # Indices in order, and their positions.
        self._divide()
        note_divider(self)

    # ---- as Horovod's

    def set_epoch(self, epoch: int) -> None:
        """Starts another epoch, without processed samples. Call it at the end of the previous
        epoch, after the last commit()."""
        self.epoch = epoch
        self._done[:] = False
        self._divide()

    def record_batch(self, batch_idx: int, batch_size: int) -> None:
        """Marks the batch of that number since the last division as processed. All batches but the
        last have `batch_size` samples."""
        first, last = batch_idx * batch_size, (batch_idx + 1) * batch_size
        if self._per_step is not None:
            ends = self.ends
            first, last = ends[min(batch_idx, len(ends) - 1)], ends[min(batch_idx + 1,
                                                                        len(ends) - 1)]
        self._recorded[first:last] = True

    def record_indices(self, indices: Iterable[int]) -> None:
        """Marks samples of this worker's part as processed. ValueError for indices that are no
        whole numbers."""
        if self._by_index is None:
            mine = numpy.array(self.indices, dtype=int)
            order = numpy.argsort(mine, kind="stable")
            self._by_index = mine[order], order
        values, places = self._by_index
        chosen: Any = numpy.array(list(indices))
        if len(chosen) and chosen.dtype.kind not in "iu":
            raise ValueError(f"indices are whole numbers, and not of the type {chosen.dtype}")
        firsts: Any = numpy.searchsorted(values, chosen, side="left")
        lasts: Any = numpy.searchsorted(values, chosen, side="right")
        for first, last in zip(firsts, lasts):
            self._recorded[places[first:last]] = True  # More than one where the part was padded.

    def reset(self) -> None:
        """Divides the unprocessed samples among the current members. A TorchState calls it
        automatically; without one, the others' progress is assumed to equal this worker's."""
        self._settle()
        self._divide()

    def state_dict(self) -> Dict[str, Any]:
        """The state for load_state_dict(): the samples of this epoch known to be processed."""
        known = self._known_done()
        return {"epoch": self.epoch, "processed_num": int(known.sum()),
                "processed": numpy.packbits(known).tobytes()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continues there. ValueError if it is of a dataset of another length. Also accepts
        Horovod's state, which has only the number of processed samples."""
        done: Any = numpy.zeros(len(self.dataset), dtype=bool)
        if "processed" in state_dict:
            bits = numpy.frombuffer(state_dict["processed"], dtype=numpy.uint8)
            if len(bits) != (len(done) + 7) // 8:
                raise ValueError(f"this is the state of a sampler of {8 * len(bits)} samples, and "
                                 f"there are {len(done)}")
            done = numpy.unpackbits(bits, count=len(done)).astype(bool)
        else:
            done[:state_dict["processed_num"]] = True
        self.epoch, self._done = state_dict["epoch"], done
        self._divide()

    @property
    def processed_num(self) -> int:
        """Samples of this epoch that are known to be processed."""
        return int(self._known_done().sum())

    @property
    def remaining_indices(self) -> List[int]:
        """The samples that were divided among the workers."""
        return self._order[self._places].tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices)

    def __len__(self) -> int:
        return self.num_samples

    # ---- batches of constant size

    def batches(self, batch_size: int) -> "Batches":
        """For DataLoader(dataset, batch_sampler=sampler.batches(32)): each step has as many samples
        as the initial workers have in batches of that size, divided among the current members. Pass
        the sampler to DistributedOptimizer(sampler=), which weights their means."""
        self._per_step = batch_size * session.current().seats
        self._divide()
        return Batches(self)

    @property
    def ends(self) -> List[int]:
        """Bounds of this worker's batches in its part."""
        return self._ends

    def weight(self) -> float:
        """The weight of this worker's gradient of the next unrecorded batch in a mean over the
        workers: its samples divided by the mean number of samples."""
        if self._per_step is None or not self.num_samples:
            return 1.0
        step = int(numpy.searchsorted(self._ends, self.processed_here, side="right")) - 1
        step = min(step, len(self._ends) - 2)
        sizes = [len(part) for part in (self._step_of(place, step)
                                        for place in range(self.num_replicas))]
        return sizes[self.rank] * self.num_replicas / sum(sizes)

    # ---- for the state

    @property
    def processed_here(self) -> int:
        """Samples of this worker's part that were recorded, up to the first gap."""
        return self.num_samples if self._recorded.all() else int(self._recorded.argmin())

    def note(self, processed: Mapping[int, int]) -> None:
        """Stores the progress of the workers, by seat; absent workers keep their last value."""
        self._processed.update((seat, count) for seat, count in processed.items()
                               if seat in (self._seats or ()))

    def divide(self, seats: Sequence[int]) -> None:
        """Divides the rest, after the noted progress, among the workers in these seats."""
        self._settle()
        self._divide(tuple(seats))

    def snapshot(self) -> Tuple[Any, ...]:
        """The complete state, for back_to()."""
        return (self.epoch, self._done.copy(), self._seats, dict(self._processed),
                self._recorded.copy(), self.rank, self.num_replicas)

    def back_to(self, snapshot: Tuple[Any, ...]) -> None:
        """Restores the snapshot."""
        self.epoch, done, seats, processed, recorded, self.rank, self.num_replicas = snapshot
        self._done = done.copy()
        self._cut(seats)
        self._processed = dict(processed)
        self._recorded = recorded.copy()

    # ---- inside

    def _divide(self, seats=None):
        now = session.current()
        seats = seats or now.seats_in
        if seats is None:
            self.rank, self.num_replicas = now.rank, now.size
        else:
            self.rank, self.num_replicas = seats.index(now.seat), len(seats)
        self._cut(seats)

    def _cut(self, seats):
        # By rank and num_replicas: the unprocessed samples, in order, and this worker's part of
        # them.
        order = numpy.arange(len(self.dataset))
        if self.shuffle:
            numpy.random.RandomState((self.seed + self.epoch) % _SEEDS).shuffle(order)
        self._order, self._seats, self._processed = order, seats, {}
        self._places = numpy.flatnonzero(~self._done)
        mine = self._part(self.rank)
        self.indices = order[self._places[mine]].tolist()
        self.num_samples = len(self.indices)
        self.total_size = self.num_samples * self.num_replicas
        self._recorded = numpy.zeros(self.num_samples, dtype=bool)
        self._by_index = None
        self._ends = [0]
        if self._per_step is not None:
            sizes = [len(self._step_of(self.rank, step)) for step in range(self._steps())]
            self._ends = [0, *numpy.cumsum(sizes).tolist()]

    def _steps(self):
        return -(-len(self._places) // self._per_step)

    def _part(self, place):
        # The part of that rank in processing order: positions in _places.
        left = len(self._places)
        if not left:
            return numpy.zeros(0, dtype=int)
        if self._per_step is None:
            each = -(-left // self.num_replicas)
            return numpy.arange(place, each * self.num_replicas, self.num_replicas) % left
        return numpy.concatenate([self._step_of(place, step) for step in range(self._steps())])

    def _step_of(self, place, step):
        first = step * self._per_step
        size = min(self._per_step, len(self._places) - first)
        if size < self.num_replicas:  # One each, so that all make the same steps.
            return numpy.array([first + place % size])
        return numpy.arange(first + size * place // self.num_replicas,
                            first + size * (place + 1) // self.num_replicas)

    def _known_done(self):
        # Includes the noted progress of others, and all samples recorded here.
        done = self._done.copy()
        for place in range(self.num_replicas):
            if place == self.rank or self._seats is None:  # No loss: all have equal progress.
                count = self.processed_here
            else:
                count = self._processed.get(self._seats[place], 0)
            done[self._places[self._part(place)[:count]]] = True
        return done

    def _settle(self):
        self._done = self._known_done()


class Batches(torch.utils.data.Sampler):
    """See ElasticSampler.batches()."""

    def __init__(self, sampler: ElasticSampler) -> None:
        super().__init__(None)
        self._sampler = sampler

    def __iter__(self) -> Iterator[List[int]]:
        ends, indices = self._sampler.ends, self._sampler.indices
        return iter([indices[first:last] for first, last in zip(ends, ends[1:])])

    def __len__(self) -> int:
        return len(self._sampler.ends) - 1
