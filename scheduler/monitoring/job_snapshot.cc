// SPDX-License-Identifier: Apache-2.0
// Converts heartbeats to rates, over windows of two seconds.
#include "scheduler/monitoring/job_snapshot.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "scheduler/monitoring/rounding.h"

namespace stretto {
namespace {

using Json = nlohmann::json;

constexpr Duration kRateWindow = 2s;
constexpr std::size_t kNodesASnapshotPage = 500;
constexpr std::size_t kMostReportBytes = 16384;  // Of a page, which must fit a control message.
constexpr std::size_t kMostHeld = std::size_t{1} << 18;

Json json_of(const std::optional<InputView>& input) {
  if (!input) return nullptr;
  return {{"per_s", rounded(input->bytes_per_s)},
          {"share", rounded(input->share)},
          {"stall_share", rounded(input->stall_share)},
          {"limit", input->limit_bytes},
          {"word", input->word}};
}

Json json_of(const std::optional<StallDiagnosis>& standstill) {
  if (!standstill) return nullptr;
  return {{"s", rounded(seconds(standstill->age))},
          {"role", std::string(name_of(standstill->role))},
          {"rank", standstill->rank},
          {"shard", standstill->shard},
          {"phase", std::string(name_of(standstill->phase))},
          {"cause", std::string(name_of(standstill->cause))},
          {"word", standstill->text}};
}

// A node's metrics, up to the room left on the page.
Json reports_of(const Snapshot::NodeState& node, std::size_t& room) {
  constexpr std::size_t kNumberBytes = 24;
  Json reports = Json::object();
  for (const auto& [name, value] : node.reports) {
    if (name.size() + kNumberBytes > room) break;
    room -= name.size() + kNumberBytes;
    reports[name] = value;
  }
  return reports;
}

// The strategies of current members: the first member of all tensors is mostly the same worker.
Json chosen_of(const std::map<NodeId, Snapshot::NodeState>& nodes) {
  Json all = Json::array();
  for (const auto& [id, node] : nodes) {
    if (node.member.left) continue;
    for (const control::Chosen& chosen : node.chosen) {
      if (all.size() == control::Heartbeat::kMostChosen) return all;
      all.push_back({{"plan", chosen.plan},
                     {"tensors", chosen.tensors},
                     {"bytes", chosen.bytes},
                     {"why", chosen.why}});
    }
  }
  return all;
}

}  // namespace

void Snapshot::set_members(const std::vector<Member>& members) {
  for (const Member& member : members) nodes_[member.node].member = member;
}

void Snapshot::left(NodeId node, bool lost) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  found->second.member.left = true;
  found->second.member.lost = lost;
}

void Snapshot::set_input(const std::map<Rank, InputView>& views) {
  for (auto& [id, node] : nodes_) {
    if (node.member.role != Role::kWorker) continue;
    const auto found = views.find(node.member.number());
    node.input = found == views.end() ? std::nullopt : std::optional(found->second);
  }
}

void Snapshot::heard(NodeId id, const control::Heartbeat& beat, Time now) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return;
  NodeState& node = found->second;
  ++node.heartbeats;
  node.rounds = beat.rounds;
  node.staleness = beat.staleness;
  node.bytes_in = beat.bytes_in;
  node.bytes_out = beat.bytes_out;
  node.frames_waiting = beat.frames_waiting;
  node.bytes_in_flight = beat.bytes_in_flight;
  node.heard = now;
  for (const control::Held& held : beat.held) note_held(id, held);
  if (node.member.role == Role::kWorker) {
    const bool is_new = node.member.from_step > 0 && !node.member.joining && !node.missed;
    if (is_new) {
      const std::uint64_t most = most_progress();
      node.missed = most - std::min(most, node.rounds);
    }
    node.held = held_of(node.member.number());
    for (const auto& [name, value] : beat.reports) keep_reported(node.reports, name, value);
    if (!beat.chosen.empty()) node.chosen = beat.chosen;
  }
  roll_window(node, now);
}

// Of current members.
std::uint64_t Snapshot::most_progress() const {
  std::uint64_t most = 0;
  for (const auto& [id, node] : nodes_) {
    const bool counts = node.member.role == Role::kWorker && !node.member.left;
    if (counts) most = std::max(most, node.progress());
  }
  return most;
}

void Snapshot::note_held(NodeId shard, const control::Held& held) {
  const auto by_shard = held_.find(held.rank);
  const bool is_known = by_shard != held_.end() && by_shard->second.contains(shard);
  if (!is_known && held_count_ == kMostHeld) return;
  held_count_ += is_known ? 0 : 1;
  held_[held.rank][shard] = held.time;
}

// A sum over shards would count simultaneous rounds twice: takes the shard that waited longest.
Duration Snapshot::held_of(Rank rank) const {
  Duration most{};
  const auto by_shard = held_.find(rank);
  if (by_shard == held_.end()) return most;
  for (const auto& [shard, time] : by_shard->second) most = std::max(most, time);
  return most;
}

void Snapshot::roll_window(NodeState& node, Time now) const {
  if (node.window != Time() && now - node.window < kRateWindow) return;
  const double passed = seconds(now - node.window);
  if (node.window != Time()) {
    const auto rate = [passed](std::uint64_t before, std::uint64_t after) {
      return after < before ? 0.0 : static_cast<double>(after - before) / passed;
    };
    node.in_per_s = rate(node.in_before, node.bytes_in);
    node.out_per_s = rate(node.out_before, node.bytes_out);
    node.rounds_per_s = rate(node.rounds_before, node.rounds);
    node.held_share = std::min(1.0, seconds(node.held - node.held_before) / passed);
  }
  node.window = now;
  node.in_before = node.bytes_in;
  node.out_before = node.bytes_out;
  node.rounds_before = node.rounds;
  node.held_before = node.held;
}

std::string Snapshot::json(std::string_view phase, std::size_t first, Time now) const {
  std::vector<const NodeState*> order;
  const std::uint64_t most = most_progress();
  for (const auto& [id, node] : nodes_) order.push_back(&node);
  std::sort(order.begin(), order.end(), [](const NodeState* a, const NodeState* b) {
    const auto key = [](const NodeState* node) {
      return std::tuple(node->member.role != Role::kWorker, node->member.rank, node->member.shard);
    };
    return key(a) < key(b);
  });
  Json nodes = Json::array();
  std::size_t room = kMostReportBytes;
  for (std::size_t i = first; i < order.size() && i < first + kNodesASnapshotPage; ++i) {
    const NodeState& node = *order[i];
    const bool lags = node.member.role == Role::kWorker && !node.member.left;
    nodes.push_back({{"name", node.member.describe()},
                     {"role", std::string(name_of(node.member.role))},
                     {"rank", node.member.number()},
                     {"shard", node.member.shard},
                     {"left", node.member.left},
                     {"lost", node.member.lost},
                     {"standby", node.member.standby && !node.member.left},
                     {"rounds", node.rounds},
                     {"behind", lags ? most - std::min(most, node.progress()) : 0},
                     {"staleness", node.staleness},
                     {"rounds_per_s", rounded(node.rounds_per_s)},
                     {"in_per_s", rounded(node.in_per_s)},
                     {"out_per_s", rounded(node.out_per_s)},
                     {"waiting", node.frames_waiting},
                     {"in_flight", node.bytes_in_flight},
                     {"held_share", rounded(node.held_share)},
                     {"silence_s", node.heard == Time() ? 0.0 : rounded(seconds(now - node.heard))},
                     {"reports", reports_of(node, room)},
                     {"input", json_of(node.input)}});
  }
  const Json all = {{"phase", std::string(phase)},
                    {"count", order.size()},
                    {"first", first},
                    {"stall", json_of(standstill_)},
                    {"exchange", chosen_of(nodes_)},
                    {"nodes", std::move(nodes)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stretto
