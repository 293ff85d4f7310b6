// SPDX-License-Identifier: Apache-2.0
// The candidates, fewest hops first; a later one must be clearly faster to win.
#include "collective/strategy_chooser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "collective/ownership_weights.h"
#include "collective/strategies.h"
#include "common/check.h"

namespace stretto::collective {
namespace {

constexpr double kUnknownRate = 125e6;  // 1 Gbit/s: only its ratio to start-ups matters.
constexpr double kStartSeconds = 100e-6;
constexpr double kFrameSeconds = 5e-6;  // Order of magnitude; measured costs differ by machine.
constexpr double kByteSeconds = 0.5e-9;
constexpr double kAlike = 0.9;    // Rates within a tenth are equal,
constexpr double kWorthIt = 0.9;  // and a change must save a tenth of the current time.
constexpr double kClearly = 0.97;
constexpr std::uint32_t kWeightOfMost = 64;

std::uint32_t machines_in(const std::vector<std::uint32_t>& machines) {
  return machines.empty() ? 0 : *std::ranges::max_element(machines) + 1;
}

std::vector<Places> groups_of(const std::vector<std::uint32_t>& machines) {
  std::vector<Places> groups(machines_in(machines));
  for (Place place = 0; place < machines.size(); ++place) {
    groups[machines[place]].push_back(place);
  }
  return groups;
}

Places first_places(std::size_t count) {
  Places places(count);
  std::iota(places.begin(), places.end(), Place{0});
  return places;
}

// Contiguous by machine, so that a ring enters and leaves each once.
Places by_machine(const std::vector<std::uint32_t>& machines) {
  Places places;
  for (const Places& group : groups_of(machines)) {
    places.insert(places.end(), group.begin(), group.end());
  }
  return places;
}

Status check_weights(const StrategyPlan& plan, std::size_t wanted) {
  const std::vector<std::uint32_t>& weights = plan.weights;
  if (weights.empty()) return {};
  const bool weighs =
      plan.primitive == Primitive::kDirect || plan.primitive == Primitive::kHierarchical;
  if (!weighs || weights.size() != wanted) {
    return {Code::kInvalidArgument,
            fmt::format("{} has {} weights, wanted {}", name_of(plan.primitive), weights.size(),
                        weighs ? wanted : 0)};
  }
  const std::uint32_t most = *std::ranges::max_element(weights);
  if (most == 0 || most > kMostWeight) {
    return {Code::kInvalidArgument,
            fmt::format("the greatest weight is {}, wanted 1 to {}", most, kMostWeight)};
  }
  return {};
}

// Each machine's rate, the median if unknown, with similar rates made equal.
std::vector<double> settled(std::vector<double> rates, std::size_t machines) {
  rates.resize(machines);
  std::vector<double> known;
  std::ranges::copy_if(rates, std::back_inserter(known), [](double rate) { return rate > 0; });
  std::ranges::sort(known);
  const double usual = known.empty() ? kUnknownRate : known[known.size() / 2];
  for (double& rate : rates) {
    if (!(rate > 0)) rate = usual;
  }
  if (*std::ranges::min_element(rates) >= kAlike * *std::ranges::max_element(rates)) {
    std::ranges::fill(rates, usual);
  }
  return rates;
}

// Weights for machines or members with these rates. Empty if they are equal, or fewer than three.
std::vector<std::uint32_t> weights_for(const std::vector<double>& rates) {
  const auto [least, most] = std::ranges::minmax(rates);
  if (rates.size() < 3 || least == most) return {};
  std::vector<MemberRate> members;
  for (const double rate : rates) members.push_back({.rate = rate, .late = 0});
  const std::vector<double> shares = shares_of(1, members);
  const double largest = *std::ranges::max_element(shares);
  std::vector<std::uint32_t> weights;
  for (const double share : shares) {
    weights.push_back(static_cast<std::uint32_t>(std::lround(share / largest * kWeightOfMost)));
  }
  return weights;
}

std::vector<StrategyPlan> candidates_for(const std::vector<std::uint32_t>& machines,
                                         const std::vector<double>& rates) {
  std::vector<StrategyPlan> plans = {{.primitive = Primitive::kDirect}};
  if (machines.size() < 2) return plans;
  std::vector<double> of_members;
  for (const std::uint32_t machine : machines) {
    const auto beside = std::ranges::count(machines, machine);
    of_members.push_back(rates[machine] / static_cast<double>(beside));
  }
  if (std::vector<std::uint32_t> weights = weights_for(of_members); !weights.empty()) {
    plans.push_back({Primitive::kDirect, std::move(weights)});
  }
  if (rates.size() > 1 && rates.size() < machines.size()) {
    plans.push_back({.primitive = Primitive::kHierarchical});
    if (std::vector<std::uint32_t> weights = weights_for(rates); !weights.empty()) {
      plans.push_back({Primitive::kHierarchical, std::move(weights)});
    }
  }
  for (const Primitive each : {Primitive::kHalving, Primitive::kTree, Primitive::kRing}) {
    if (machines.size() > 2) plans.push_back({.primitive = each});
  }
  return plans;
}

Network network_of(const std::vector<std::uint32_t>& machines, const std::vector<double>& rates) {
  Network network{.boundaries = {},
                  .start_seconds = kStartSeconds,
                  .frame_seconds = kFrameSeconds,
                  .byte_seconds = kByteSeconds,
                  .processors = 1};
  if (rates.size() < 2) return network;
  const std::vector<Places> groups = groups_of(machines);
  for (std::size_t machine = 0; machine < groups.size(); ++machine) {
    network.boundaries.push_back({.name = fmt::format("worker {}'s machine", groups[machine][0]),
                                  .inside = groups[machine],
                                  .rate = rates[machine]});
  }
  return network;
}

}  // namespace

std::string StrategyPlan::describe() const {
  if (weights.empty()) return std::string(name_of(primitive));
  return fmt::format("{}, weights {}", name_of(primitive), fmt::join(weights, " "));
}

Result<Strategy> strategy_of(const StrategyPlan& plan, const std::vector<std::uint32_t>& machines) {
  const bool by_groups = plan.primitive == Primitive::kHierarchical;
  const std::size_t wanted = by_groups ? machines_in(machines) : machines.size();
  if (Status status = check_weights(plan, wanted); !status.ok()) return status;
  const std::vector<double> proportions(plan.weights.begin(), plan.weights.end());
  switch (plan.primitive) {
    case Primitive::kDirect:
      return direct(first_places(machines.size()), proportions);
    case Primitive::kRing:
      return ring(by_machine(machines));
    case Primitive::kHalving:
      return halving_doubling(first_places(machines.size()));
    case Primitive::kTree:
      return binary_trees(first_places(machines.size()), machines.size());
    case Primitive::kHierarchical: {
      const Result<Strategy> among = direct(first_places(wanted), proportions);
      return among.ok() ? hierarchical(groups_of(machines), *among) : among;
    }
    default:
      return Status(Code::kInvalidArgument,
                    fmt::format("{} is no strategy among workers", name_of(plan.primitive)));
  }
}

Prediction predict_servers(const std::vector<std::uint32_t>& workers,
                           const std::vector<std::uint32_t>& shards, std::uint64_t bytes,
                           std::uint64_t part_bytes) {
  STRETTO_CHECK(!workers.empty() && !shards.empty() && bytes > 0);
  std::vector<std::uint32_t> machines = workers;
  machines.insert(machines.end(), shards.begin(), shards.end());
  std::vector<RootClass> classes;
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    const auto root = static_cast<Place>(workers.size() + shard);
    Places parents(machines.size(), kNobody);
    std::fill_n(parents.begin(), workers.size(), root);
    parents[root] = root;
    classes.push_back({.tree = *Tree::of(std::move(parents), {root}), .weight = 1});
  }
  const std::vector<double> rates = settled({}, machines_in(machines));
  const CostModel model = *CostModel::of(network_of(machines, rates));
  return model.predict(*Strategy::of(Primitive::kServers, std::move(classes)), bytes, part_bytes);
}

StrategyChoice choose(const Topology& links, std::uint64_t bytes, std::uint64_t part_bytes,
                      const std::optional<StrategyPlan>& current) {
  const std::vector<std::uint32_t>& machines = links.machines;
  STRETTO_CHECK(!machines.empty() && bytes > 0);
  const std::vector<double> rates = settled(links.rates, machines_in(machines));
  const CostModel model = *CostModel::of(network_of(machines, rates));
  const auto predicted = [&](const StrategyPlan& plan) {
    return model.predict(*strategy_of(plan, machines), bytes, part_bytes);
  };
  std::optional<StrategyChoice> best;
  std::string others;
  for (const StrategyPlan& plan : candidates_for(machines, rates)) {
    const Prediction made = predicted(plan);
    others +=
        fmt::format("{}{} {:.3f}", others.empty() ? "" : "; ", plan.describe(), made.seconds * 1e3);
    if (best && made.seconds > kClearly * best->predicted.seconds) continue;
    best = StrategyChoice{.plan = plan, .predicted = made, .why = {}};
  }
  if (current) {
    const Prediction now = predicted(*current);
    if (best->predicted.seconds > kWorthIt * now.seconds) {
      best = StrategyChoice{.plan = *current, .predicted = now, .why = {}};
    }
  }
  best->why = fmt::format("{}: {} (ms predicted: {})", best->plan.describe(),
                          best->predicted.describe(), others);
  return *std::move(best);
}

}  // namespace stretto::collective
