// SPDX-License-Identifier: Apache-2.0
// The schemes that replay compares: one transport, one server and one worker, and only what is
// said here differs. docs/BENCHMARKS.md has the same table with its reasons.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"
#include "stretto/tensor.h"

namespace stretto::bench {

/// What a worker does in an iteration, besides computing.
enum class Flow : std::uint8_t {
  kSerial,    ///< Computes, pushes everything, pulls everything.
  kBarrier,   ///< Pushes each gradient as it comes; pulls everything once all pushes are done.
  kPushPull,  ///< push_pull of each gradient as it comes; a layer waits for its own tensors only.
  kEager,     ///< push_pull of everything after computing; it must be there one iteration later.
  kEagerPull  ///< Pulls everything when computing begins, pushes everything when it has ended, and
              ///< waits for both one iteration later.
};
/// True if no layer waits for its tensors: they came an iteration ago.
constexpr bool is_late(Flow flow) { return flow == Flow::kEager || flow == Flow::kEagerPull; }

struct Scheme {
  std::string_view name;
  Flow flow = Flow::kPushPull;
  std::string_view order;        ///< Of priorities: arrival, layer, random, tic, tac.
  bool whole_tensors = false;    ///< A tensor is one part; else parts are of --slice_bytes.
  bool bulk = false;             ///< TensorOptions::bulk, as the PyTorch bindings declare it.
  bool whole_frames = false;     ///< Parts leave whole; else in slices that follow the path.
  std::uint64_t window_bytes{};  ///< Of whole frames, under way on a link; 0: without bound.
  Mode mode = Mode::kSync;
  std::uint32_t bound = 0;
};

/// All, in the order in which they are told.
std::span<const Scheme> all_schemes();
/// "all", or names with commas between.
Status read_schemes(std::string_view text, std::vector<Scheme>& schemes);

}  // namespace stretto::bench
