// SPDX-License-Identifier: Apache-2.0
// CostModel: how long a round takes by a strategy, and what takes that long. Three terms:
//
//   links      the boundary (of a host, of a rack) that takes longest for the bytes that cross it
//   processor  the member that takes longest for its frames and bytes; beside the links, so the
//              longer of the two counts
//   path       start-up and one part's time on each hop from the farthest leaf to the root and back
//
// It also says exactly which bytes cross what, which a run must show.
#pragma once

#include <string>
#include <vector>

#include "collective/strategy.h"

namespace stretto::collective {

/// Where bytes leave and enter: around a member alone on its host, a host's members, a rack's.
/// What goes on inside costs nothing here.
struct Boundary {
  std::string name;
  std::vector<Place> inside;
  double rate = 0;  ///< Bytes per second, in and out at once.
};

struct Network {
  std::vector<Boundary> boundaries;
  double start_seconds = 0;  ///< Of a message across a boundary, without its bytes.
  double frame_seconds = 0;  ///< Of a processor, for each frame that is sent or taken,
  double byte_seconds = 0;   ///< and for each of its bytes.
  double processors = 1;     ///< That each member has.
};

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
  void add_links(Prediction& made, const Strategy& strategy,
                 const std::vector<std::uint64_t>& parts) const;
  void add_processors(Prediction& made, const Strategy& strategy,
                      const std::vector<std::uint64_t>& parts) const;
  void add_path(Prediction& made, const Strategy& strategy,
                const std::vector<std::uint64_t>& parts) const;
  bool inside(std::size_t boundary, Place place) const;
  double hop_seconds(Place one, Place other, double bytes) const;

  Network network_;
  std::vector<std::vector<bool>> inside_;  // By boundary and place.
};

}  // namespace stretto::collective
