// SPDX-License-Identifier: Apache-2.0
// Groups: what workers do together without servers and without names of tensors.
//
//   stretto::Group all = stretto::Group::of(worker).or_exit();
//   all.all_reduce(stretto::Dtype::kF32, std::as_bytes(std::span(mine)),
//                  std::as_writable_bytes(std::span(sum))).wait().or_exit();  // vectors of float
//
// All members make the same calls on a group in the same order; their n-th calls are matched. So
// several groups, or several threads with a group each, do not interfere. Members that disagree on
// a call get kMismatch, with both calls, and the group is unusable afterwards. Sends and receives
// are between two members, and matched separately, by their tag. Groups and tags are kept for as
// long as the worker lives: a program has few of them.
//
// Memory, tickets, priorities, threads and errors are those of the Worker (worker.h). Calls return
// at once, memory is lent until the ticket has ended, and source and target do not overlap. Except
// in all_to_all they may be the same memory, or one of them this member's own block of the other. A
// ticket of a group's call cannot be cancelled: peers may have its contribution.
// A member keeps peers' contributions to sums and broadcasts before its own call: at most 64 MiB of
// a group (256 parts, where parts are smaller than 256 KiB). The excess waits in its sender's
// memory, and that ticket ends later; calls of other groups do not wait for it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "stretto/reduce_op.h"
#include "stretto/worker.h"

#pragma GCC visibility push(default)
namespace stretto {

struct GroupCallArgs;

/// How a group's calls are made. All members give the same options.
struct GroupOptions {
  /// The trees of all_reduce and broadcast; other calls send directly. Not kServers.
  Exchange exchange = Exchange::kDirect;
  /// Sums have the same bits in any order of arrival, at the cost of buffering early contributions.
  bool deterministic = false;
};

/// Some workers of a job of fixed size, this one among them. A small value; copies refer to the
/// same group. The worker outlives it. Thread: any.
class Group {
 public:
  /// The workers of these ranks, each once; no ranks: all workers. Each of them calls this, with
  /// the same ranks and options, and groups of the same ranks in the same order. A member's number
  /// is its place in the order of ranks. Blocks until all have called; kTimeout names the missing
  /// workers. kInvalidArgument if this worker is not among them; kUnsupported in an elastic job, or
  /// if some worker accepts no connections.
  static Result<Group> of(Worker& worker, std::vector<Rank> ranks = {},
                          const GroupOptions& options = {});

  /// This member's number, and the number of members.
  std::uint32_t rank() const;
  std::uint32_t size() const;
  /// The members' ranks in the job, by number.
  const std::vector<Rank>& ranks() const;

  // Sizes are in bytes, whole elements of the type; "n blocks" is one for each member, by number.

  /// Ends when all members have called it.
  Ticket barrier(int priority = 0);
  /// `target` receives the reduction of all sources: the same bits at all members.
  Ticket all_reduce(Dtype dtype, std::span<const std::byte> source, std::span<std::byte> target,
                    ReduceOp op = ReduceOp::kSum, int priority = 0);
  /// Only the root's target does; other members give an empty one.
  Ticket reduce(Dtype dtype, std::span<const std::byte> source, std::span<std::byte> target,
                std::uint32_t root, ReduceOp op = ReduceOp::kSum, int priority = 0);
  /// Every member's `data` becomes the root's.
  Ticket broadcast(std::span<std::byte> data, std::uint32_t root, int priority = 0);
  /// `target` receives n blocks, each as large as the sources.
  Ticket all_gather(std::span<const std::byte> source, std::span<std::byte> target,
                    int priority = 0);
  /// Only the root's target does; other members give an empty one.
  Ticket gather(std::span<const std::byte> source, std::span<std::byte> target, std::uint32_t root,
                int priority = 0);
  /// `target` receives this member's block of the root's n blocks; other members give none.
  Ticket scatter(std::span<const std::byte> source, std::span<std::byte> target, std::uint32_t root,
                 int priority = 0);
  /// `target` receives the reduction of this member's block of the n blocks of all sources.
  Ticket reduce_scatter(Dtype dtype, std::span<const std::byte> source, std::span<std::byte> target,
                        ReduceOp op = ReduceOp::kSum, int priority = 0);
  /// Each member receives its own of the n blocks of `source`, in the order of members.
  Ticket all_to_all(std::span<const std::byte> source, std::span<std::byte> target,
                    int priority = 0);
  /// Likewise with blocks of these sizes in bytes, one for each member: `give` of the source,
  /// `take` of the target. kMismatch if a block's sizes differ between its sender and its receiver.
  Ticket all_to_all(std::span<const std::byte> source, std::span<const std::size_t> give,
                    std::span<std::byte> target, std::span<const std::size_t> take,
                    int priority = 0);
  /// To one member, which receives the same size with the same tag; sends of one tag arrive in
  /// order. Ends when it has been sent, which is not before the receiver has called.
  Ticket send(std::span<const std::byte> source, std::uint32_t to, std::uint64_t tag = 0,
              int priority = 0);
  Ticket receive(std::span<std::byte> target, std::uint32_t from, std::uint64_t tag = 0,
                 int priority = 0);

 private:
  class Impl;
  explicit Group(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  Ticket call(GroupCallArgs what, int priority);

  std::shared_ptr<const Impl> impl_;
};

}  // namespace stretto
#pragma GCC visibility pop
