// SPDX-License-Identifier: Apache-2.0
// MigrationOrder and StartRefusal: lines in which a scheduler tells its launcher to start a server
// that replaces another server, and in which the launcher reports that it cannot start.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stretto/types.h"

namespace stretto {

struct MigrationOrder {
  Rank server = 0;        ///< Id of the server to start.
  Rank from = 0;          ///< Id of the current primary.
  std::string host = {};  ///< Its host; empty: another host than that of `from`, if any.

  friend bool operator==(const MigrationOrder&, const MigrationOrder&) = default;
};

/// Why a server ends that was asked to, once it is replaced or had no rank.
inline constexpr std::string_view kAskedToEnd = "the server was asked to end by a signal";

struct StartRefusal {
  Rank server = 0;
  std::string why = {};

  friend bool operator==(const StartRefusal&, const StartRefusal&) = default;
};

/// "server 2 is to have the place of server 0 on node1".
std::string line_of(const MigrationOrder& order);
/// None: not such a line.
std::optional<MigrationOrder> move_order_in(std::string_view line);

/// "server 2 cannot be started: there is no host of that name".
std::string line_of(const StartRefusal& refusal);
/// None: not such a line.
std::optional<StartRefusal> start_refusal_in(std::string_view line);

}  // namespace stretto
