// SPDX-License-Identifier: Apache-2.0
// The diary's two forms.
#include "input/tuning/tuning_log.h"

#include <fmt/core.h>

#include "common/clock.h"

namespace stretto::input {
namespace {

std::string csv_field(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

}  // namespace

std::string_view name_of(Action action) {
  switch (action) {
    case Action::kFirst:
      return "first";
    case Action::kClimb:
      return "climb";
    case Action::kShrink:
      return "shrink";
    case Action::kExplore:
      return "explore";
    case Action::kChoose:
      return "choose";
    case Action::kDrift:
      return "drift";
    case Action::kCap:
      return "cap";
  }
  return "unknown";
}

std::string describe(const Trial& trial) {
  return fmt::format("{:<7} q={} b={} KiB  {:.1f} MB/s +-{:.1f} %  p95 {:.2f} ms: {}",
                     name_of(trial.action), trial.knobs.depth,
                     static_cast<double>(trial.knobs.read_bytes) / 1024,
                     trial.bytes_per_second / 1e6, 100 * trial.noise,
                     1e3 * seconds(trial.p95_latency), trial.reason);
}

std::string to_csv(std::span<const Trial> trials) {
  std::string text =
      "seconds,action,depth,read_bytes,windows,bytes_per_second,noise,mean_latency_s,"
      "p95_latency_s,stall,reason\n";
  for (const Trial& trial : trials) {
    text += fmt::format("{:.6f},{},{},{},{},{:.6g},{:.4f},{:.6g},{:.6g},{:.4f},{}\n",
                        seconds(trial.at - trials.front().at), name_of(trial.action),
                        trial.knobs.depth, trial.knobs.read_bytes, trial.windows,
                        trial.bytes_per_second, trial.noise, seconds(trial.mean_latency),
                        seconds(trial.p95_latency), trial.stall, csv_field(trial.reason));
  }
  return text;
}

}  // namespace stretto::input
