// SPDX-License-Identifier: Apache-2.0
// Rosters as schedulers make them.
#include "tests/fuzz/members.h"

#include <fmt/format.h>

#include "tests/fuzz/job.h"

namespace stretto::fuzz {

Roster roster_of_three(bool elastic) {
  Roster roster{.epoch = 1,
                .fence = 1,
                .workers = kWorkers,
                .servers = 1,
                .slots = kSlots,
                .members = {},
                .settings = job_settings()};
  if (elastic) roster.settings.min_workers = 1;
  roster.members.push_back(
      {.node = kShardNode, .role = Role::kServer, .rank = 0, .address = "shard:1"});
  for (Rank rank = 0; rank < kWorkers; ++rank) {
    const bool ours = kFirstNode + rank == kOurNode;
    roster.members.push_back({.node = kFirstNode + rank,
                              .role = Role::kWorker,
                              .rank = rank,
                              .address = ours ? kOurAddress : fmt::format("other-{}:1", rank)});
  }
  return roster;
}

bool lose_in(Roster& roster, std::uint32_t worker, bool lost) {
  Member& member = roster.members[1 + worker];
  if (member.node == kOurNode || member.left) return false;
  member.left = true;
  member.lost = lost;
  ++roster.epoch;
  --roster.workers;
  Rank rank = 0;
  for (Member& each : roster.members) {
    if (each.role != Role::kWorker || each.left) continue;
    const Rank number = each.number();
    each.rank = rank++;
    each.moved_up = number - each.rank;
  }
  return true;
}

control::Regroup choice_from(Input& input, const Roster& roster, std::size_t tensors) {
  control::Regroup said{.decided = input.flag(), .generation = input.small()};
  if (input.rarely(8)) said.generation = input.number();
  for (const Member& member : roster.members) {
    const bool is_in = member.role == Role::kWorker && !member.left;
    if (is_in != input.rarely(8)) said.members.push_back(member.node);
  }
  if (input.rarely(8)) said.members.push_back(input.small());
  for (std::uint32_t tensor = 1; tensor <= tensors; ++tensor) {
    control::Regroup::Finished finished{.tensor = tensor, .least = input.small()};
    if (input.rarely(8)) finished.least = input.number();
    for (std::size_t part = input.below(4); part > 0; --part) {
      finished.ahead.push_back(static_cast<std::uint32_t>(input.small()));
    }
    said.finished.push_back(finished);
  }
  return said;
}

GroupCall group_call_from(Input& input) {
  constexpr std::uint64_t kCounts[] = {16, 1, 0, 40};
  constexpr Dtype kDtypes[] = {Dtype::kF32, Dtype::kU8};
  GroupCall call;
  call.kind = static_cast<CallKind>(1 + input.below(10));
  call.op = input.rarely(4) ? static_cast<ReduceOp>(input.below(8)) : ReduceOp::kSum;
  call.dtype = kDtypes[input.rarely(8) ? 1 : 0];
  call.root = static_cast<std::uint32_t>(input.below(4));
  call.elements = kCounts[input.below(std::size(kCounts))];
  return call;
}

}  // namespace stretto::fuzz
