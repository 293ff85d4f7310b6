// SPDX-License-Identifier: Apache-2.0
// The command line of `preempt`.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/config/config.h"
#include "tools/bench/support/flags.h"
#include "tools/bench/support/lab_plan.h"

namespace stretto::bench {

/// How the urgent message is sent.
enum class Preemption : std::uint8_t {
  kFifo,      ///< In submission order, with unlimited bytes in flight.
  kPriority,  ///< Before messages queued in Stretto, with unlimited bytes in flight.
  kPreempt    ///< As Stretto does by default.
};
std::string_view name_of(Preemption mode);

/// How the background is sent.
enum class Background : std::uint8_t {
  kBulk,  ///< As TensorOptions::bulk, which the PyTorch bindings and `Parameters` declare.
  kPlain  ///< In small slices, as without any declaration.
};
std::string_view name_of(Background background);
/// Which ends send the background.
enum class Direction : std::uint8_t {
  kOut,  ///< The sender, to all peers.
  kIn,   ///< All peers, to the sender.
  kBoth
};
std::string_view name_of(Direction direction);
std::string_view name_of(Bottleneck bottleneck);

std::string_view name_of(HostPolicy policy);

/// One combination of the two.
struct PreemptCase {
  Preemption mode = Preemption::kPreempt;
  Background background = Background::kPlain;
  std::uint64_t processes = 1;  ///< At the sending host: 1 for both, or one each.
  HostPolicy policy = HostPolicy::kNone;
};

struct PreemptSettings {
  LabShape lab;
  std::uint64_t background_bytes = 64 << 20;  ///< In flight to each peer at any time.
  std::uint64_t part_bytes = 256 << 10;       ///< The unit in which the background is submitted.
  std::uint64_t urgent_bytes = 4096;          ///< Of the urgent message, and of its answer.
  std::vector<Preemption> modes{Preemption::kPreempt};
  std::vector<Background> backgrounds{Background::kBulk, Background::kPlain};
  std::vector<std::uint64_t> processes{1};
  std::vector<HostPolicy> policies{HostPolicy::kUrgent};
  Direction direction = Direction::kOut;
  /// The first peer, which answers urgent messages, also sends background if peers do.
  bool urgent_peer_is_busy = true;
  TransportChoice transport = TransportChoice::kTcp;
};

/// All requested combinations. With unlimited bytes in flight the slice size has no effect, so only
/// `preempt` has both backgrounds and several processes.
std::vector<PreemptCase> cases_of(const PreemptSettings& settings);

std::vector<Flag> preempt_flags(PreemptSettings& settings);
/// The checks across several flags.
Status check_preempt(const PreemptSettings& settings);

}  // namespace stretto::bench
