// SPDX-License-Identifier: Apache-2.0
// The flags of replay, and their limits.
#include "experiments/replay/replay_settings.h"

#include <fmt/core.h>

#include "experiments/models/models.h"
#include "experiments/replay/replay_plan.h"
#include "tools/bench/support/lab_plan.h"

namespace stretto::bench::experiments {
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
  // Each worker and server has its own lab host.
  return {whole_flag("workers", 1, kMaxLabPeers / 2, settings.workers),
          whole_flag("servers", 1, kMaxLabPeers / 2, settings.servers),
          whole_flag("repeats", 1, 1000, settings.repeats),
          whole_flag("rate_mbit", 1, kMaxRate, settings.rate_mbit),
          whole_flag("lab_mbit", 1, kMaxRate, settings.lab_mbit),
          whole_flag("scale", 1, 1 << 20, settings.scale),
          whole_flag("slice_bytes", 64, 1 << 30, settings.slice_bytes),
          whole_flag("late_layers", 0, 100'000, settings.late_layers),
          whole_flag("iterations", 1, 10'000, settings.iterations),
          whole_flag("warm_up", 1, 10'000, settings.warm_up),
          whole_flag("seed", 0, std::uint64_t{1} << 62, settings.seed),
          seconds_flag("delay_s", 0, 10, settings.delay_s),
          seconds_flag("compute_s", 1e-6, 3600, settings.compute_s),
          {"model", false,
           [&settings](const std::string& text) {
             settings.model = text;
             return find_model(text).status();
           }},
          {"scheme", false,
           [&settings](const std::string& text) { return read_schemes(text, settings.schemes); }},
          {"order", false,
           [&settings](const std::string& text) { return read_order(text, settings.order); }}};
}

Status check_replay(const ReplaySettings& settings) {
  const Result<Model> model = find_model(settings.model);
  if (!model.ok()) return model.status();
  for (const Scheme& scheme : settings.schemes) {
    if (scheme.exchange != Exchange::kServers && settings.workers < 2) {
      return invalid(
          fmt::format("{} is an exchange among workers, and --workers is {}: wanted 2 "
                      "or more",
                      scheme.name, settings.workers));
    }
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

}  // namespace stretto::bench::experiments
