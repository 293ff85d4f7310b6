// SPDX-License-Identifier: Apache-2.0
// LabPlan: which network namespaces, cables and shapers a lab has, as the command lines that make
// them. Pure, so that what is asked of the kernel can be read and tested without being root.
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

/// Where the packets wait: in the sender's own kernel, which tells TCP of it; or beyond the host,
/// where nobody can look.
enum class Bottleneck : std::uint8_t { kHost, kRouter };

struct LabShape {
  std::uint64_t rate_mbit = 1000;  ///< Of the shaped link, in both directions.
  std::uint32_t peers = 1;         ///< That receive; they share the one shaped link.
  Bottleneck bottleneck = Bottleneck::kHost;
};

inline constexpr std::uint32_t kMaxLabPeers = 64;

/// tbf's parameters.
struct Shaper {
  std::uint64_t rate_mbit = 0;
  std::uint64_t burst_bytes = 0;  ///< That may pass at once: it hides as long a wait.
  std::uint64_t limit_bytes = 0;  ///< That may wait; what comes then is dropped.
};
/// Of 1 ms at the rate, but never less than one packet of 64 KiB and a bit (tbf would cut it up),
/// nor more than 256 KiB. The queue is of 32 ms in a host, and of 1 MB in a router.
Shaper shaper_for(const LabShape& shape);

using Command = std::vector<std::string>;

struct LabPlan {
  struct Host {
    std::string network;  ///< The namespace's name.
    std::string address;
  };
  std::vector<std::string> namespaces;
  std::vector<Command> commands;  ///< In order; the namespaces exist already.
  Host sender;
  std::vector<Host> receivers;
  /// Cables that a process has to carry packets across (lab_delay.h).
  struct Delayed {
    std::string network;                                      ///< The switch's.
    std::vector<std::pair<std::string, std::string>> cables;  ///< A cable's end, the switch's tap.
    Duration delay{};                                         ///< Of what hosts send.
  };
  Delayed delayed;
};
LabPlan plan_lab(const LabShape& shape, pid_t owner);
/// A switch with a receiver for each of these rates, each on a shaped link of its own, and a sender
/// whose link is not shaped: workers and servers, and a scheduler that is in nobody's way. With a
/// delay what each receiver sends is that long on its way; nothing is carried until
/// carry_with_delay() runs.
LabPlan plan_star(const std::vector<std::uint64_t>& rates_mbit, pid_t owner, Duration delay = {});

/// Whose lab a namespace belongs to, by its name; none if to nobody's.
std::optional<pid_t> owner_of(std::string_view network);

}  // namespace stretto::bench
