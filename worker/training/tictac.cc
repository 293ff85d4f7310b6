// SPDX-License-Identifier: Apache-2.0
// Orders made from a model's graph: by layers, and TicTac's two. In its words, for an outstanding
// transfer: M is its time; P the computation that it alone still blocks; M+ the least total time of
// transfers that a computation needs, this transfer among them.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "stretto/order.h"

namespace stretto {
namespace {

constexpr Duration kUnmeasured = 1ms;
constexpr Duration kNever = Duration::max();

/// Indices of transfers.
class Set {
 public:
  explicit Set(std::size_t size) : words_((size + 63) / 64) {}
  void insert(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << i % 64; }
  void erase(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << i % 64); }
  bool contains(std::size_t i) const { return (words_[i / 64] >> i % 64 & 1) != 0; }
  void insert_all(const Set& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  /// Calls `use` with each index that is in `other`, too.
  template <typename Use>
  void for_each_in(const Set& other, Use use) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t both = words_[w] & other.words_[w]; both != 0; both &= both - 1) {
        use(64 * w + static_cast<std::size_t>(std::countr_zero(both)));
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

Status check(const ModelGraph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ModelGraph::Node& node = graph.nodes[i];
    for (const std::uint32_t input : node.inputs) {
      if (input < i) continue;
      return {Code::kInvalidArgument,
              fmt::format("node {} ('{}') comes after node {}; wanted inputs among the nodes "
                          "before it: sort the nodes as they can be computed",
                          i, node.name, input)};
    }
    for (const std::uint32_t transfer : node.transfers) {
      if (transfer < graph.transfers.size()) continue;
      return {Code::kInvalidArgument,
              fmt::format("node {} ('{}') needs transfer {}, the graph has {}", i, node.name,
                          transfer, graph.transfers.size())};
    }
  }
  return {};
}

// All transfers that each node waits for, its inputs' included.
std::vector<Set> needs_of(const ModelGraph& graph) {
  std::vector<Set> needs(graph.nodes.size(), Set(graph.transfers.size()));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::uint32_t input : graph.nodes[i].inputs) needs[i].insert_all(needs[input]);
    for (const std::uint32_t transfer : graph.nodes[i].transfers) needs[i].insert(transfer);
  }
  return needs;
}

struct Properties {
  Duration m{};
  Duration p{};
  Duration m_plus = kNever;
};

struct Times {
  std::vector<Duration> transfers;
  std::vector<Duration> nodes;
};

std::vector<Properties> properties_of(const std::vector<Set>& needs, const Times& times,
                                      const Set& outstanding) {
  std::vector<Properties> found(times.transfers.size());
  for (std::size_t i = 0; i < found.size(); ++i) found[i].m = times.transfers[i];
  for (std::size_t node = 0; node < needs.size(); ++node) {
    std::size_t count = 0;
    std::size_t only = 0;
    Duration sum{};
    needs[node].for_each_in(outstanding, [&](std::size_t i) {
      ++count;
      only = i;
      sum += times.transfers[i];
    });
    if (count == 1) found[only].p += times.nodes[node];
    if (count <= 1) continue;
    needs[node].for_each_in(
        outstanding, [&](std::size_t i) { found[i].m_plus = std::min(found[i].m_plus, sum); });
  }
  return found;
}

// Not a strict weak ordering: elements that are equal to the same one need not be equal. So nothing
// is sorted by it; the first is searched for.
bool goes_before(const Properties& x, const Properties& y) {
  const Duration a = std::min(y.p, x.m);
  const Duration b = std::min(x.p, y.m);
  return a != b ? a < b : x.m_plus < y.m_plus;
}

using Ranks = std::vector<std::uint32_t>;

Result<Order> order_of(std::string name, const ModelGraph& graph, const Result<Ranks>& ranks) {
  if (!ranks.ok()) return ranks.status();
  std::map<std::string, std::uint32_t, std::less<>> named;
  for (std::size_t i = 0; i < ranks->size(); ++i) {
    if (named.emplace(graph.transfers[i].name, (*ranks)[i]).second) continue;
    return Status(Code::kInvalidArgument,
                  fmt::format("the graph has two transfers of the name '{}'; wanted one for each "
                              "tensor",
                              graph.transfers[i].name));
  }
  return ranked_order(std::move(name), std::move(named));
}

}  // namespace

void time_transfers(ModelGraph& graph, double bytes_per_second) {
  for (ModelGraph::Transfer& transfer : graph.transfers) {
    transfer.time = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(static_cast<double>(transfer.bytes) / bytes_per_second));
  }
}

Result<Ranks> layer_ranks(const ModelGraph& graph) {
  if (Status status = check(graph); !status.ok()) return status;
  const auto unused = static_cast<std::uint32_t>(graph.nodes.size());
  Ranks ranks(graph.transfers.size(), unused);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::uint32_t transfer : graph.nodes[i].transfers) {
      ranks[transfer] = std::min(ranks[transfer], i);
    }
  }
  return ranks;
}

Result<Ranks> tic_ranks(const ModelGraph& graph) {
  if (Status status = check(graph); !status.ok()) return status;
  const std::size_t count = graph.transfers.size();
  Set all(count);
  for (std::size_t i = 0; i < count; ++i) all.insert(i);
  const Times times{std::vector<Duration>(count, Duration(1)),
                    std::vector<Duration>(graph.nodes.size(), Duration(0))};
  const std::vector<Properties> found = properties_of(needs_of(graph), times, all);
  std::vector<std::uint32_t> sorted(count);
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](auto a, auto b) { return found[a].m_plus < found[b].m_plus; });
  Ranks ranks(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool same = i > 0 && found[sorted[i]].m_plus == found[sorted[i - 1]].m_plus;
    ranks[sorted[i]] = same ? ranks[sorted[i - 1]] : i;
  }
  return ranks;
}

Result<Ranks> tac_ranks(const ModelGraph& graph) {
  if (Status status = check(graph); !status.ok()) return status;
  const std::size_t count = graph.transfers.size();
  const std::vector<Set> needs = needs_of(graph);
  Times times;
  for (const auto& transfer : graph.transfers) {
    times.transfers.push_back(transfer.time.value_or(kUnmeasured));
  }
  for (const auto& node : graph.nodes) times.nodes.push_back(node.time.value_or(kUnmeasured));
  Set outstanding(count);
  for (std::size_t i = 0; i < count; ++i) outstanding.insert(i);
  Ranks ranks(count);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const std::vector<Properties> found = properties_of(needs, times, outstanding);
    std::size_t first = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (!outstanding.contains(i)) continue;
      if (first == count || goes_before(found[i], found[first])) first = i;
    }
    ranks[first] = rank;
    outstanding.erase(first);
  }
  return ranks;
}

Result<Order> layer_order(const ModelGraph& graph) {
  return order_of("layer", graph, layer_ranks(graph));
}
Result<Order> tic_order(const ModelGraph& graph) {
  return order_of("tic", graph, tic_ranks(graph));
}
Result<Order> tac_order(const ModelGraph& graph) {
  return order_of("tac", graph, tac_ranks(graph));
}

}  // namespace stretto
