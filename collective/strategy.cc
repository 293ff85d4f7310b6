// SPDX-License-Identifier: Apache-2.0
// Parts are dealt to classes like processor time to tasks that run at fixed rates (Baruah et al.,
// "Proportionate progress", Algorithmica 1996). The k-th part of a class has a window in which it
// must be dealt; of the open windows the one with the earliest end is taken.
#include "collective/strategy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/check.h"

namespace stretto::collective {
namespace {

Status no_strategy(const std::string& why) {
  return {Code::kInvalidArgument, "no strategy: " + why};
}

}  // namespace

std::string_view name_of(Primitive primitive) {
  switch (primitive) {
    case Primitive::kServers:
      return "servers";
    case Primitive::kDirect:
      return "direct";
    case Primitive::kRing:
      return "ring";
    case Primitive::kHalving:
      return "halving";
    case Primitive::kTree:
      return "tree";
    case Primitive::kHierarchical:
      return "hierarchical";
  }
  return "unknown";
}

Result<Strategy> Strategy::of(Primitive primitive, std::vector<RootClass> classes) {
  if (classes.empty() || classes.size() > kMostClasses) {
    return no_strategy(
        fmt::format("{} classes of parts, wanted 1 to {}", classes.size(), kMostClasses));
  }
  const Tree& first = classes.front().tree;
  std::uint64_t total = 0;
  for (const RootClass& one : classes) {
    if (one.weight > kMostWeight) {
      return no_strategy(fmt::format("the class of root {} has weight {}, at most {} can be",
                                     one.tree.root(), one.weight, kMostWeight));
    }
    if (one.tree.contributors() != first.contributors()) {
      return no_strategy(fmt::format("other members contribute to root {} than to root {}",
                                     one.tree.root(), first.root()));
    }
    total += one.weight;
  }
  if (total == 0) return no_strategy("no class has a weight above 0");
  Strategy made;
  made.primitive_ = primitive;
  made.classes_ = std::move(classes);
  made.total_ = total;
  return made;
}

std::vector<std::uint16_t> Strategy::deal(std::size_t parts) const {
  STRETTO_CHECK(parts <= std::size_t{1} << 24);
  std::vector<std::uint64_t> dealt(classes_.size());
  std::vector<std::uint16_t> classes(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    std::size_t best = classes_.size();
    std::uint64_t best_end = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t at = 0; at < classes_.size(); ++at) {
      const std::uint64_t weight = classes_[at].weight;
      // Its next window: from floor(dealt / rate), to before ceil((dealt + 1) / rate).
      if (weight == 0 || dealt[at] * total_ / weight > part) continue;
      const std::uint64_t end = ((dealt[at] + 1) * total_ + weight - 1) / weight;
      if (end < best_end) {
        best = at;
        best_end = end;
      }
    }
    STRETTO_CHECK(best < classes_.size() && best_end > part);  // The theorem of the paper.
    ++dealt[best];
    classes[part] = static_cast<std::uint16_t>(best);
  }
  return classes;
}

std::string Strategy::describe() const {
  std::string text = fmt::format("{} of {}", name_of(primitive_), contributors().size());
  const std::uint32_t first = classes_.front().weight;
  const bool alike =
      std::ranges::all_of(classes_, [first](const RootClass& one) { return one.weight == first; });
  if (alike) return text;
  text += ", parts in proportion";
  for (const RootClass& one : classes_) {
    const double proportion = static_cast<double>(one.weight) / static_cast<double>(total_);
    text += fmt::format(" {}: {:.3f}", one.tree.root(), proportion);
  }
  return text;
}

std::vector<std::uint32_t> weights_of(const std::vector<double>& proportions) {
  constexpr double kUnits = 1U << 16;  // For the greatest.
  const double most = proportions.empty() ? 0 : *std::ranges::max_element(proportions);
  STRETTO_CHECK(most > 0 && std::isfinite(most));
  std::vector<std::uint32_t> weights;
  for (const double one : proportions) {
    STRETTO_CHECK(one >= 0);
    weights.push_back(static_cast<std::uint32_t>(std::lround(one / most * kUnits)));
  }
  return weights;
}

}  // namespace stretto::collective
