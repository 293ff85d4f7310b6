// SPDX-License-Identifier: Apache-2.0
// Turns the user's group calls into requests to the loop.
#include "stretto/group.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "common/memory/crc32c.h"
#include "worker/api/ticket_batch.h"
#include "worker/api/worker_impl.h"
#include "worker/operations/call_plan.h"

namespace stretto {
namespace {

Status no_group(std::string cause) {
  return Status(Code::kInvalidArgument, std::move(cause)).with_operation("group");
}

// "0-3, 6".
std::string in_words(const std::vector<Rank>& ranks) {
  std::string text;
  for (std::size_t from = 0; from < ranks.size();) {
    std::size_t to = from;
    while (to + 1 < ranks.size() && ranks[to + 1] == ranks[to] + 1) ++to;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[from]);
    if (to > from) text += fmt::format("-{}", ranks[to]);
    from = to + 1;
  }
  return text;
}

Status check_ranks(const std::vector<Rank>& ranks, std::uint32_t workers, Rank self) {
  const auto twice = std::ranges::adjacent_find(ranks);
  if (twice != ranks.end()) return no_group(fmt::format("rank {} is named twice", *twice));
  if (ranks.back() >= workers) {
    return no_group(fmt::format("rank {} of {} workers; ranks are 0 to {}", ranks.back(), workers,
                                workers - 1));
  }
  if (ranks.size() > kMostGroupPlaces) {
    return no_group(
        fmt::format("{} members, at most {} are taken", ranks.size(), kMostGroupPlaces));
  }
  if (std::ranges::binary_search(ranks, self)) return {};
  return no_group(fmt::format("worker {} is none of the workers {}", self, in_words(ranks)));
}

constexpr std::size_t kLongestWords = 200;  // They fit into a tensor's name.

std::uint64_t elements_in(std::size_t bytes, Dtype dtype) {
  return bytes / std::max<std::size_t>(bytes_of(dtype), 1);
}

}  // namespace

class Group::Impl {
 public:
  Impl(detail::WorkerImpl& of, Tensor known_as, std::vector<Rank> members, std::uint32_t own)
      : worker(of), tensor(known_as), ranks(std::move(members)), self(own) {}

  detail::WorkerImpl& worker;
  const Tensor tensor;  // The group is declared as this one.
  const std::vector<Rank> ranks;
  const std::uint32_t self;
};

Result<Group> Group::of(Worker& worker, std::vector<Rank> ranks, const GroupOptions& options) {
  detail::WorkerImpl& impl = *worker.impl_;
  if (Status status = detail::refusal(impl, "group"); !status.ok()) return status;
  if (ranks.empty()) {
    ranks.resize(worker.size());
    std::iota(ranks.begin(), ranks.end(), Rank{0});
  }
  std::ranges::sort(ranks);
  if (Status status = check_ranks(ranks, worker.size(), worker.rank()); !status.ok()) return status;
  if (options.exchange == Exchange::kServers) {
    return no_group("exchange servers is for tensors; a group has direct, ring, halving and tree");
  }
  std::string members = fmt::format("group of workers {}", in_words(ranks));
  if (members.size() > kLongestWords) {
    members = fmt::format("group of {} workers from {} to {} ({:08x})", ranks.size(), ranks.front(),
                          ranks.back(), crc32c(std::as_bytes(std::span(ranks))));
  }
  const TensorSpec spec{
      .name = fmt::format("{} #{}", members, impl.count_group(members)),
      .dtype = Dtype::kU8,
      .elements = 0,
      .options = {.deterministic = options.deterministic, .exchange = options.exchange}};
  const Result<Tensor> tensor =
      impl.loop()
          .ask_until<Result<Tensor>>(Time::max(),
                                     [spec, ranks](WorkerNode& node, WorkerNode::Declared done) {
                                       node.work().declare(spec, std::move(done), ranks);
                                     })
          .value_or(detail::interrupted("group"));
  if (!tensor.ok()) return tensor.status();
  const auto own = std::ranges::lower_bound(ranks, worker.rank()) - ranks.begin();
  Group group(std::make_shared<const Impl>(impl, *tensor, std::move(ranks),
                                           static_cast<std::uint32_t>(own)));
  if (Status status = group.barrier().wait(); !status.ok()) return status;
  return group;
}

std::uint32_t Group::rank() const { return impl_->self; }
std::uint32_t Group::size() const { return static_cast<std::uint32_t>(impl_->ranks.size()); }
const std::vector<Rank>& Group::ranks() const { return impl_->ranks; }

Ticket Group::call(GroupCallArgs what, int priority) {
  return begin_call(impl_->worker, impl_->tensor,
                    std::make_shared<const GroupCallArgs>(std::move(what)), priority);
}

Ticket Group::barrier(int priority) {
  return call({.call = {.kind = CallKind::kBarrier}}, priority);
}

Ticket Group::all_reduce(Dtype dtype, std::span<const std::byte> source,
                         std::span<std::byte> target, ReduceOp op, int priority) {
  return call({.call = {.kind = CallKind::kAllReduce,
                        .op = op,
                        .dtype = dtype,
                        .elements = elements_in(source.size(), dtype)},
               .source = source,
               .target = target},
              priority);
}

Ticket Group::reduce(Dtype dtype, std::span<const std::byte> source, std::span<std::byte> target,
                     std::uint32_t root, ReduceOp op, int priority) {
  return call({.call = {.kind = CallKind::kReduce,
                        .op = op,
                        .dtype = dtype,
                        .root = root,
                        .elements = elements_in(source.size(), dtype)},
               .source = source,
               .target = target},
              priority);
}

Ticket Group::broadcast(std::span<std::byte> data, std::uint32_t root, int priority) {
  return call({.call = {.kind = CallKind::kBroadcast, .root = root, .elements = data.size()},
               .source = root == rank() ? data : std::span<std::byte>(),
               .target = data},
              priority);
}

Ticket Group::all_gather(std::span<const std::byte> source, std::span<std::byte> target,
                         int priority) {
  return call({.call = {.kind = CallKind::kAllGather, .elements = source.size()},
               .source = source,
               .target = target},
              priority);
}

Ticket Group::gather(std::span<const std::byte> source, std::span<std::byte> target,
                     std::uint32_t root, int priority) {
  return call({.call = {.kind = CallKind::kGather, .root = root, .elements = source.size()},
               .source = source,
               .target = target},
              priority);
}

Ticket Group::scatter(std::span<const std::byte> source, std::span<std::byte> target,
                      std::uint32_t root, int priority) {
  return call({.call = {.kind = CallKind::kScatter, .root = root, .elements = target.size()},
               .source = source,
               .target = target},
              priority);
}

Ticket Group::reduce_scatter(Dtype dtype, std::span<const std::byte> source,
                             std::span<std::byte> target, ReduceOp op, int priority) {
  return call({.call = {.kind = CallKind::kReduceScatter,
                        .op = op,
                        .dtype = dtype,
                        .elements = elements_in(target.size(), dtype)},
               .source = source,
               .target = target},
              priority);
}

Ticket Group::all_to_all(std::span<const std::byte> source, std::span<std::byte> target,
                         int priority) {
  return call({.call = {.kind = CallKind::kAllToAll, .elements = source.size() / size()},
               .source = source,
               .target = target},
              priority);
}

Ticket Group::all_to_all(std::span<const std::byte> source, std::span<const std::size_t> give,
                         std::span<std::byte> target, std::span<const std::size_t> take,
                         int priority) {
  return call({.call = {.kind = CallKind::kAllToAll},
               .source = source,
               .target = target,
               .give = {give.begin(), give.end()},
               .take = {take.begin(), take.end()}},
              priority);
}

Ticket Group::send(std::span<const std::byte> source, std::uint32_t to, std::uint64_t tag,
                   int priority) {
  return call({.call = {.kind = CallKind::kSend, .root = rank(), .elements = source.size()},
               .source = source,
               .target = {},
               .peer = to,
               .tag = tag},
              priority);
}

Ticket Group::receive(std::span<std::byte> target, std::uint32_t from, std::uint64_t tag,
                      int priority) {
  return call({.call = {.kind = CallKind::kSend, .root = from, .elements = target.size()},
               .source = {},
               .target = target,
               .peer = rank(),
               .tag = tag},
              priority);
}

}  // namespace stretto
