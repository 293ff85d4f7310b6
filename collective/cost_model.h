// SPDX-License-Identifier: Apache-2.0
// CostModel: predicts the time of a round by a strategy, and its bottleneck. Three terms:
//
//   links      the boundary (of a host, of a rack) that takes longest for the bytes that cross it
//   processor  the member that takes longest for its frames and bytes
//   path       one part alone, from the leaves to the root and back (critical_path.h)
//
// One part of each tree takes its path. The longer of the links' and processors' times for all
// other parts is added. So the path dominates for a tensor of one part, the links for one of many.
// The model also gives the exact bytes across each boundary, which tests compare with runs.
#pragma once

#include <string>
#include <vector>

#include "collective/network.h"
#include "collective/strategy.h"

namespace stretto::collective {

/// The load of a member or a boundary in each direction: an edge carries as much up as down, so
/// both are equal.
struct Carried {
  std::uint64_t bytes = 0;
  std::uint64_t frames = 0;
  friend bool operator==(const Carried&, const Carried&) = default;
};

/// Of each place, for one round of parts of these sizes; zero for places outside the strategy.
std::vector<Carried> carried_in(const Strategy& strategy, const std::vector<std::uint64_t>& parts);

struct Prediction {
  double seconds = 0;
  double link_seconds = 0;
  std::string link;  ///< The boundary's name.
  double processor_seconds = 0;
  Place busiest = kNobody;  ///< The place with that processor time.
  double path_seconds = 0;
  std::uint32_t hops = 0;  ///< Across boundaries: up and down.

  /// "12.000 ms: link 10.000 (host 3), processor 1.000 (member 0), path 2.000 (6 hops)".
  std::string describe() const;
};

/// Never changes. Thread: any.
class CostModel {
 public:
  /// kInvalidArgument, with the name, for boundaries without a rate above 0, and negative costs.
  static Result<CostModel> of(Network network);

  /// For a round of `bytes`, above 0, in parts of at most `part_bytes`.
  Prediction predict(const Strategy& strategy, std::uint64_t bytes, std::uint64_t part_bytes) const;
  /// The load of each boundary, in their order.
  std::vector<Carried> crossings(const Strategy& strategy,
                                 const std::vector<std::uint64_t>& parts) const;

 private:
  explicit CostModel(Network network);
  double link_seconds(std::size_t boundary, const Carried& crossing) const;
  double processor_seconds(const Carried& carried) const;

  Network network_;
  BoundaryMap borders_;
};

}  // namespace stretto::collective
