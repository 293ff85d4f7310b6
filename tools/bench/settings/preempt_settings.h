// SPDX-License-Identifier: Apache-2.0
// What the command line of `preempt` asks for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/config/config.h"
#include "tools/bench/support/flags.h"
#include "tools/bench/support/lab_plan.h"

namespace stretto::bench {

/// How the urgent message travels.
enum class Preemption : std::uint8_t {
  kFifo,      ///< In its turn, with no bound on what is in flight.
  kPriority,  ///< Before what waits in Stretto, with no bound on what is in flight.
  kPreempt    ///< As Stretto does it by default.
};
std::string_view name_of(Preemption mode);

/// How the background travels.
enum class Background : std::uint8_t {
  kBulk,  ///< As TensorOptions::bulk: what the PyTorch bindings and `Parameters` declare.
  kPlain  ///< In small slices: what a program that declares nothing has.
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

/// One way of sending both.
struct PreemptCase {
  Preemption mode = Preemption::kPreempt;
  Background background = Background::kPlain;
  std::uint64_t processes = 1;  ///< At the sending host: urgent and background together, or each.
  HostPolicy policy = HostPolicy::kNone;
};

struct PreemptSettings {
  LabShape lab;
  std::uint64_t background_bytes = 64 << 20;  ///< In flight to each peer at any time.
  std::uint64_t part_bytes = 256 << 10;       ///< The background is handed to Stretto in these.
  std::uint64_t urgent_bytes = 4096;          ///< Of the urgent message, and of its answer.
  std::vector<Preemption> modes{Preemption::kPreempt};
  std::vector<Background> backgrounds{Background::kBulk, Background::kPlain};
  std::vector<std::uint64_t> processes{1};
  std::vector<HostPolicy> policies{HostPolicy::kUrgent};
  Direction direction = Direction::kOut;
  /// The first peer, which answers urgent messages, sends background too where peers do.
  bool urgent_peer_is_busy = true;
  TransportChoice transport = TransportChoice::kTcp;
};

/// Every mode over Stretto that is asked for; without a bound on what is in flight slices have no
/// size that matters, so only `preempt` has both backgrounds, and is of several processes.
std::vector<PreemptCase> cases_of(const PreemptSettings& settings);

std::vector<Flag> preempt_flags(PreemptSettings& settings);
/// What no flag can tell alone.
Status check_preempt(const PreemptSettings& settings);

}  // namespace stretto::bench
