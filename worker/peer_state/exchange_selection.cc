// SPDX-License-Identifier: Apache-2.0
// Chooses servers or workers, and the first trees.
#include "worker/peer_state/exchange_selection.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

namespace stretto {
namespace {

constexpr double kClearly = 0.9;

// True if some server has its own machine to add up at, and servers take clearly less time.
bool servers_are_faster(const TensorSpec& spec, const Roster& roster, const Participants& workers) {
  std::map<std::pair<std::uint64_t, NodeId>, std::uint32_t> machines;
  const auto machine_of = [&machines](const Member& member) {
    const std::pair where(member.machine, member.machine == 0 ? member.node : 0);
    return machines.try_emplace(where, static_cast<std::uint32_t>(machines.size())).first->second;
  };
  std::vector<std::uint32_t> of_workers;
  std::vector<std::uint32_t> of_shards;
  for (const NodeId node : workers.nodes) {
    of_workers.push_back(machine_of(*std::ranges::find(roster.members, node, &Member::node)));
  }
  for (const Member& member : roster.members) {
    if (member.role == Role::kServer && !member.standby) of_shards.push_back(machine_of(member));
  }
  if (of_shards.empty() || spec.bytes() == 0) return false;
  const std::uint32_t part_bytes = roster.settings.part_bytes;
  const collective::StrategyChoice among = first_choice(workers, spec.bytes(), part_bytes);
  const collective::Prediction by_servers =
      collective::predict_servers(of_workers, of_shards, spec.bytes(), part_bytes);
  return by_servers.seconds < kClearly * among.predicted.seconds;
}

Exchange exchange_of(collective::Primitive primitive) {
  switch (primitive) {
    case collective::Primitive::kRing:
      return Exchange::kRing;
    case collective::Primitive::kHalving:
      return Exchange::kHalving;
    case collective::Primitive::kTree:
      return Exchange::kTree;
    case collective::Primitive::kHierarchical:
      return Exchange::kHierarchical;
    default:
      return Exchange::kDirect;
  }
}

}  // namespace

collective::StrategyChoice first_choice(const Participants& members, std::uint64_t bytes,
                                        std::uint32_t part_bytes) {
  return collective::choose({.machines = members.machines, .rates = {}},
                            std::max<std::uint64_t>(bytes, 1), part_bytes);
}

TensorSpec settled(TensorSpec spec, const Roster& roster, NodeId self,
                   const std::vector<Rank>& group) {
  Exchange& exchange = spec.options.exchange;
  if (exchange != Exchange::kAuto) return spec;
  const bool can = goes_among_workers(spec).ok() && !roster.settings.elastic();
  if (!can && group.empty()) {  // A group is refused later, with the reason.
    exchange = Exchange::kServers;
    return spec;
  }
  const Participants members = Participants::of(roster, self, group);
  if (members.self == collective::kNobody) return spec;  // Refused later, with its name.
  if (group.empty() && servers_are_faster(spec, roster, members)) {
    exchange = Exchange::kServers;
  } else if (!group.empty() || spec.options.deterministic) {
    exchange =
        exchange_of(first_choice(members, spec.bytes(), roster.settings.part_bytes).plan.primitive);
  } else if (std::ranges::count(members.machines, members.machines.front()) ==
             std::ssize(members.machines)) {
    exchange = Exchange::kDirect;  // Within a host, contributions are read in place.
  }
  return spec;
}

Status fits(const TensorSpec& spec, const Roster& roster) {
  const CloseOptions& close = spec.options.close;
  if (close.waits_for_all()) return {};
  if (roster.settings.elastic()) {
    return {Code::kUnsupported,
            fmt::format("tensor '{}': rounds that end before all have contributed are for jobs of "
                        "fixed size; start this one with --workers N, or leave quorum and backups "
                        "out",
                        spec.name)};
  }
  const std::uint32_t workers = roster.workers;
  if (close.quorum > workers) {
    return {Code::kInvalidArgument,
            fmt::format("tensor '{}' wants a quorum of {}, and the job has {} workers", spec.name,
                        close.quorum, workers)};
  }
  if (workers % (close.backups + 1) == 0) return {};
  return {Code::kInvalidArgument,
          fmt::format("tensor '{}' wants {} backups, so a multiple of {} workers; the job has {}",
                      spec.name, close.backups, close.backups + 1, workers)};
}

}  // namespace stretto
