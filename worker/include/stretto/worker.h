// SPDX-License-Identifier: Apache-2.0
// The worker API: what a training program uses to exchange tensors through the servers.
//
//   stretto::Worker worker = stretto::Worker::join().or_exit();
//   stretto::Tensor grads = worker.declare("grads", stretto::Dtype::kF32, n).or_exit();
//   worker.push_pull(grads, mine, sum).wait().or_exit();   // sum over all workers
//   worker.leave().or_exit();
//
// Every call may be made from any thread, but for those that wait (declare, barrier, leave,
// save_state, load_state, and a ticket's wait): in a callback of on_done they answer
// kInvalidArgument. Nothing waits for ever: each operation ends within Options::operation_timeout
// with a Status that names the operation, the peer and the cause.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/numbers.h"
#include "stretto/status.h"
#include "stretto/tensor.h"
#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto {

/// A declared tensor. A small value; copy it freely. Only the Worker that made it can use it: one
/// that does not match what was declared there is refused with kInvalidArgument.
struct Tensor {
  std::uint32_t id = 0;
  Dtype dtype = Dtype::kF32;
  std::size_t elements = 0;
  std::size_t bytes() const { return elements * bytes_of(dtype); }
};

/// What is known of the value that an operation brought. For tensors of several parts, the oldest
/// part speaks for version and slowest, the most spread for spread.
struct ValueInfo {
  std::uint64_t version = 0;    ///< Rounds (sync) or shares (bounded, async) applied to the value.
  std::uint64_t staleness = 0;  ///< Versions that had passed when it was answered, beyond our own.
  std::uint64_t applied = 0;    ///< This worker's own rounds that are in it.
  std::uint64_t slowest = 0;    ///< Rounds of the slowest worker.
  std::uint32_t spread = 0;     ///< Rounds of the fastest worker, minus `slowest`.
};

/// The same for one part: where it lies in the tensor, in bytes.
struct PartInfo {
  std::uint32_t tensor = 0;  ///< Tensor::id.
  std::size_t offset = 0;
  std::size_t bytes = 0;
  ValueInfo info;
};

namespace detail {
class TicketState;
class WorkerImpl;
}  // namespace detail

/// The caller's handle on an operation under way. Ends exactly once. Thread: any. Dropping it does
/// not cancel the operation: the memory that was given must stay until it has ended.
class [[nodiscard]] Ticket {
 public:
  Ticket() = default;  ///< Ended, ok.
  explicit Ticket(std::shared_ptr<detail::TicketState> state) : state_(std::move(state)) {}

  /// Waits for the end. Bounded by the operation's own deadline. kInvalidArgument, at once, in a
  /// callback of on_done(): the thread that would end the operation is the one that would wait.
  Status wait() const;
  /// Waits at most `limit`. kTimeout means that the operation still goes on.
  Status wait_for(Duration limit) const;
  /// True once it has ended; wait() then returns at once.
  bool done() const;
  /// Calls `then` once with the outcome: on Stretto's thread, or at once if it has ended. `then`
  /// must not block, wait for tickets or destroy the worker; it may start operations. What it
  /// throws on Stretto's thread is logged.
  void on_done(std::function<void(const Status&)> then) const;
  /// About the value received; meaningful after an ok pull, push_pull or broadcast.
  ValueInfo info() const;
  /// The same for each part, in no order: kept in the eager modes, where parts of one tensor may
  /// differ in what they hold of this worker's own updates. Empty in the others.
  std::vector<PartInfo> parts() const;

  // TimedRPC: a change of mind while the operation goes on. What has left already is out of reach;
  // all the rest obeys from now on, even in the middle of a part. Without effect once it has ended.

  /// Higher goes first. The values' way back has the priority that each part left with.
  void set_priority(int priority) const;
  /// Among operations of one priority those that are wanted earlier go first, and those that have
  /// no deadline go last. A deadline that passes is no error.
  void set_deadline(Time deadline) const;
  /// Holds back what has not left; the operation's own timeout still runs.
  void pause() const;
  void resume() const;
  /// Ends a pull at once, and a push of which nothing has left, with kCancelled. A push that has
  /// begun goes on: the other workers count on the whole of it. The next pull of the tensor waits
  /// until the servers have answered the cancelled one; pushes do not.
  void cancel() const;

 private:
  std::shared_ptr<detail::TicketState> state_;
};

/// One tensor's part in a group operation. Both spans are the caller's memory, of tensor.bytes().
struct Transfer {
  Tensor tensor;
  std::span<const std::byte> source;
  std::span<std::byte> target;
  int priority = 0;
};

struct Options {
  std::string scheduler;      ///< host:port.
  std::string token;          ///< The job's shared secret; needed when not on loopback.
  std::int64_t rank = -1;     ///< -1: the scheduler chooses.
  std::uint32_t workers = 1;  ///< World size; refused if the scheduler was told another.
  std::uint32_t servers = 1;
  Duration rendezvous_timeout = std::chrono::seconds(60);
  Duration operation_timeout = std::chrono::seconds(310);

  /// From STRETTO_* variables (docs/CONFIGURATION.md), or DMLC_* where those are missing.
  static Result<Options> from_environment();
};

/// A training process's membership in a job. Thread: any. Movable.
class Worker {
 public:
  /// Meets the others through the scheduler; returns when all are there. Also tells malloc to keep
  /// up to 64 MiB of freed memory, which saves a tenth of the time of large exchanges.
  static Result<Worker> join();  ///< With Options::from_environment().
  static Result<Worker> join(const Options& options);

  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  /// Leaves, if leave() was not called or has not ended; after 10 s without that the others see
  /// this worker lost. Handles are heard until then. When this returns every ticket has ended, and
  /// nobody uses the memory that was given for it.
  ~Worker();

  Rank rank() const;
  std::uint32_t size() const;  ///< Workers in the job.

  /// Makes a tensor of `elements` known. The same name with the same description gives the same
  /// tensor; a different one is an error here and at the workers that declared it. Workers may
  /// declare in any order.
  Result<Tensor> declare(std::string_view name, Dtype dtype, std::size_t elements,
                         const TensorOptions& options = {});

  /// Contributes `source` to the tensor's next round. Ends when the servers have applied it.
  Ticket push(const Tensor& tensor, std::span<const std::byte> source, int priority = 0);
  /// Reads a value that has at least everything this worker pushed (and, in bounded mode, is within
  /// the bound). Waits for a first value if there is none yet. In mode kEagerAsync it waits for
  /// nothing else, and goes beside this worker's pushes: info().applied tells which are in it.
  Ticket pull(const Tensor& tensor, std::span<std::byte> target, int priority = 0);
  /// Asks only what is known of the tensor's value, without its bytes and without waiting for
  /// anybody: one small frame for each shard that has parts of it. The ticket's info() tells what
  /// has passed since the last value that came here.
  Ticket probe(const Tensor& tensor);
  /// push and pull in one round trip: `target` receives the value with this round in it. `source`
  /// and `target` may be the same memory; after an error its contents are undefined.
  /// Higher priorities go first.
  Ticket push_pull(const Tensor& tensor, std::span<const std::byte> source,
                   std::span<std::byte> target, int priority = 0);
  /// Several tensors as one operation, which ends when all have.
  Ticket push_pull(std::span<const Transfer> transfers);
  /// Every worker's `data` becomes what the worker `root` has in it; at servers that keep
  /// parameters they become that too. All workers must call it; it takes part in the tensor's
  /// rounds.
  Ticket broadcast(const Tensor& tensor, std::span<std::byte> data, Rank root, int priority = 0);

  /// What the servers' update rule (kSgd and above) remembers of a tensor: velocity, moments, the
  /// number of updates. Together with the values, which pull() brings, it is what a program needs
  /// to go on later as if nothing had been. One worker asks, while none has a share under way, as
  /// behind a barrier: kMismatch if shares come meanwhile. The bytes may be kept in a file.
  Result<std::vector<std::byte>> save_state(const Tensor& tensor);
  /// Makes the servers remember that again: in this job or a later one, with any number of workers
  /// and servers, for a tensor of the same rule, type and size, with the same STRETTO_PART_BYTES.
  /// One worker does it, after broadcast(), which makes the servers forget, and before a barrier
  /// behind which training goes on. kMismatch or kMalformed, with nothing changed, for bytes that
  /// do not fit. After another error the state is undefined.
  Status load_state(const Tensor& tensor, std::span<const std::byte> state);

  /// Returns when every worker has called it as often as this one.
  Status barrier();
  /// For data that is not of the same length everywhere: waits until every worker has called this.
  /// Until then this one takes part in the others' rounds, in modes that have them, with nothing:
  /// sums lack its share, and means count it as zeros. Nothing else may be begun meanwhile; others
  /// who broadcast, or come to a barrier, get a kMismatch. Returns the rank of who called it last.
  Result<Rank> sit_out();

  /// Tells how the program itself does (its loss, its accuracy), for stretto-top, the live page and
  /// metrics: `worker.report("loss", 0.31)`. The latest value of each name goes along with the next
  /// heartbeat, so that reporting every step costs next to nothing. No training ends for it: a
  /// value that is not finite, a name of more than 64 bytes or with control characters, and more
  /// than 32 names are left out, and the log says so once.
  void report(std::string_view name, double value);

  /// True while somebody traces the job.
  bool tracing() const;
  /// What the worker did, for traces: computing, reading input, or copying to or from a device.
  /// Time between waits counts as computing without this. Does nothing while nobody traces.
  enum class Span : std::uint8_t { kCompute, kInput, kStage };
  void note_span(Span span, Time begin, Time end);

  /// Leaves in order, after everything under way has ended. Calls made later fail with kCancelled.
  /// kTimeout if that takes longer than `patience`; then it goes on by itself, and another leave()
  /// waits for the same end.
  Status leave(Duration patience = Duration::max());

  // The same for numbers in vectors, spans and arrays. Those of another type than the tensor's end
  // with kInvalidArgument at once, whatever their size; types that no tensor has do not compile.
  template <Numbers Source>
  Ticket push(const Tensor& t, const Source& source, int priority = 0) {
    if (!holds<Source>(t)) return refused<Source>("push", "source", t);
    return push(t, std::as_bytes(std::span(source)), priority);
  }
  template <WritableNumbers Target>
  Ticket pull(const Tensor& t, Target&& target, int priority = 0) {
    if (!holds<Target>(t)) return refused<Target>("pull", "target", t);
    return pull(t, std::as_writable_bytes(std::span(target)), priority);
  }
  template <Numbers Source, WritableNumbers Target>
  Ticket push_pull(const Tensor& t, const Source& source, Target&& target, int priority = 0) {
    if (!holds<Source>(t)) return refused<Source>("push_pull", "source", t);
    if (!holds<Target>(t)) return refused<Target>("push_pull", "target", t);
    return push_pull(t, std::as_bytes(std::span(source)), std::as_writable_bytes(std::span(target)),
                     priority);
  }
  template <WritableNumbers Data>
  Ticket broadcast(const Tensor& t, Data&& data, Rank root, int priority = 0) {
    if (!holds<Data>(t)) return refused<Data>("broadcast", "data", t);
    return broadcast(t, std::as_writable_bytes(std::span(data)), root, priority);
  }

 private:
  explicit Worker(std::unique_ptr<detail::WorkerImpl> impl);
  template <typename R>
  static bool holds(const Tensor& tensor) {
    return is_element_of<std::ranges::range_value_t<R>>(tensor.dtype);
  }
  template <typename R>
  static Ticket refused(std::string_view operation, std::string_view what, const Tensor& tensor) {
    constexpr std::string_view kFound = name_of_elements<std::ranges::range_value_t<R>>();
    return refused_elements(operation, what, kFound, tensor);
  }
  static Ticket refused_elements(std::string_view operation, std::string_view what,
                                 std::string_view found, const Tensor& tensor);
  std::unique_ptr<detail::WorkerImpl> impl_;
};

}  // namespace stretto
#pragma GCC visibility pop
