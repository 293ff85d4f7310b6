// SPDX-License-Identifier: Apache-2.0
// The flags, and the limits that their values must keep.
#include "examples/digits/settings.h"

#include <fmt/format.h>
#include <gflags/gflags.h>

#include <filesystem>

DEFINE_string(data, "", "CSV file of the digits (default: the one that comes with the example)");
DEFINE_uint32(epochs, 50, "passes over the training samples");
DEFINE_uint32(batch, 32, "samples of one step, over all workers");
DEFINE_double(rate, 0.1, "learning rate at the start; it falls to 0 linearly");
DEFINE_uint32(hidden, 64, "units of the hidden layer");
DEFINE_uint64(seed, 1, "seed of the first parameters and of the order of the samples");
DEFINE_string(mode, "worker",
              "where gradients become parameters: 'worker' (the servers average the gradients) or "
              "'server' (they keep the parameters)");
DEFINE_bool(deterministic, false, "let the servers add in rank order, for the same bits each time");

namespace digits {

namespace {

using stretto::Code;
using stretto::Result;
using stretto::Status;

constexpr std::uint32_t kEpochsMax = 100'000;
constexpr std::uint32_t kBatchMax = 100'000;
constexpr std::uint32_t kHiddenMax = 1 << 16;
constexpr double kRateMax = 100;

/// The file in the source tree, or, where that has gone, one beside the program.
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
  if (Status s = check_count("batch", FLAGS_batch, kBatchMax); !s.ok()) return s;
  if (Status s = check_count("hidden", FLAGS_hidden, kHiddenMax); !s.ok()) return s;
  if (!(FLAGS_rate > 0 && FLAGS_rate <= kRateMax)) {
    return {
        Code::kInvalidArgument,
        fmt::format("--rate: wanted a number above 0, up to {}, found {}", kRateMax, FLAGS_rate)};
  }
  if (FLAGS_mode != "worker" && FLAGS_mode != "server") {
    return {Code::kInvalidArgument,
            fmt::format("--mode: wanted 'worker' or 'server', found '{}'", FLAGS_mode)};
  }
  return {};
}

}  // namespace

Result<Settings> settings_from_flags(int* argc, char*** argv) {
  gflags::SetUsageMessage("trains a classifier of handwritten digits, as one worker of a job");
  gflags::ParseCommandLineFlags(argc, argv, true);
  if (*argc > 1) {
    return Status(Code::kInvalidArgument, fmt::format("wanted flags only, found '{}'", (*argv)[1]));
  }
  if (Status status = check_flags(); !status.ok()) return status;
  return Settings{.data = FLAGS_data.empty() ? default_data() : FLAGS_data,
                  .epochs = FLAGS_epochs,
                  .batch = FLAGS_batch,
                  .rate = FLAGS_rate,
                  .hidden = FLAGS_hidden,
                  .seed = FLAGS_seed,
                  .update = FLAGS_mode == "server" ? Update::kServer : Update::kWorker,
                  .deterministic = FLAGS_deterministic};
}

}  // namespace digits
