// SPDX-License-Identifier: Apache-2.0
// The worker API: what a training program uses to exchange tensors through the servers.
//
//   stretto::Worker worker = stretto::Worker::join().or_exit();
//   stretto::Tensor grads = worker.declare("grads", stretto::Dtype::kF32, n).or_exit();
//   worker.push_pull(grads, mine, sum).wait().or_exit();   // sum over all workers
//   worker.leave().or_exit();
//
// Threads: every call may be made from any thread. A worker has a loop, which sends, receives and
// runs callbacks: on its own thread, or on a thread that waits for it (declare, barrier, sit_out,
// leave, save_state, load_state, and a ticket's wait); never on two at once. Blocking calls return
// kInvalidArgument in a callback of on_done. A waiting thread must hold no lock that a callback
// takes, even with a time limit, which ends no callback. A callback runs with the thread-local
// state of its thread (CUDA device, rounding mode, locale, signal mask), and must restore what it
// changes. pthread_cancel of a waiting thread takes effect after the call.
//
// Memory: an operation's memory is lent until its ticket has ended, and is neither copied nor freed
// by Stretto. Any alignment will do. Meanwhile a source must not change and a target must not be
// read.
//
// Errors: no call waits for ever. Each operation ends within Options::operation_timeout, with a
// Status that names the operation, the peer and the cause. Once a member is lost, every operation
// in flight and every later call fails with that cause; the program then ends, or joins another job
// with a new Worker. In an elastic job (STRETTO_MIN_WORKERS) operations continue with the remaining
// workers, and a sum is exact over the workers that ValueInfo::contributors counts.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/input_account.h"
#include "stretto/numbers.h"
#include "stretto/status.h"
#include "stretto/tensor.h"
#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto {

/// A declared tensor: one-dimensional here, whatever its shape in the program. A small value; copy
/// it freely. Only the Worker that made it can use it: a Tensor that does not match its declaration
/// is refused with kInvalidArgument.
struct Tensor {
  std::uint32_t id = 0;  ///< Given by the scheduler, the same at all workers.
  Dtype dtype = Dtype::kF32;
  std::size_t elements = 0;
  /// The servers have its values already: the checkpoint that the job resumed from has them, and
  /// broadcast() would overwrite them.
  bool restored = false;
  NonFinite non_finite = NonFinite::kPass;  ///< As it was declared by this worker.
  /// The size of an operation's source and target.
  std::size_t bytes() const { return elements * bytes_of(dtype); }
};

/// True if an operation ended with `status` only because its contribution was rejected
/// (NonFinite::kReject): in modes with rounds the target has the value that the other workers made.
bool is_rejected(const Status& status);

/// What is known of the value that an operation received. For tensors of several parts, the oldest
/// part determines version and slowest, the part with most spread determines spread.
struct ValueInfo {
  /// Rounds (sync, eager) or contributions (the other modes) applied to the value.
  std::uint64_t version = 0;
  /// Versions between the value that this worker had before and this one, without its own.
  /// 0 for the first value at a worker which joined a running job.
  std::uint64_t staleness = 0;
  std::uint64_t applied = 0;  ///< This worker's own rounds in the value.
  std::uint64_t slowest = 0;  ///< Rounds of the slowest worker.
  std::uint32_t spread = 0;   ///< Rounds of the fastest worker, minus `slowest`.
  /// Workers whose contributions are in the last completed round: the divisor of a mean of a sum.
  /// For tensors of several parts the fewest; in an elastic job the parts may differ.
  std::uint32_t contributors = 0;
};

/// The ValueInfo of one part of a tensor: the unit in which it is sent, and in which its elements
/// have one version.
struct PartInfo {
  std::uint32_t tensor = 0;  ///< Tensor::id.
  std::size_t offset = 0;    ///< In the tensor, in bytes.
  std::size_t bytes = 0;     ///< At most STRETTO_PART_BYTES.
  ValueInfo info;
};

/// A worker's rank among the members. In an elastic job ranks are 0 to size - 1 at any time: if a
/// worker is lost or leaves, the others close up and keep their order.
struct JobView {
  std::uint32_t epoch = 0;  ///< Grows with each change.
  Rank rank = 0;
  std::uint32_t size = 1;
  std::uint32_t min_size = 0;  ///< Workers that the job needs to continue; 0: its size is fixed.
};

namespace detail {
class TicketState;
class WorkerImpl;
}  // namespace detail

/// The caller's handle on an operation in flight, like a future. Ends exactly once, with the first
/// error of its parts if there is any: kPeerLost, kServerLost, kSchedulerLost or kLinkBroken if the
/// job has failed; kTimeout after Options::operation_timeout; kMismatch if workers disagree on the
/// tensor; kInvalidArgument, kCancelled. Copies are handles on the same operation.
/// Dropping them does not cancel it: source and target are lent to Stretto until it has ended.
/// Thread: any.
class [[nodiscard]] Ticket {
 public:
  Ticket() = default;  ///< Ended, ok.
  explicit Ticket(std::shared_ptr<detail::TicketState> state) : state_(std::move(state)) {}

  /// Blocks until the end, at the latest the operation's own timeout; returns the outcome. This
  /// worker's callbacks may run in here. kInvalidArgument, at once, in a callback of on_done(): the
  /// thread that would end the operation cannot wait for it.
  Status wait() const;
  /// Blocks at most `limit`, plus the time of callbacks that run in here. kTimeout while done() is
  /// false means that the operation continues: the memory is still lent.
  Status wait_for(Duration limit) const;
  /// True once it has ended; wait() then returns at once. Never blocks.
  bool done() const;
  /// What it waits for, in words such as "it waits for worker 2"; empty if it has ended, or if
  /// nothing is known within a second, the longest time that this blocks.
  std::string waits_for() const;
  /// Calls `then` once with the outcome: on Stretto's thread or in a call that waits for this
  /// worker, or here before returning if the operation has ended. It may be called several times,
  /// with several functions. `then` must not block, wait for tickets or destroy the worker; it may
  /// start operations. Its exceptions are logged, but those from a call in here go to the caller.
  void on_done(std::function<void(const Status&)> then) const;
  /// About the value received; meaningful after an ok pull, push_pull or broadcast.
  ValueInfo info() const;
  /// The ValueInfo of each part, in no order: kept in the eager modes, where parts of one tensor
  /// may differ in which of this worker's own updates they hold. Empty in other modes.
  std::vector<PartInfo> parts() const;

  // TimedRPC: how the operation is scheduled may change while it is in flight. A change applies to
  // what has not left yet, even in the middle of a part.
  // Asynchronous: the calls return at once. No effect once the operation has ended.

  /// Higher goes first, over all tensors and links of this worker. Values come back with the
  /// priority that their part left with.
  void set_priority(int priority) const;
  /// Among operations of one priority the earlier deadline goes first; operations without a
  /// deadline go last. A deadline that passes is no error.
  void set_deadline(Time deadline) const;
  /// Holds back what has not left; the operation's own timeout still runs.
  void pause() const;
  void resume() const;  ///< Continues from where it was.
  /// Ends a pull at once, and a push of which nothing has left, with kCancelled. A push that has
  /// partly left continues: the other workers' round needs all of it. The next pull of the tensor
  /// waits until the servers have answered the cancelled one; pushes do not.
  void cancel() const;

 private:
  std::shared_ptr<detail::TicketState> state_;
};

/// Worker::pause(): lasts as long as this object, or until end(). It may outlive the worker.
/// Thread: one at a time.
class [[nodiscard]] Pause {
 public:
  Pause() = default;  ///< None.
  explicit Pause(std::shared_ptr<void> held) : held_(std::move(held)) {}
  /// The program trains again.
  void end() { held_.reset(); }

 private:
  std::shared_ptr<void> held_;
};

/// One tensor of a group operation. Both spans are the caller's memory, of tensor.bytes() each,
/// lent until the ticket has ended; they may be the same, but not overlap otherwise.
struct Transfer {
  Tensor tensor;
  std::span<const std::byte> source;
  std::span<std::byte> target;
  int priority = 0;  ///< Higher goes first.
};

namespace detail {
Ticket refused_elements(WorkerImpl& impl, std::string_view operation, std::string_view what,
                        std::string_view found, const Tensor& tensor);
template <typename R>
bool holds(const Tensor& tensor) {
  return is_element_of<std::ranges::range_value_t<R>>(tensor.dtype);
}
template <typename R>
Ticket refused(WorkerImpl& impl, std::string_view operation, std::string_view what,
               const Tensor& tensor) {
  constexpr std::string_view kFound = name_of_elements<std::ranges::range_value_t<R>>();
  return refused_elements(impl, operation, what, kFound, tensor);
}
}  // namespace detail

/// What a worker must know of its job. The rest of its configuration (log level, heartbeats,
/// transport) always comes from the environment. Thread: user.
struct Options {
  std::string scheduler;      ///< host:port.
  std::string token;          ///< The job's shared secret: 16 bytes at least if not on loopback.
  std::int64_t rank = -1;     ///< -1: the scheduler chooses.
  std::uint32_t workers = 1;  ///< World size; refused if the scheduler was told another.
  std::uint32_t servers = 1;  ///< Number of servers; 0: the job has none.
  /// ProgramSteps::lost_as() of the worker that this process was, if it rejoins its job: it keeps
  /// its number in texts for users. kSchedulerLost soon, if no scheduler listens any more.
  NodeId former = 0;
  /// How long join() tries to reach the scheduler, which has its own limit for the rendezvous.
  Duration rendezvous_timeout = std::chrono::seconds(60);
  /// Timeout of any operation, declare() and barrier(). The default exceeds the 300 s after which a
  /// server gives up on a round, so that its error, which names the missing workers, arrives.
  Duration operation_timeout = std::chrono::seconds(310);
  /// The folder of the job's checkpoints, the same at all members; empty: this worker has none.
  std::string checkpoint = "";
  /// The readers that this worker reports to the job (stretto/input.h). Null: none.
  std::shared_ptr<InputAccount> input_account = process_input_account();
  /// What the program's threads do in its own language, in lines, for `stretto-top --stack`. Called
  /// on Stretto's thread, at any time until the worker is gone; it must not wait for the program.
  std::function<std::string()> stack_source = {};

  /// From STRETTO_* variables (docs/CONFIGURATION.md), or DMLC_* where those are missing. An
  /// unusable value is kInvalidArgument, which names the variable.
  static Result<Options> from_environment();
};

/// A training process's membership in a job, with one thread of its own.
/// It belongs to the process that joined: in a child made by fork every call that waits or begins
/// something ends at once with kInvalidArgument, and destroying it does nothing.
/// Thread: any, except for moving and destroying it. Movable; a moved-from Worker can only be
/// destroyed or assigned to. Operations on one tensor run in the order in which they were started.
class Worker {
 public:
  /// Joins the job through the scheduler; blocks until all members have joined. kRendezvousTimeout
  /// names the missing members; kRefused names the mismatch in token, size, rank or version;
  /// kInvalidArgument and kResource (open files) name what of the options or this host is unusable;
  /// kServerLost names the unreachable server. Also tells malloc to keep up to 64 MiB of freed
  /// memory, which saves a tenth of the time of large exchanges.
  static Result<Worker> join();  ///< With Options::from_environment().
  static Result<Worker> join(const Options& options);

  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  /// Leaves, if leave() was not called or has not ended, and blocks at most 10 s for that;
  /// afterwards the others see this worker lost. It completes a checkpoint's file that it is
  /// writing. Tickets can be cancelled and resumed until then. When this returns, every ticket has
  /// ended, and no memory is lent any more.
  ~Worker();

  /// The rank, from 0 to size() - 1, and the number of workers. Constant, except in an elastic job.
  Rank rank() const;
  std::uint32_t size() const;
  /// Calls `then`, as callbacks of on_done are called, whenever rank() or size() have changed. A
  /// later function replaces an earlier one; null: no callback. Returns the current view.
  JobView on_view(std::function<void(const JobView&)> then);

  /// Declares a tensor to the job; blocks for one round trip to the scheduler. `name` has 1 to
  /// 1,024 bytes; `elements` may be 0, and is at most 2^39. The same name with the same description
  /// gives the same tensor at all workers, which may declare in any order; a different description
  /// is kMismatch here and at the workers that declared it. kInvalidArgument if no tensor can have
  /// the description (tensor.h), kResource if the job has too many tensors.
  Result<Tensor> declare(std::string_view name, Dtype dtype, std::size_t elements,
                         const TensorOptions& options = {});

  // All operations return at once and run on Stretto's thread. Memory of the wrong size ends the
  // ticket with kInvalidArgument before anything is sent.

  /// Contributes `source` to the tensor's next round. Ends when the servers have counted it; in
  /// modes with rounds it is in the value once every worker has pushed. In an elastic job a round
  /// that is open when a worker is lost is made without its push, counted or not.
  Ticket push(const Tensor& tensor, std::span<const std::byte> source, int priority = 0);
  /// Reads a value that contains at least everything this worker pushed before (and, in bounded
  /// mode, is within the bound). If there is no value yet, it ends when there is one. In mode
  /// kEagerAsync it waits only for that, and does not queue behind this worker's pushes:
  /// info().applied counts those in the value.
  Ticket pull(const Tensor& tensor, std::span<std::byte> target, int priority = 0);
  /// Requests only the version of the tensor's value, without its bytes and without waiting for
  /// other workers: one small frame to each shard that has parts of it. The ticket's info() has the
  /// answer, with staleness counted from the last value received here.
  Ticket probe(const Tensor& tensor);
  /// push and pull in one round trip: `target` receives the value with this round in it. `source`
  /// and `target` may be the same memory, but must not overlap otherwise; after an error the
  /// contents of `target` are undefined. Higher priorities go first.
  Ticket push_pull(const Tensor& tensor, std::span<const std::byte> source,
                   std::span<std::byte> target, int priority = 0);
  /// Several tensors as one operation, which ends when all have, with the first error. With none it
  /// has ended already. The array itself is copied.
  Ticket push_pull(std::span<const Transfer> transfers);
  /// Every worker's `data` becomes that of the worker `root`; servers that keep a value
  /// (is_of_its_round is false) set it to that, and their update rule forgets its state. All
  /// workers must call it with the same root (else kMismatch); it counts as one of the tensor's
  /// rounds, in every mode. In an elastic job all get kMembersChanged if the root is lost before it
  /// has given its bytes: no worker's `data` has changed then, and all can retry with a root that
  /// is a member.
  Ticket broadcast(const Tensor& tensor, std::span<std::byte> data, Rank root, int priority = 0);

  /// The state of the servers' update rule for a tensor: velocity, moments, the number of updates.
  /// With the values from pull() a program can resume training later. One worker calls it while no
  /// worker has a push in flight, as after a barrier: kMismatch if pushes arrive meanwhile.
  /// kInvalidArgument if the rule is no optimizer. Blocks until all parts have arrived. The bytes
  /// carry checksums and may be kept in a file.
  Result<std::vector<std::byte>> save_state(const Tensor& tensor);
  /// Sets that state again, in this job or a later one, with any number of workers and servers. The
  /// tensor must have the same rule, type and size, with the same STRETTO_PART_BYTES. One worker
  /// calls it, after broadcast(), which clears the state, and before a barrier after which training
  /// continues. Blocks until the servers have it. kMismatch (another tensor's state) and kMalformed
  /// (damaged bytes) change nothing. After another error the state is undefined.
  Status load_state(const Tensor& tensor, std::span<const std::byte> state);

  /// Blocks until every worker has called it as often as this one. kTimeout after
  /// Options::operation_timeout. It does not wait for this worker's operations in flight.
  Status barrier();
  /// For data that is not of the same length everywhere: waits until every worker has called this.
  /// Until then this worker contributes empty to the others' rounds, in modes that have them: sums
  /// exclude it, and means count it as zeros. No other call may begin meanwhile. Workers that
  /// broadcast, or reach a barrier, get kMismatch; calls of a Group wait. kUnsupported if a tensor
  /// is exchanged among workers. Returns the rank of the last worker to call it.
  Result<Rank> sit_out();

  /// Publishes a number of the program's own, such as its loss or accuracy, for stretto-top, the
  /// live page and metrics: `worker.report("loss", 0.31)`. The next heartbeat sends the latest
  /// value of each name, so reporting every step costs next to nothing. Never blocks, never fails a
  /// job. Values that are not finite, names of more than 64 bytes or with control characters, and
  /// names beyond 32 are left out, and logged once.
  void report(std::string_view name, double value);

  /// The program does something other than training for a while: `auto pause =
  /// worker.pause("evaluation");`. Until the pause ends, waiting for this worker is no stall, and
  /// the others' calls do not end with kTimeout; afterwards these have the full
  /// Options::operation_timeout again. Heartbeats report it. Never blocks.
  Pause pause(std::string_view what);
  /// The program ends: workers that wait for this one are told so from now on. Part of leave().
  void note_ending();

  /// True while the job is traced.
  bool tracing() const;
  /// What the program did from `begin` to `end`, for traces: computing, reading input, or copying
  /// to or from a device (kStage). Without this, time between waits counts as computing. No effect
  /// while the job is not traced, or if `end` is before `begin`.
  enum class Span : std::uint8_t { kCompute, kInput, kStage };
  void note_span(Span span, Time begin, Time end);

  /// Leaves in order; blocks until every operation in flight has ended. Later calls fail with
  /// kCancelled. kTimeout if that takes longer than `patience`; leaving then continues in the
  /// background, and another leave() waits for the same end.
  Status leave(Duration patience = Duration::max());

  // Overloads for numbers in vectors, spans and arrays, which are lent like spans of bytes: a
  // vector must neither grow nor be destroyed before the ticket has ended. Numbers of another type
  // than the tensor's end with kInvalidArgument at once, whatever their size; types that no tensor
  // has do not compile.
  template <Numbers Source>
  Ticket push(const Tensor& t, const Source& source, int priority = 0) {
    if (!detail::holds<Source>(t)) return detail::refused<Source>(*impl_, "push", "source", t);
    return push(t, std::as_bytes(std::span(source)), priority);
  }
  template <WritableNumbers Target>
  Ticket pull(const Tensor& t, Target&& target, int priority = 0) {
    if (!detail::holds<Target>(t)) return detail::refused<Target>(*impl_, "pull", "target", t);
    return pull(t, std::as_writable_bytes(std::span(target)), priority);
  }
  template <Numbers Source, WritableNumbers Target>
  Ticket push_pull(const Tensor& t, const Source& source, Target&& target, int priority = 0) {
    if (!detail::holds<Source>(t)) return detail::refused<Source>(*impl_, "push_pull", "source", t);
    if (!detail::holds<Target>(t)) return detail::refused<Target>(*impl_, "push_pull", "target", t);
    return push_pull(t, std::as_bytes(std::span(source)), std::as_writable_bytes(std::span(target)),
                     priority);
  }
  template <WritableNumbers Data>
  Ticket broadcast(const Tensor& t, Data&& data, Rank root, int priority = 0) {
    if (!detail::holds<Data>(t)) return detail::refused<Data>(*impl_, "broadcast", "data", t);
    return broadcast(t, std::as_writable_bytes(std::span(data)), root, priority);
  }

 private:
  friend class ProgramSteps;
  friend class Checkpoints;
  friend class Group;
  explicit Worker(std::unique_ptr<detail::WorkerImpl> impl);
  std::unique_ptr<detail::WorkerImpl> impl_;
};

}  // namespace stretto
#pragma GCC visibility pop
