// SPDX-License-Identifier: Apache-2.0
// MigrationOrder: that a server is to be started which another one hands its place over to, in the
// words by which a scheduler tells its launcher, and those by which that says that it cannot: a
// line each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stretto/types.h"

namespace stretto {

struct MigrationOrder {
  Rank server = 0;        ///< The number of the one to be started.
  Rank from = 0;          ///< Of the one that has the place.
  std::string host = {};  ///< Where; empty: on another host than that one, if there is another.

  friend bool operator==(const MigrationOrder&, const MigrationOrder&) = default;
};

/// Why a server ends that was asked to, and whose place another has by then, or that had none.
inline constexpr std::string_view kAskedToEnd = "the server was asked to end by a signal";

struct StartRefusal {
  Rank server = 0;
  std::string why = {};

  friend bool operator==(const StartRefusal&, const StartRefusal&) = default;
};

/// "server 2 is to have the place of server 0 on node1".
std::string line_of(const MigrationOrder& order);
/// None: those are no words of a scheduler's.
std::optional<MigrationOrder> move_order_in(std::string_view line);

/// "server 2 cannot be started: there is no host of that name".
std::string line_of(const StartRefusal& refusal);
/// None: those are no words of a launcher's.
std::optional<StartRefusal> start_refusal_in(std::string_view line);

}  // namespace stretto
