// SPDX-License-Identifier: Apache-2.0
// The schemes that replay compares: the same transport and processes, and only these settings
// differ. docs/BENCHMARKS.md has the same tables with the reasons.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"
#include "stretto/tensor.h"

namespace stretto::bench::experiments {

/// The communication of a worker's iteration.
enum class Flow : std::uint8_t {
  kSerial,    ///< Computes, pushes everything, pulls everything.
  kPushPull,  ///< push_pull of each gradient when ready; a layer waits for its own tensors only.
  kEager,     ///< push_pull of everything after computing; needed one iteration later.
  kDelayed,   ///< As kPushPull, but tensors of the first layers are needed only when backward
              ///< has their next gradients.
  kInTurn     ///< As kPushPull, but one at a time, and forward begins when all are complete.
};

/// Which gradients are fused, in the order in which they become ready.
enum class Fusing : std::uint8_t {
  kNone,     ///< Each gradient alone.
  kByBytes,  ///< Up to kFusedBytes of the model, as frameworks that know no times.
  kByModel   ///< By collective::fuse, from compute times and a measured start-up cost.
};
inline constexpr std::uint64_t kFusedBytes = 64'000'000;

struct Scheme {
  std::string_view name = {};
  Flow flow = Flow::kPushPull;
  std::string_view order = {};   ///< The priority order, unless --order is set.
  bool whole_tensors = false;    ///< A tensor is one part; otherwise parts have --slice_bytes.
  bool bulk = false;             ///< TensorOptions::bulk, as the PyTorch bindings declare it.
  bool whole_frames = false;     ///< Parts leave whole; otherwise in slices that adapt to the path.
  std::uint64_t window_bytes{};  ///< Whole frames in flight on a link; 0: unlimited.
  Exchange exchange = Exchange::kServers;
  Fusing fusing = Fusing::kNone;
  bool backward_by_bytes = false;  ///< Otherwise by layers.
};

/// With servers, in the order of the output.
std::span<const Scheme> all_schemes();
/// Among workers: a ladder, in which each scheme adds one thing to the previous one.
std::span<const Scheme> ladder_schemes();
/// "all", "ladder", or comma-separated names from both.
Status read_schemes(std::string_view text, std::vector<Scheme>& schemes);

}  // namespace stretto::bench::experiments
