// SPDX-License-Identifier: Apache-2.0
// Groups: what workers do together without servers and without names of tensors.
//
//   stretto::Group all = stretto::Group::of(worker).or_exit();
//   all.all_reduce(stretto::Dtype::kF32, std::as_bytes(std::span(mine)),
//                  std::as_writable_bytes(std::span(sum))).wait().or_exit();  // vectors of float
//
// All members make the same calls on a group in the same order; each call's n-th is matched with
// the others' n-th, so several groups, or several threads with a group each, do not meet. Members
// that disagree on a call get kMismatch, with both calls, and the group can be used no further.
// Sends and receives are between two members and matched apart from these, by their tag. Groups and
// tags are remembered for as long as the worker lives: a program has few of them.
//
// Memory, tickets, priorities, threads and errors are those of the Worker (worker.h): calls return
// at once, what is given is lent until the ticket has ended, and source and target do not overlap;
// but except in all_to_all they may be the same memory, or one this member's own block of the
// other. A ticket of a group's call cannot be cancelled: others may have its contribution.
// A member keeps what others give to sums and broadcasts before its own call: 64 MiB of a group at
// most (256 parts, where parts are smaller than 256 KiB). What exceeds that waits in the memory of
// its sender, whose ticket ends later; calls of other groups do not wait for it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "stretto/reduce_op.h"
#include "stretto/worker.h"

#pragma GCC visibility push(default)
namespace stretto {

struct GroupCallArgs;

/// How a group's calls are made. All members give the same.
struct GroupOptions {
  /// The trees of all_reduce and broadcast; the others send to who is to have it. Not kServers.
  Exchange exchange = Exchange::kDirect;
  /// Sums have the same bits whatever comes first, at the price of keeping what comes early.
  bool deterministic = false;
};

/// Some workers of a job of fixed size, and this one among them. A small value; copies are the same
/// group. The worker outlives it. Thread: any.
class Group {
 public:
  /// The workers of these ranks, each once; none: all. Each of them calls this, with the same ranks
  /// and options, and of those with the same ranks in the same order; a member's number is its
  /// place in the order of ranks. Blocks until all have; kTimeout says who is waited for.
  /// kInvalidArgument if this worker is not among them; kUnsupported in an elastic job, or if some
  /// worker cannot be called by others.
  static Result<Group> of(Worker& worker, std::vector<Rank> ranks = {},
                          const GroupOptions& options = {});

  /// This member's number, and how many there are.
  std::uint32_t rank() const;
  std::uint32_t size() const;
  /// Their ranks in the job, by number.
  const std::vector<Rank>& ranks() const;

  // Sizes are in bytes, whole elements of the type; "n blocks" is one for each member, by number.

  /// Ends when all members have called it.
  Ticket barrier(int priority = 0);
  /// `target` receives the reduction of all sources: the same bits at all members.
  Ticket all_reduce(Dtype dtype, std::span<const std::byte> source, std::span<std::byte> target,
                    ReduceOp op = ReduceOp::kSum, int priority = 0);
  /// Only the root's does; the others give an empty target.
  Ticket reduce(Dtype dtype, std::span<const std::byte> source, std::span<std::byte> target,
                std::uint32_t root, ReduceOp op = ReduceOp::kSum, int priority = 0);
  /// Every member's `data` becomes what the root has in it.
  Ticket broadcast(std::span<std::byte> data, std::uint32_t root, int priority = 0);
  /// `target` receives n blocks, each as large as the sources.
  Ticket all_gather(std::span<const std::byte> source, std::span<std::byte> target,
                    int priority = 0);
  /// Only the root's does; the others give an empty target.
  Ticket gather(std::span<const std::byte> source, std::span<std::byte> target, std::uint32_t root,
                int priority = 0);
  /// `target` receives this member's of the n blocks that the root gives; the others give none.
  Ticket scatter(std::span<const std::byte> source, std::span<std::byte> target, std::uint32_t root,
                 int priority = 0);
  /// Of n blocks, `target` receives the reduction of this member's.
  Ticket reduce_scatter(Dtype dtype, std::span<const std::byte> source, std::span<std::byte> target,
                        ReduceOp op = ReduceOp::kSum, int priority = 0);
  /// Of n blocks of `source` each member receives its own, in the order of members.
  Ticket all_to_all(std::span<const std::byte> source, std::span<std::byte> target,
                    int priority = 0);
  /// The same with blocks of these sizes in bytes, one for each member: `give` of the source,
  /// `take` of the target. What one gives is what the other takes, or it is kMismatch.
  Ticket all_to_all(std::span<const std::byte> source, std::span<const std::size_t> give,
                    std::span<std::byte> target, std::span<const std::size_t> take,
                    int priority = 0);
  /// To one member, who receives as much with the same tag; sends of one tag come in their order.
  /// Ends when it has been sent, which is not before the receiver has called.
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
