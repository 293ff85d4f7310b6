# SPDX-License-Identifier: Apache-2.0
"""Calls the bindings of stretto._core in a job of two workers with checkpoints, and prints the name
of each. The second run of the job, which restores the checkpoint, reads it as well. A place is an
address and a number of bytes, or of float32 elements for Parameters.
"""

import array
import tempfile

from stretto import _core



class Caller:
    """Calls bindings by name and records each."""

    def __init__(self):
        self.called = set()

    def __call__(self, owner, name, *arguments):
        """owner.name(*arguments), or the value of that property."""
        of = owner if isinstance(owner, type) else type(owner)
        self.called.add(name if owner is _core else f"{of.__name__}.{name}")
        found = getattr(owner, name)
        return found(*arguments) if callable(found) else found

    def make(self, of, *arguments):
        """A new object of a bound class."""
        self.called.add(f"{of.__name__}.__init__")
        return of(*arguments)

    def wait(self, ticket):
        """Waits for a ticket of any kind."""
        self(ticket, "wait")

    def read_all(self, value):
        """Reads each property of a value."""
        for name in dir(value):
            if not name.startswith("_"):
                self(value, name)


def floats(*values):
    return array.array("f", values)


def place(values):
    address, elements = values.buffer_info()
    return address, elements * values.itemsize


def call_worker(call, worker):
    """The worker's own operations; both workers contribute 1 and 2."""
    call.read_all(call(_core.Options, "from_environment"))
    tensor = call(worker, "declare", "x", "f32", 2)
    call.read_all(tensor)
    given, got = floats(1, 2), floats(0, 0)
    pushed = call(worker, "push", tensor, place(given), 0, given)
    pulled = call(worker, "pull", tensor, place(got), 0, got)
    for name, arguments in (("set_priority", (1,)), ("set_deadline", (60.0,)), ("pause", ()),
                            ("resume", ())):
        call(pulled, name, *arguments)
    call.wait(pushed)
    call.wait(pulled)
    assert got.tolist() == [2, 4], got
    assert call(pulled, "wait_for", 1.0) and call(pulled, "done")
    assert call(pulled, "waits_for") == ""
    call.read_all(call(pulled, "info"))
    ended = call.make(_core.EndedTickets)
    both = call(worker, "push_pull", [(tensor, place(given)[0], *place(got))], 0, (given, got))
    call(ended, "watch", both, 7)
    call.wait(both)
    assert call(ended, "take") == 7
    call(ended, "close")
    call(call(worker, "listen", tensor, place(got), 0, got), "cancel")
    shared = call(worker, "declare", "shared", "f32", 2)
    call.wait(call(worker, "broadcast", shared, place(given), 0, 0, given))
    for name in ("rank", "size", "elastic", "lost_as", "tracing", "next_step", "barrier"):
        call(worker, name)
    call(worker, "note_span", "compute", 0.0, 0.001)
    call(worker, "report", "loss", 1.0)
    call(call(worker, "pause", "evaluation"), "end")


def call_group(call, worker):
    """Each call of a group of both workers."""
    group = call(_core.Group, "of", worker, [0, 1])
    assert (call(group, "size"), call(group, "ranks")) == (2, [0, 1])
    rank = call(group, "rank")
    other = 1 - rank
    four, two, into = floats(1, 2, 3, 4), floats(5, 6), floats(0, 0, 0, 0)
    half = floats(0, 0)
    sizes, none = [8, 8], (0, 0)
    for name, arguments in (
            ("all_reduce", ("f32", place(four), place(into), "sum")),
            ("reduce", ("f32", place(four), none if rank else place(into), 0, "sum")),
            ("reduce_scatter", ("f32", place(four), place(half), "sum")),
            ("broadcast", (place(four), 0)),
            ("all_gather", (place(two), place(into))),
            ("gather", (place(two), none if rank else place(into), 0)),
            ("scatter", (none if rank else place(four), place(half), 0)),
            ("all_to_all", (place(four), place(into), None, None)),
            ("all_to_all", (place(four), place(into), sizes, sizes))):
        call.wait(call(group, name, *arguments, 0, (four, two, into, half)))
    sent = call(group, "send", place(two), other, 3, 0, two)
    call.wait(call(group, "receive", place(half), other, 3, 0, half))
    call.wait(sent)
    assert half.tolist() == [5, 6], half
    call.wait(call(group, "barrier", 0))


def call_parameters(call, worker):
    """One step of eager parameters."""
    values = floats(1, 1)
    address, elements = values.buffer_info()
    held = call.make(_core.Parameters, worker, ["weights"], [(address, elements)], "eager")
    call(held, "compensate", [(address, elements)])
    call(held, "step", [(address, elements)])
    call(held, "finish")
    assert len(call(held, "values", 0)) == 8
    info = call(held, "info")
    call.read_all(info)


def call_checkpoints(call, worker):
    """Saves twice, or reads what an earlier run has saved."""
    kept = call.make(_core.Checkpoints, worker)
    values = floats(3, 4)
    address, size = place(values)
    given = [("state", address, size, "each", "f32", "2")]
    number, step = call(kept, "restored")
    if not number:
        call(kept, "due", 1)
        call(kept, "save", 1, given)
        ticket = call(kept, "begin", 2, given)
        call.wait(ticket)
        assert call(ticket, "done")
        return
    assert step == 2, step
    mine = [each for each in call(kept, "attached") if each.rank == worker.rank]
    call.read_all(mine[0])
    got = floats(0, 0)
    call(kept, "read", mine[0], place(got))
    assert got.tolist() == [3, 4], got


def call_reader(call):
    """A reader of three records, and the tuner of decoding."""
    with tempfile.NamedTemporaryFile() as file:
        for payload in (b"one", b"two", b"three"):
            file.write(call(_core, "tfrecord", payload))
        file.flush()
        options = call.make(_core.ReaderOptions)
        for name, value in (("set_format", "tfrecord"), ("set_on_error", "fail"),
                            ("set_method", "threads"), ("set_direct", None)):
            call(options, name, value)
        options.paths = [file.name]
        for name in dir(options):
            if not name.startswith(("_", "set_")):
                setattr(options, name, call(options, name))
        reader = call.make(_core.Reader, options)
        begin = call(reader, "cursor")
        sample = call(reader, "next")
        call.read_all(sample)
        view = call(sample, "bytes")
        assert (view.tobytes(), call(view.obj, "__len__")) == (b"one", 3)
        call(reader, "seek", begin)
        for name in ("epoch", "passed", "samples", "epoch_samples", "fingerprint", "method",
                     "problem_count", "problems", "tuning_log", "take_window"):
            call(reader, name)
        call(reader, "set_knobs", *call(reader, "knobs"))
        call(reader, "cursor_of", 0)
    tuner = call.make(_core.DecodeTuner, 4)
    call(tuner, "measured", 1.0, 1.0, 10, 0.5, 0.1)
    for name in ("threads", "window", "log"):
        call(tuner, name)
    call(_core, "codec", "topk,k=0.01")


def main():
    call = Caller()
    worker = call(_core.Worker, "join", _core.Options.from_environment())
    call_checkpoints(call, worker)
    call_worker(call, worker)
    call_group(call, worker)
    call_parameters(call, worker)
    call_reader(call)
    call(worker, "sit_out")
    call(worker, "note_ending")
    call(worker, "leave")
    call(worker, "abandon")
    watch = call.make(_core.NoticeWatch, 20.0)
    call(watch, "reinstall")
    assert call(watch, "told_ago") is None
    call(_core, "keep_other_threads_out")
    print("called", *sorted(call.called))
    print("done")


if __name__ == "__main__":
    main()
