// SPDX-License-Identifier: Apache-2.0
// Which priorities a scheme gives a model's tensors. Pure, but for an order that is read from a
// file.
#pragma once

#include <string>
#include <vector>

#include "stretto/order.h"
#include "tools/bench/replay_plan.h"

namespace stretto::bench {

/// The lab's links: what one carries, and how many ends share them.
struct Links {
  double bytes_per_second = 0;
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
};

/// What orders the scheme's tensors: --order, or its own.
std::string order_name(const ReplaySettings& settings, const Scheme& scheme);
/// One of registration, arrival, layer, random, tic, tac and file:PATH. `seed` is of random ones;
/// TAC is told the lab's times.
Result<Order> make_order(const std::string& name, const ReplaySettings& settings,
                         const Model& model, double bytes_per_second, std::uint64_t seed);

/// Compute and one-way transfer in the lab.
Load load_of(const ReplaySettings& settings, const Model& model, const Links& links);

}  // namespace stretto::bench
