// SPDX-License-Identifier: Apache-2.0
// The table of schemes.
#include "tools/bench/replay_schemes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tools/bench/flags.h"

namespace stretto::bench {
namespace {

// Enough to keep a link busy between two messages, little enough that the queue before it decides.
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

}  // namespace

std::span<const Scheme> all_schemes() { return kSchemes; }

Status read_schemes(std::string_view text, std::vector<Scheme>& schemes) {
  schemes.clear();
  if (text == "all") {
    schemes.assign(kSchemes.begin(), kSchemes.end());
    return {};
  }
  for (const std::string_view written : split(text)) {
    std::string name(written);
    std::replace(name.begin(), name.end(), '_', '-');
    const auto found = std::find_if(kSchemes.begin(), kSchemes.end(),
                                    [&name](const Scheme& known) { return known.name == name; });
    if (found == kSchemes.end()) {
      std::string names;
      for (const Scheme& known : kSchemes) names += fmt::format("{}, ", known.name);
      return invalid(fmt::format("wanted {}or several with commas between, or all", names));
    }
    schemes.push_back(*found);
  }
  return {};
}

}  // namespace stretto::bench
