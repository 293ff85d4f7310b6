// SPDX-License-Identifier: Apache-2.0
// The flags of recover, and their limits.
#include "tools/bench/settings/recover_settings.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto::bench {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 30;
constexpr std::uint64_t kMaxStepBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kFloatBytes = 4;

constexpr std::pair<std::string_view, RecoverRow> kRows[] = {
    {"checkpoint", RecoverRow::kCheckpoint},
    {"restore", RecoverRow::kRestore},
    {"replicas", RecoverRow::kReplicas},
    {"encrypt", RecoverRow::kEncrypt},
    {"crc", RecoverRow::kCrc},
    {"returns", RecoverRow::kReturns},
    {"stands_by", RecoverRow::kStandsBy},
    {"begins_again", RecoverRow::kBeginsAgain}};

}  // namespace

std::string_view name_of(RecoverRow row) { return word_for<RecoverRow>(kRows, row); }

bool has(const RecoverSettings& settings, RecoverRow row) {
  return settings.rows.empty() ||
         std::find(settings.rows.begin(), settings.rows.end(), row) != settings.rows.end();
}

std::vector<Flag> recover_flags(RecoverSettings& settings) {
  return {choices_flag<RecoverRow>("rows", kRows, settings.rows),
          whole_flag("bytes", 1 << 10, kMaxBytes, settings.bytes),
          whole_flag("step_bytes", kFloatBytes, kMaxStepBytes, settings.step_bytes),
          seconds_flag("interval", 0.01, 3600, settings.interval),
          {"exchanged", false,
           [&settings](const std::string& text) {
             return read_list(text, kFloatBytes, kMaxStepBytes, settings.exchanged);
           }},
          whole_flag("kills", 1, 10'000, settings.kills),
          {"folder", false, [&settings](const std::string& text) {
             settings.folder = text;
             return Status();
           }}};
}

Status check_recover(const RecoverSettings& settings) {
  std::vector<std::uint64_t> sizes = settings.exchanged;
  sizes.push_back(settings.step_bytes);
  for (const std::uint64_t bytes : sizes) {
    if (bytes % kFloatBytes == 0) continue;
    return invalid(fmt::format("a tensor of {} bytes: wanted a multiple of {}, they are of f32",
                               bytes, kFloatBytes));
  }
  if (settings.bytes >= 2 * settings.step_bytes) return {};
  return invalid(
      fmt::format("--bytes {}: wanted at least twice --step_bytes, {}, since servers keep a value "
                  "and as much again for its rule",
                  settings.bytes, 2 * settings.step_bytes));
}

std::uint64_t tensors_held(const RecoverSettings& settings, std::uint32_t servers) {
  return servers * settings.bytes / (2 * settings.step_bytes);
}

}  // namespace stretto::bench
