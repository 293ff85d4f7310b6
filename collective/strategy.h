// SPDX-License-Identifier: Apache-2.0
// Strategy: how the parts of tensors are reduced among members, as data that can be checked, sent
// and compared. Each part belongs to a class and uses that class's tree; the weight of a class sets
// its fraction of the parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collective/tree.h"

namespace stretto::collective {

/// The kind of a strategy; users select it by name, such as `direct` or `ring`.
enum class Primitive : std::uint8_t {
  kServers,       ///< A shard is the root, and contributes nothing.
  kDirect,        ///< Stars: each member owns parts, to which all others send.
  kRing,          ///< Chains, one that starts at each member.
  kHalving,       ///< Binomial trees: recursive halving, then doubling.
  kTree,          ///< Binary trees.
  kHierarchical,  ///< First within groups (a host, a rack), then among them.
};
std::string_view name_of(Primitive primitive);

/// Parts that use the same tree.
struct RootClass {
  Tree tree;
  std::uint32_t weight = 1;  ///< Proportional to its number of parts; 0: none.
};

inline constexpr std::size_t kMostClasses = 4096;
inline constexpr std::uint32_t kMostWeight = 1U << 20;

/// Never changes. Thread: any.
class Strategy {
 public:
  /// kInvalidArgument unless a class has a weight, and all classes have the same contributors.
  static Result<Strategy> of(Primitive primitive, std::vector<RootClass> classes);

  Primitive primitive() const { return primitive_; }
  const std::vector<RootClass>& classes() const { return classes_; }
  const IndexSet& contributors() const { return classes_.front().tree.contributors(); }
  std::uint32_t limit() const { return classes_.front().tree.limit(); }

  /// The class of each of `parts` parts, at most 2^24. Of every prefix a class has its proportion
  /// to within one part, so all roots are busy from the first part to the last.
  std::vector<std::uint16_t> deal(std::size_t parts) const;

  /// "ring of 4" and so on, with weights if they differ.
  std::string describe() const;

 private:
  Strategy() = default;

  Primitive primitive_ = Primitive::kDirect;
  std::vector<RootClass> classes_;
  std::uint64_t total_ = 0;  // Of weights.
};

/// Proportions as weights of classes. None is negative, and at least one is above 0; a proportion
/// below the smallest weight gets none.
std::vector<std::uint32_t> weights_of(const std::vector<double>& proportions);

}  // namespace stretto::collective
