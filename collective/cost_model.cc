// SPDX-License-Identifier: Apache-2.0
// Each edge of a class's tree carries the bytes of its parts, up once and down once.
#include "collective/cost_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "collective/critical_path.h"
#include "common/check.h"

namespace stretto::collective {
namespace {

// The load of the parts of one class.
struct ClassLoad {
  std::uint64_t bytes = 0;
  std::uint64_t parts = 0;
  std::uint64_t largest = 0;
};

std::vector<ClassLoad> loads_of(const Strategy& strategy, const std::vector<std::uint64_t>& parts) {
  std::vector<ClassLoad> loads(strategy.classes().size());
  const std::vector<std::uint16_t> dealt = strategy.deal(parts.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    ClassLoad& load = loads[dealt[part]];
    load.bytes += parts[part];
    ++load.parts;
    load.largest = std::max(load.largest, parts[part]);
  }
  return loads;
}

void count(Carried& carried, const ClassLoad& load) {
  carried.bytes += load.bytes;
  carried.frames += load.parts;
}

// The largest part of each non-empty class.
std::vector<ClassLoad> firsts_of(std::vector<ClassLoad> loads) {
  for (ClassLoad& load : loads) {
    load.bytes = load.largest;
    load.parts = std::min<std::uint64_t>(load.parts, 1);
  }
  return loads;
}

// Calls visit(class's load, child, parent) for each edge that carries bytes.
template <typename Visit>
void for_each_edge(const Strategy& strategy, const std::vector<ClassLoad>& loads, Visit visit) {
  for (std::size_t at = 0; at < loads.size(); ++at) {
    if (loads[at].parts == 0) continue;
    const Tree& tree = strategy.classes()[at].tree;
    for (const Place place : tree.downwards()) {
      if (place != tree.root()) visit(loads[at], place, tree.parent(place));
    }
  }
}

std::vector<Carried> carried_of(const Strategy& strategy, const std::vector<ClassLoad>& loads) {
  std::vector<Carried> carried(strategy.limit());
  for_each_edge(strategy, loads, [&](const ClassLoad& load, Place child, Place parent) {
    count(carried[child], load);
    count(carried[parent], load);
  });
  return carried;
}

std::vector<Carried> crossings_of(const Strategy& strategy, const std::vector<ClassLoad>& loads,
                                  const BoundaryMap& borders) {
  std::vector<Carried> crossing(borders.size());
  for_each_edge(strategy, loads, [&](const ClassLoad& load, Place child, Place parent) {
    for (std::size_t at = 0; at < crossing.size(); ++at) {
      if (borders.between(at, child, parent)) count(crossing[at], load);
    }
  });
  return crossing;
}

// The longest path of one part of each class.
CriticalPath longest_path(const Strategy& strategy, const std::vector<ClassLoad>& loads,
                          const Network& network, const BoundaryMap& borders) {
  CriticalPath longest;
  for (std::size_t at = 0; at < loads.size(); ++at) {
    if (loads[at].parts == 0) continue;
    const CriticalPath path = path_of(strategy.classes()[at].tree,
                                      static_cast<double>(loads[at].largest), network, borders);
    if (path.seconds > longest.seconds) longest = path;
  }
  return longest;
}

}  // namespace

std::vector<Carried> carried_in(const Strategy& strategy, const std::vector<std::uint64_t>& parts) {
  return carried_of(strategy, loads_of(strategy, parts));
}

std::string Prediction::describe() const {
  constexpr double kMs = 1e3;
  std::string text = fmt::format("{:.3f} ms: link {:.3f}", seconds * kMs, link_seconds * kMs);
  if (!link.empty()) text += fmt::format(" ({})", link);
  text += fmt::format(", processor {:.3f}", processor_seconds * kMs);
  if (busiest != kNobody) text += fmt::format(" (member {})", busiest);
  return text + fmt::format(", path {:.3f} ({} hops)", path_seconds * kMs, hops);
}

CostModel::CostModel(Network network)
    : network_(std::move(network)), borders_(network_.boundaries) {}

Result<CostModel> CostModel::of(Network network) {
  for (const Boundary& boundary : network.boundaries) {
    if (boundary.rate > 0) continue;
    return Status(Code::kInvalidArgument, fmt::format("{} has a rate of {} bytes/s, not above 0",
                                                      boundary.name, boundary.rate));
  }
  if (std::min({network.start_seconds, network.frame_seconds, network.byte_seconds}) < 0 ||
      !(network.processors > 0)) {
    return Status(Code::kInvalidArgument, "costs of a network are below 0, or its processors 0");
  }
  return CostModel(std::move(network));
}

std::vector<Carried> CostModel::crossings(const Strategy& strategy,
                                          const std::vector<std::uint64_t>& parts) const {
  return crossings_of(strategy, loads_of(strategy, parts), borders_);
}

double CostModel::link_seconds(std::size_t boundary, const Carried& crossing) const {
  return static_cast<double>(crossing.bytes) / network_.boundaries[boundary].rate;
}

// Each frame goes both ways.
double CostModel::processor_seconds(const Carried& carried) const {
  const auto frames = static_cast<double>(2 * carried.frames);
  const auto bytes = static_cast<double>(2 * carried.bytes);
  return (frames * network_.frame_seconds + bytes * network_.byte_seconds) / network_.processors;
}

Prediction CostModel::predict(const Strategy& strategy, std::uint64_t bytes,
                              std::uint64_t part_bytes) const {
  STRETTO_CHECK(bytes > 0 && part_bytes > 0);
  std::vector<std::uint64_t> parts(bytes / part_bytes, part_bytes);
  if (bytes % part_bytes != 0) parts.push_back(bytes % part_bytes);
  const std::vector<ClassLoad> loads = loads_of(strategy, parts);
  const std::vector<ClassLoad> firsts = firsts_of(loads);
  Prediction made;
  double besides = 0;  // The load of all parts but the first ones.
  const std::vector<Carried> crossing = crossings_of(strategy, loads, borders_);
  const std::vector<Carried> first_crossing = crossings_of(strategy, firsts, borders_);
  for (std::size_t at = 0; at < crossing.size(); ++at) {
    const double seconds = link_seconds(at, crossing[at]);
    besides = std::max(besides, seconds - link_seconds(at, first_crossing[at]));
    if (seconds <= made.link_seconds) continue;
    made.link_seconds = seconds;
    made.link = network_.boundaries[at].name;
  }
  const std::vector<Carried> carried = carried_of(strategy, loads);
  const std::vector<Carried> first_carried = carried_of(strategy, firsts);
  for (Place place = 0; place < carried.size(); ++place) {
    const double seconds = processor_seconds(carried[place]);
    besides = std::max(besides, seconds - processor_seconds(first_carried[place]));
    if (seconds <= made.processor_seconds) continue;
    made.processor_seconds = seconds;
    made.busiest = place;
  }
  const CriticalPath path = longest_path(strategy, loads, network_, borders_);
  made.path_seconds = path.seconds;
  made.hops = path.hops;
  made.seconds = std::max({made.link_seconds, made.processor_seconds, path.seconds + besides});
  return made;
}

}  // namespace stretto::collective
