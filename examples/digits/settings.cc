// SPDX-License-Identifier: Apache-2.0
// The flags, and the limits of their values.
#include "examples/digits/settings.h"

#include <fmt/core.h>
#include <gflags/gflags.h>

#include <filesystem>

DEFINE_string(data, "", "CSV file of the digits (default: the one that comes with the example)");
DEFINE_string(
    records, "",
    "write the training samples to a record file in this folder, and read them from there "
    "while training (default: they stay in memory)");
DEFINE_uint32(magnify, 1,
              "with --records: each pixel becomes so many by so many, for a data set of any size; "
              "256 makes 6 GB");
DEFINE_uint32(epochs, 50, "passes over the training samples");
DEFINE_uint32(batch, 32, "samples of one step, over all workers");
DEFINE_double(rate, 0.1, "learning rate at the start; it falls to 0 linearly");
DEFINE_uint32(hidden, 64, "units of the hidden layer");
DEFINE_uint64(seed, 1, "seed of the first parameters and of the order of the samples");
DEFINE_string(mode, "sync", "sync, bounded, async, eager or eager_async");
DEFINE_uint32(bound, 3, "mode bounded: steps that a worker may be ahead of the slowest");
DEFINE_uint32(warm_up, 0, "modes eager and eager_async: so many first steps without delay");
DEFINE_string(rate_rule, "relative",
              "modes without rounds: what stale gradients get of the learning rate: constant, "
              "inverse, inverse_root, relative or compensated");
DEFINE_bool(deterministic, false, "let the servers add in rank order, for the same bits each time");

namespace digits {

namespace {

using stretto::Code;
using stretto::Result;
using stretto::Status;

constexpr std::uint32_t kEpochsMax = 100'000;
constexpr std::uint32_t kMagnifyMax = 1024;
constexpr std::uint32_t kBatchMax = 100'000;
constexpr std::uint32_t kHiddenMax = 1 << 16;
constexpr double kRateMax = 100;

/// The file in the source tree; if that is missing, the copy beside the program.
std::string default_data() {
  std::error_code error;
  if (std::filesystem::exists(STRETTO_DIGITS_DATA, error)) return STRETTO_DIGITS_DATA;
  return std::filesystem::read_symlink("/proc/self/exe", error).replace_filename("digits.csv");
}

Status check_count(const char* flag, std::uint32_t value, std::uint32_t max) {
  if (value >= 1 && value <= max) return {};
  return {Code::kInvalidArgument,
          fmt::format("--{}: wanted a number from 1 to {}, found {}", flag, max, value)};
}

Status check_flags() {
  if (Status s = check_count("epochs", FLAGS_epochs, kEpochsMax); !s.ok()) return s;
  if (Status s = check_count("magnify", FLAGS_magnify, kMagnifyMax); !s.ok()) return s;
  if (Status s = check_count("batch", FLAGS_batch, kBatchMax); !s.ok()) return s;
  if (Status s = check_count("hidden", FLAGS_hidden, kHiddenMax); !s.ok()) return s;
  if (!(FLAGS_rate > 0 && FLAGS_rate <= kRateMax)) {
    return {
        Code::kInvalidArgument,
        fmt::format("--rate: wanted a number above 0, up to {}, found {}", kRateMax, FLAGS_rate)};
  }
  return {};
}

}  // namespace

Result<Settings> settings_from_flags() {
  if (Status status = check_flags(); !status.ok()) return status;
  const Result<stretto::Mode> mode = stretto::mode_named(FLAGS_mode);
  if (!mode.ok()) return mode.status();
  Result<std::unique_ptr<stretto::RateRule>> rule = stretto::rate_rule_named(FLAGS_rate_rule);
  if (!rule.ok()) return rule.status();
  return Settings{.data = FLAGS_data.empty() ? default_data() : FLAGS_data,
                  .records = FLAGS_records,
                  .magnify = FLAGS_magnify,
                  .epochs = FLAGS_epochs,
                  .batch = FLAGS_batch,
                  .rate = FLAGS_rate,
                  .hidden = FLAGS_hidden,
                  .seed = FLAGS_seed,
                  .parameters = {.mode = *mode,
                                 .bound = FLAGS_bound,
                                 .rate_rule = *std::move(rule),
                                 .warm_up = FLAGS_warm_up,
                                 .deterministic = FLAGS_deterministic}};
}

}  // namespace digits
