// SPDX-License-Identifier: Apache-2.0
// The schemes that replay compares: one transport and the same processes, and only what is said
// here differs. docs/BENCHMARKS.md has the same tables with their reasons.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"
#include "stretto/tensor.h"

namespace stretto::bench::experiments {

/// What a worker does in an iteration, besides computing.
enum class Flow : std::uint8_t {
  kSerial,    ///< Computes, pushes everything, pulls everything.
  kPushPull,  ///< push_pull of each gradient as it comes; a layer waits for its own tensors only.
  kEager,     ///< push_pull of everything after computing; it must be there one iteration later.
  kDelayed,   ///< As kPushPull, but tensors of the first layers must be there only when backward
              ///< brings their next gradients.
  kInTurn     ///< As kPushPull, but one after the other, and forward begins when all are there.
};

/// Which gradients travel together, in the order in which they come.
enum class Fusing : std::uint8_t {
  kNone,     ///< Each by itself.
  kByBytes,  ///< Up to kFusedBytes of the model, as programs do that know no times.
  kByModel   ///< As collective::fuse says, by the times of computing and a measured start-up.
};
inline constexpr std::uint64_t kFusedBytes = 64'000'000;

struct Scheme {
  std::string_view name = {};
  Flow flow = Flow::kPushPull;
  std::string_view order = {};   ///< Of priorities, where --order says nothing.
  bool whole_tensors = false;    ///< A tensor is one part; else parts are of --slice_bytes.
  bool bulk = false;             ///< TensorOptions::bulk, as the PyTorch bindings declare it.
  bool whole_frames = false;     ///< Parts leave whole; else in slices that follow the path.
  std::uint64_t window_bytes{};  ///< Of whole frames, in flight on a link; 0: without bound.
  Exchange exchange = Exchange::kServers;
  Fusing fusing = Fusing::kNone;
  bool backward_by_bytes = false;  ///< Else by layers.
};

/// By servers, in the order in which they are told.
std::span<const Scheme> all_schemes();
/// Among workers: rungs of a ladder, of which each adds one thing to the one before.
std::span<const Scheme> ladder_schemes();
/// "all", "ladder", or names of both with commas between.
Status read_schemes(std::string_view text, std::vector<Scheme>& schemes);

}  // namespace stretto::bench::experiments
