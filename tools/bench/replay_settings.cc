// SPDX-License-Identifier: Apache-2.0
// The flags of replay, and the limits of what they may say.
#include "tools/bench/replay_settings.h"

#include <fmt/format.h>

#include "tools/bench/models.h"
#include "tools/bench/replay_plan.h"

namespace stretto::bench {
namespace {

constexpr std::uint64_t kMaxRate = 1'000'000;

Status read_order(const std::string& text, std::string& order) {
  for (const std::string_view known :
       {"registration", "arrival", "layer", "random", "tic", "tac", "first_use"}) {
    if (text == known) order = text;
  }
  if (text.starts_with("file:") && text.size() > 5) order = text;
  if (order == text && !text.empty()) return {};
  return invalid("wanted registration, arrival, layer, random, tic, tac, first_use or file:PATH");
}

}  // namespace

std::vector<Flag> replay_flags(ReplaySettings& settings) {
  const auto number = [](std::string_view name, std::uint64_t least, std::uint64_t most,
                         auto& value) {
    return Flag{name, false, [&value, least, most](const std::string& text) {
                  return read_whole(text, least, most, value);
                }};
  };
  std::vector<Flag> flags{number("rate_mbit", 1, kMaxRate, settings.rate_mbit),
                          number("lab_mbit", 1, kMaxRate, settings.lab_mbit),
                          number("scale", 1, 1 << 20, settings.scale),
                          number("slice_bytes", 64, 1 << 30, settings.slice_bytes),
                          number("iterations", 1, 10'000, settings.iterations),
                          number("warm_up", 1, 10'000, settings.warm_up),
                          number("seed", 0, std::uint64_t{1} << 62, settings.seed)};
  flags.push_back({"model", false, [&settings](const std::string& text) {
                     settings.model = text;
                     return find_model(text).status();
                   }});
  flags.push_back({"scheme", false, [&settings](const std::string& text) {
                     return read_schemes(text, settings.schemes);
                   }});
  flags.push_back({"order", false, [&settings](const std::string& text) {
                     return read_order(text, settings.order);
                   }});
  flags.push_back({"compute_s", false, [&settings](const std::string& text) {
                     return read_seconds(text, 1e-6, 3600, settings.compute_s);
                   }});
  return flags;
}

Status check_replay(const ReplaySettings& settings) {
  const Result<Model> model = find_model(settings.model);
  if (!model.ok()) return model.status();
  for (const Scheme& scheme : settings.schemes) {
    if (!scheme.whole_tensors) continue;
    const std::uint64_t largest = scaled_bytes(model->largest_bytes(), settings.scale);
    if (largest <= kMaxPartBytes) continue;
    return invalid(
        fmt::format("{} sends whole tensors, and the largest of {} has {} bytes at "
                    "--scale {}; a part has at most {}: wanted --scale {} or more",
                    scheme.name, settings.model, largest, settings.scale, kMaxPartBytes,
                    (model->largest_bytes() + kMaxPartBytes - 1) / kMaxPartBytes));
  }
  return {};
}

}  // namespace stretto::bench
