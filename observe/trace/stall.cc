// SPDX-License-Identifier: Apache-2.0
// A job that has stalled at the end of a trace: pushes without a reply show which node is waited
// for.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "observe/trace/analysis.h"

namespace stretto::trace {
namespace {

constexpr std::int64_t kLeastNs = 1'000'000'000;
constexpr std::int64_t kTimesUsual = 5;

struct Moments {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t moved = std::numeric_limits<std::int64_t>::min();  // Time of the last push or value.
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
};

Moments moments_of(const Trace& trace) {
  Moments moments;
  for (const Node& node : trace.nodes) {
    for (const TraceRecord& record : node.records) {
      moments.begin = std::min(moments.begin, record.begin_ns);
      moments.end = std::max(moments.end, record.end_ns);
      if (record.frame != kPushFrame && record.frame != kValueFrame) continue;
      moments.moved = std::max(moments.moved, record.end_ns);
    }
  }
  return moments;
}

using PartKey = std::pair<std::uint32_t, std::uint32_t>;  // Of a tensor.

// The parts of a trace, and each worker's progress on them.
class Parts {
 public:
  Parts(const Trace& trace, const Flows& flows) {
    for (std::size_t place = 0; place < trace.nodes.size(); ++place) {
      const Node& node = trace.nodes[place];
      if (node.role == Role::kWorker) workers_[node.node] = place;
    }
    for (const auto& [key, flow] : flows.all) {
      const PartKey part{key.tensor, key.part};
      if (flow.arrived || flow.summed) servers_.try_emplace(part, flow.server);
      if (flow.answered || flow.came) valued_.insert(key.tensor);
      if (flow.queued || flow.arrived) shares_[part][key.round][key.worker] = &flow;
    }
  }

  std::vector<Standstill::Wait> waits() const {
    Found found;
    for (const auto& [part, rounds] : shares_) {
      // No worker waits for a value of a tensor that is only pushed.
      if (!valued_.empty() && !valued_.contains(part.first)) continue;
      look(part, rounds, found);
    }
    std::vector<Standstill::Wait> waits;
    for (const auto& [wait, tensors] : found) {
      const auto& [what, server, workers] = wait;
      waits.push_back(
          {.what = what, .server = server, .workers = workers, .tensors = tensors.size()});
    }
    return waits;
  }

 private:
  using Shares = std::map<std::uint32_t, const Flow*>;  // Contributions of a round, by worker.
  using Rounds = std::map<std::uint64_t, Shares>;
  using What = Standstill::What;
  using Wait = std::tuple<What, std::size_t, std::vector<std::size_t>>;
  using Found = std::map<Wait, std::set<std::uint32_t>>;  // Tensors that wait this way.

  // The last round of a part shows what is missing, if anything.
  void look(const PartKey& part, const Rounds& rounds, Found& found) const {
    const auto& [round, shares] = *rounds.rbegin();
    const auto known = servers_.find(part);
    const std::size_t server = known == servers_.end() ? kNobody : known->second;
    std::map<What, std::vector<std::size_t>> who;
    for (const auto& [worker, place] : workers_) {
      const auto share = shares.find(worker);
      if (share == shares.end()) {
        if (would_be_seen(worker, rounds)) who[What::kPush].push_back(place);
      } else if (!share->second->arrived && !share->second->summed) {
        who[What::kInFlight].push_back(place);
      } else if (share->second->answered && !share->second->came) {
        who[What::kValue].push_back(place);
      } else if (!share->second->came) {
        who[What::kAnswer].push_back(place);
      }
    }
    // Waiting workers are a consequence; if no worker is missing, the server is the cause.
    const bool lacking = who.contains(What::kPush) || who.contains(What::kInFlight);
    if (lacking && !who.contains(What::kAnswer)) who.erase(What::kPush);
    if (lacking) who.erase(What::kAnswer);
    for (const auto& [what, workers] : who) found[{what, server, workers}].insert(part.first);
  }

  // True if a push of this worker in the last round would be in the trace.
  static bool would_be_seen(std::uint32_t worker, const Rounds& rounds) {
    if (rounds.rbegin()->first <= 1) return true;
    return std::any_of(rounds.begin(), rounds.end(),
                       [worker](const auto& item) { return item.second.contains(worker); });
  }

  std::map<std::uint32_t, std::size_t> workers_;  // Their indices, by identity.
  std::map<PartKey, std::size_t> servers_;
  std::set<std::uint32_t> valued_;  // Tensors with received values.
  std::map<PartKey, Rounds> shares_;
};

}  // namespace

Standstill standstill_of(const Trace& trace, const Flows& flows, std::int64_t usual_ns) {
  const Moments moments = moments_of(trace);
  if (moments.end <= moments.begin) return {};
  Standstill standstill;
  standstill.nothing = moments.moved < moments.begin;
  standstill.ns = moments.end - std::max(moments.moved, moments.begin);
  if (standstill.ns <= std::max(kLeastNs, kTimesUsual * usual_ns)) return {};
  standstill.waits = Parts(trace, flows).waits();
  return standstill;
}

}  // namespace stretto::trace
