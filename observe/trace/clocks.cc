// SPDX-License-Identifier: Apache-2.0
// A node with messages in one direction only is placed as if its frames took no time.
#include "observe/trace/clocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace stretto::trace {
namespace {

constexpr double kOneWayWeight = 1e-3;
constexpr int kMostSweeps = 2000;
constexpr double kSettledNs = 0.01;
constexpr double kMostShiftNs = 0x1p61;  // Twice the largest plausible time.

using Pair = std::pair<std::size_t, std::size_t>;  // From and to, by index in the trace.

struct Difference {
  std::size_t from = 0;
  std::size_t to = 0;
  double ns = 0;  // Offset of `to`'s clock from `from`'s.
  double weight = 1;
};

// The least delay, by their own clocks, from each node to another.
std::map<Pair, double> delays_of(const Trace& trace) {
  std::map<std::uint32_t, std::size_t> places;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) places[trace.nodes[i].node] = i;
  std::map<std::pair<FlowKey, std::uint8_t>, Pair> sent;  // By flow and frame: sender, record.
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const Node& node = trace.nodes[i];
    for (std::size_t r = 0; r < node.records.size(); ++r) {
      const TraceRecord& record = node.records[r];
      if (record.kind == TraceKind::kSend) sent[{flow_of(node, record), record.frame}] = {i, r};
    }
  }
  std::map<Pair, double> delays;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const Node& node = trace.nodes[i];
    for (const TraceRecord& record : node.records) {
      if (record.kind != TraceKind::kReceive) continue;
      const auto found = sent.find({flow_of(node, record), record.frame});
      const auto place = places.find(record.peer);
      if (found == sent.end() || place == places.end()) continue;
      const auto [from, at] = found->second;
      if (from != place->second || from == i) continue;  // Another node's of the same name.
      const auto delay =
          static_cast<double>(record.begin_ns - trace.nodes[from].records[at].begin_ns);
      auto [known, is_new] = delays.try_emplace({from, i}, delay);
      if (!is_new) known->second = std::min(known->second, delay);
    }
  }
  return delays;
}

std::vector<Difference> differences_of(const std::map<Pair, double>& delays, Clocks& clocks) {
  std::vector<Difference> differences;
  clocks.least_round_trip_ns = std::numeric_limits<double>::infinity();
  for (const auto& [pair, there] : delays) {
    const auto back = delays.find({pair.second, pair.first});
    if (back == delays.end()) {
      differences.push_back({pair.first, pair.second, there, kOneWayWeight});
    } else if (pair.first < pair.second) {
      differences.push_back({pair.first, pair.second, (there - back->second) / 2, 1});
      clocks.least_round_trip_ns = std::min(clocks.least_round_trip_ns, there + back->second);
      ++clocks.pairs;
    }
  }
  if (clocks.pairs == 0) clocks.least_round_trip_ns = 0;
  return differences;
}

// Initial estimate, from neighbour to neighbour. Unconnected nodes keep a shift of 0.
void spread(const std::vector<Difference>& differences, std::vector<double>& shifts,
            std::vector<bool>& fixed) {
  std::vector<std::vector<std::size_t>> around(shifts.size());
  for (std::size_t d = 0; d < differences.size(); ++d) {
    around[differences[d].from].push_back(d);
    around[differences[d].to].push_back(d);
  }
  std::vector<bool> known(shifts.size());
  for (std::size_t root = 0; root < shifts.size(); ++root) {
    if (known[root]) continue;
    known[root] = true;
    fixed[root] = true;
    std::vector<std::size_t> open = {root};
    while (!open.empty()) {
      const std::size_t node = open.back();
      open.pop_back();
      for (const std::size_t d : around[node]) {
        const Difference& difference = differences[d];
        const bool forward = difference.from == node;
        const std::size_t other = forward ? difference.to : difference.from;
        if (known[other]) continue;
        known[other] = true;
        shifts[other] = shifts[node] + (forward ? difference.ns : -difference.ns);
        open.push_back(other);
      }
    }
  }
}

// Gauss-Seidel on the normal equations: moves each node to its neighbours' estimate.
void settle(const std::vector<Difference>& differences, std::vector<double>& shifts,
            const std::vector<bool>& fixed) {
  std::vector<std::vector<std::size_t>> around(shifts.size());
  for (std::size_t d = 0; d < differences.size(); ++d) {
    around[differences[d].from].push_back(d);
    around[differences[d].to].push_back(d);
  }
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double moved = 0;
    for (std::size_t node = 0; node < shifts.size(); ++node) {
      if (fixed[node] || around[node].empty()) continue;
      double sum = 0;
      double weight = 0;
      for (const std::size_t d : around[node]) {
        const Difference& difference = differences[d];
        const bool forward = difference.to == node;
        const double there = forward ? shifts[difference.from] + difference.ns
                                     : shifts[difference.to] - difference.ns;
        sum += difference.weight * there;
        weight += difference.weight;
      }
      moved = std::max(moved, std::abs(sum / weight - shifts[node]));
      shifts[node] = sum / weight;
    }
    if (moved < kSettledNs) return;
  }
}

}  // namespace

Clocks clocks_of(const Trace& trace) {
  Clocks clocks;
  clocks.shift_ns.resize(trace.nodes.size());
  const std::vector<Difference> differences = differences_of(delays_of(trace), clocks);
  std::vector<bool> fixed(trace.nodes.size());
  spread(differences, clocks.shift_ns, fixed);
  settle(differences, clocks.shift_ns, fixed);
  for (const Difference& d : differences) {
    if (d.weight < 1) continue;
    const double says = clocks.shift_ns[d.to] - clocks.shift_ns[d.from];
    clocks.most_residual_ns = std::max(clocks.most_residual_ns, std::abs(says - d.ns));
  }
  return clocks;
}

void align(Trace& trace, const Clocks& clocks) {
  for (std::size_t i = 0; i < trace.nodes.size() && i < clocks.shift_ns.size(); ++i) {
    const auto shift = static_cast<std::int64_t>(
        std::llround(std::clamp(clocks.shift_ns[i], -kMostShiftNs, kMostShiftNs)));
    for (TraceRecord& record : trace.nodes[i].records) {
      record.begin_ns -= shift;
      record.end_ns -= shift;
    }
  }
}

}  // namespace stretto::trace
