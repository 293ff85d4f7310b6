// SPDX-License-Identifier: Apache-2.0
// LabPlan: the network namespaces, cables and shapers of a lab, as the command lines that create
// them. Pure, so that the commands can be read and tested without root.
//
//   bottleneck host:    a ===shaped=== b0          several peers: a ===shaped=== s --- b0, b1, ...
//   bottleneck router:  a --- r ===shaped=== b0                   a --- r ===shaped=== s --- b0,
//   ...
//   star:               a --- s === b0, b1, ...: every b has a shaped link of its own
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/types.h"

namespace stretto::bench {

/// Where packets queue: in the sender's own kernel, which informs TCP; or beyond the host, where no
/// kernel reports it.
enum class Bottleneck : std::uint8_t { kHost, kRouter };

struct LabShape {
  std::uint64_t rate_mbit = 1000;  ///< The shaped link, in both directions.
  std::uint32_t peers = 1;         ///< Receivers; they share the one shaped link.
  Bottleneck bottleneck = Bottleneck::kHost;
};

inline constexpr std::uint32_t kMaxLabPeers = 64;

/// The parameters of tbf.
struct Shaper {
  std::uint64_t rate_mbit = 0;
  std::uint64_t burst_bytes = 0;  ///< May pass unshaped: hides as long a wait.
  std::uint64_t limit_bytes = 0;  ///< May wait; further packets are dropped.
};
/// The burst is 1 ms at the rate, at least one packet of 64 KiB with headers (tbf would split it),
/// at most 256 KiB. The queue is 32 ms in a host, and 1 MB in a router.
Shaper shaper_for(const LabShape& shape);

using Command = std::vector<std::string>;

struct LabPlan {
  struct Host {
    std::string network;  ///< The namespace's name.
    std::string address;
  };
  std::vector<std::string> namespaces;
  std::vector<Command> commands;  ///< In order, after the namespaces exist.
  Host sender;
  std::vector<Host> receivers;
  /// Cables across which a process must carry packets (lab_delay.h).
  struct Delayed {
    std::string network;                                      ///< The switch's.
    std::vector<std::pair<std::string, std::string>> cables;  ///< A cable's end, the switch's tap.
    Duration delay{};                                         ///< For packets that hosts send.
  };
  Delayed delayed;
};
LabPlan plan_lab(const LabShape& shape, pid_t owner);
/// A switch, a receiver for each rate on its own shaped link, and a sender on an unshaped link:
/// workers and servers, and a scheduler that competes with none. With a delay, packets from each
/// receiver take that long; nothing is carried until carry_with_delay() runs.
LabPlan plan_star(const std::vector<std::uint64_t>& rates_mbit, pid_t owner, Duration delay = {});

/// The owner of a lab's namespace, by its name; none if it is no lab's.
std::optional<pid_t> owner_of(std::string_view network);

}  // namespace stretto::bench
