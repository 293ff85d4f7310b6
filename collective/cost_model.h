// SPDX-License-Identifier: Apache-2.0
// CostModel: how long a round takes by a strategy, and what takes that long. Three terms:
//
//   links      the boundary (of a host, of a rack) that takes longest for the bytes that cross it
//   processor  the member that takes longest for its frames and bytes
//   path       one part alone, from the leaves to the root and back (part_path.h)
//
// One part of each tree goes its path; what links and processors carry of all others comes on top,
// the longer of the two. So a tensor of one part takes its path, and one of very many what its
// links take. It also says exactly which bytes cross what, which a run must show.
#pragma once

#include <string>
#include <vector>

#include "collective/network.h"
#include "collective/strategy.h"

namespace stretto::collective {

/// What a member sends and takes, or what crosses a boundary, each way: along an edge as much goes
/// up as down, so out and in are alike.
struct Carried {
  std::uint64_t bytes = 0;
  std::uint64_t frames = 0;
  friend bool operator==(const Carried&, const Carried&) = default;
};

/// Of one round of parts of these sizes: of each place, and nothing of places that are not in it.
std::vector<Carried> carried_in(const Strategy& strategy, const std::vector<std::uint64_t>& parts);

struct Prediction {
  double seconds = 0;
  double link_seconds = 0;
  std::string link;  ///< The boundary's name.
  double processor_seconds = 0;
  Place busiest = kNobody;  ///< Whose processor.
  double path_seconds = 0;
  std::uint32_t hops = 0;  ///< Across boundaries: up and down.

  /// "12.000 ms: link 10.000 (host 3), processor 1.000 (member 0), path 2.000 (6 hops)".
  std::string describe() const;
};

/// Never changes. Thread: any.
class CostModel {
 public:
  /// kInvalidArgument, with its name, for a boundary without a rate above 0, and for costs below 0.
  static Result<CostModel> of(Network network);

  /// Of a round of so many bytes, above 0, in parts of at most `part_bytes`.
  Prediction predict(const Strategy& strategy, std::uint64_t bytes, std::uint64_t part_bytes) const;
  /// What crosses each boundary then, in their order.
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
