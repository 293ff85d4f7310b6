// SPDX-License-Identifier: Apache-2.0
// Along each edge of a class's tree go its parts' bytes, up once and down once.
#include "collective/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto::collective {
namespace {

// What the parts of one class take.
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

// Calls visit(class's load, child, parent) for each edge that carries something.
template <typename Visit>
void for_each_edge(const Strategy& strategy, const std::vector<std::uint64_t>& parts, Visit visit) {
  const std::vector<ClassLoad> loads = loads_of(strategy, parts);
  for (std::size_t at = 0; at < loads.size(); ++at) {
    if (loads[at].parts == 0) continue;
    const Tree& tree = strategy.classes()[at].tree;
    for (const Place place : tree.downwards()) {
      if (place != tree.root()) visit(loads[at], place, tree.parent(place));
    }
  }
}

}  // namespace

std::vector<Carried> carried_in(const Strategy& strategy, const std::vector<std::uint64_t>& parts) {
  std::vector<Carried> carried(strategy.limit());
  for_each_edge(strategy, parts, [&](const ClassLoad& load, Place child, Place parent) {
    count(carried[child], load);
    count(carried[parent], load);
  });
  return carried;
}

std::string Prediction::describe() const {
  constexpr double kMs = 1e3;
  std::string text = fmt::format("{:.3f} ms: link {:.3f}", seconds * kMs, link_seconds * kMs);
  if (!link.empty()) text += fmt::format(" ({})", link);
  text += fmt::format(", processor {:.3f}", processor_seconds * kMs);
  if (busiest != kNobody) text += fmt::format(" (member {})", busiest);
  return text + fmt::format(", path {:.3f} ({} hops)", path_seconds * kMs, hops);
}

CostModel::CostModel(Network network) : network_(std::move(network)) {
  for (const Boundary& boundary : network_.boundaries) {
    std::vector<bool> inside;
    for (const Place place : boundary.inside) {
      if (place >= inside.size()) inside.resize(place + 1);
      inside[place] = true;
    }
    inside_.push_back(std::move(inside));
  }
}

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

bool CostModel::inside(std::size_t boundary, Place place) const {
  return place < inside_[boundary].size() && inside_[boundary][place];
}

std::vector<Carried> CostModel::crossings(const Strategy& strategy,
                                          const std::vector<std::uint64_t>& parts) const {
  std::vector<Carried> crossing(network_.boundaries.size());
  for_each_edge(strategy, parts, [&](const ClassLoad& load, Place child, Place parent) {
    for (std::size_t at = 0; at < crossing.size(); ++at) {
      if (inside(at, child) != inside(at, parent)) count(crossing[at], load);
    }
  });
  return crossing;
}

void CostModel::add_links(Prediction& made, const Strategy& strategy,
                          const std::vector<std::uint64_t>& parts) const {
  const std::vector<Carried> crossing = crossings(strategy, parts);
  for (std::size_t at = 0; at < crossing.size(); ++at) {
    const Boundary& boundary = network_.boundaries[at];
    const double seconds = static_cast<double>(crossing[at].bytes) / boundary.rate;
    if (seconds <= made.link_seconds) continue;
    made.link_seconds = seconds;
    made.link = boundary.name;
  }
}

void CostModel::add_processors(Prediction& made, const Strategy& strategy,
                               const std::vector<std::uint64_t>& parts) const {
  const std::vector<Carried> carried = carried_in(strategy, parts);
  for (Place place = 0; place < carried.size(); ++place) {
    const auto frames = static_cast<double>(2 * carried[place].frames);
    const auto bytes = static_cast<double>(2 * carried[place].bytes);
    const double seconds =
        (frames * network_.frame_seconds + bytes * network_.byte_seconds) / network_.processors;
    if (seconds <= made.processor_seconds) continue;
    made.processor_seconds = seconds;
    made.busiest = place;
  }
}

// 0 for a hop that crosses nothing.
double CostModel::hop_seconds(Place one, Place other, double bytes) const {
  double slowest = 0;
  for (std::size_t at = 0; at < inside_.size(); ++at) {
    if (inside(at, one) == inside(at, other)) continue;
    slowest = std::max(slowest, network_.start_seconds + bytes / network_.boundaries[at].rate);
  }
  return slowest;
}

void CostModel::add_path(Prediction& made, const Strategy& strategy,
                         const std::vector<std::uint64_t>& parts) const {
  const std::vector<ClassLoad> loads = loads_of(strategy, parts);
  for (std::size_t at = 0; at < loads.size(); ++at) {
    if (loads[at].parts == 0) continue;
    const Tree& tree = strategy.classes()[at].tree;
    std::vector<double> seconds(tree.limit());  // From the root down to each.
    std::vector<std::uint32_t> hops(tree.limit());
    for (const Place place : tree.downwards()) {
      if (place == tree.root()) continue;
      const Place parent = tree.parent(place);
      const double hop = hop_seconds(place, parent, static_cast<double>(loads[at].largest));
      seconds[place] = seconds[parent] + hop;
      hops[place] = hops[parent] + (hop > 0 ? 1 : 0);
      if (2 * seconds[place] <= made.path_seconds) continue;
      made.path_seconds = 2 * seconds[place];
      made.hops = 2 * hops[place];
    }
  }
}

Prediction CostModel::predict(const Strategy& strategy, std::uint64_t bytes,
                              std::uint64_t part_bytes) const {
  STRETTO_CHECK(bytes > 0 && part_bytes > 0);
  std::vector<std::uint64_t> parts(bytes / part_bytes, part_bytes);
  if (bytes % part_bytes != 0) parts.push_back(bytes % part_bytes);
  Prediction made;
  add_links(made, strategy, parts);
  add_processors(made, strategy, parts);
  add_path(made, strategy, parts);
  made.seconds = std::max(made.link_seconds, made.processor_seconds) + made.path_seconds;
  return made;
}

}  // namespace stretto::collective
