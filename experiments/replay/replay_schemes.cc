// SPDX-License-Identifier: Apache-2.0
// The table of schemes.
#include "experiments/replay/replay_schemes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "tools/bench/support/flags.h"

namespace stretto::bench::experiments {
namespace {

// Enough to keep a link busy between two messages, but so little that the queue decides.
constexpr std::uint64_t kNarrow = 256 << 10;

constexpr std::array kSchemes = {
    Scheme{.name = "serial", .flow = Flow::kSerial, .order = "arrival", .whole_frames = true},
    Scheme{.name = "wfbp", .order = "arrival", .whole_tensors = true, .whole_frames = true},
    Scheme{.name = "slice", .order = "arrival", .whole_frames = true},
    Scheme{.name = "priority",
           .order = "layer",
           .whole_tensors = true,
           .whole_frames = true,
           .window_bytes = kNarrow},
    Scheme{.name = "p3", .order = "layer", .whole_frames = true, .window_bytes = kNarrow},
    Scheme{.name = "preempt", .order = "layer", .bulk = true},
    Scheme{.name = "preempt-plain", .order = "layer"},
    Scheme{.name = "delayed", .flow = Flow::kDelayed, .order = "layer", .bulk = true},
    Scheme{.name = "eager", .flow = Flow::kEager, .order = "arrival", .bulk = true},
};

constexpr Scheme rung(std::string_view name, Scheme scheme) {
  scheme.name = name;
  scheme.bulk = true;
  return scheme;
}

constexpr std::array kLadder = {
    rung("ring", {.flow = Flow::kInTurn, .order = "arrival", .exchange = Exchange::kRing}),
    rung("ring-64mb", {.flow = Flow::kInTurn,
                       .order = "arrival",
                       .exchange = Exchange::kRing,
                       .fusing = Fusing::kByBytes}),
    rung("ring-fused", {.flow = Flow::kInTurn,
                        .order = "arrival",
                        .exchange = Exchange::kRing,
                        .fusing = Fusing::kByModel}),
    rung("auto-fused", {.flow = Flow::kInTurn,
                        .order = "arrival",
                        .exchange = Exchange::kAuto,
                        .fusing = Fusing::kByModel}),
    rung("auto-dag", {.flow = Flow::kInTurn,
                      .order = "arrival",
                      .exchange = Exchange::kAuto,
                      .fusing = Fusing::kByModel,
                      .backward_by_bytes = true}),
    rung("auto-windows", {.order = "layer",
                          .exchange = Exchange::kAuto,
                          .fusing = Fusing::kByModel,
                          .backward_by_bytes = true}),
    rung("auto-delayed", {.flow = Flow::kDelayed,
                          .order = "layer",
                          .exchange = Exchange::kAuto,
                          .fusing = Fusing::kByModel,
                          .backward_by_bytes = true}),
    // Not part of the ladder: overlapping exchanges without fusing.
    rung("auto-unfused", {.order = "layer", .exchange = Exchange::kAuto}),
};

const Scheme* find_scheme(std::string_view name) {
  for (const std::span<const Scheme> schemes : {all_schemes(), ladder_schemes()}) {
    for (const Scheme& scheme : schemes) {
      if (scheme.name == name) return &scheme;
    }
  }
  return nullptr;
}

}  // namespace

std::span<const Scheme> all_schemes() { return kSchemes; }
std::span<const Scheme> ladder_schemes() { return kLadder; }

Status read_schemes(std::string_view text, std::vector<Scheme>& schemes) {
  schemes.clear();
  if (text == "all") {
    schemes.assign(kSchemes.begin(), kSchemes.end());
    return {};
  }
  if (text == "ladder") {
    schemes.assign(kLadder.begin(), kLadder.end());
    return {};
  }
  for (const std::string_view written : split(text)) {
    std::string name(written);
    std::replace(name.begin(), name.end(), '_', '-');
    const Scheme* found = find_scheme(name);
    if (found == nullptr) {
      std::string names;
      for (const Scheme& known : kSchemes) names += fmt::format("{}, ", known.name);
      for (const Scheme& known : kLadder) names += fmt::format("{}, ", known.name);
      return invalid(
          fmt::format("wanted {}or several with commas between, or all, or ladder", names));
    }
    schemes.push_back(*found);
  }
  return {};
}

}  // namespace stretto::bench::experiments
