// SPDX-License-Identifier: Apache-2.0
// The flags, and the limits of their values.
#include "examples/converge/settings.h"

#include <fmt/core.h>
#include <gflags/gflags.h>

#include <filesystem>
#include <memory>

DEFINE_string(task, "mlp", "softmax, mlp, conv (handwritten digits) or clusters (made up)");
DEFINE_string(data, "", "CSV file of the digits (default: the one of the digits example)");
DEFINE_string(mode, "eager", "sync, bounded, async, eager or eager_async");
DEFINE_string(rule, "constant",
              "how stale gradients are damped in bounded, async and eager_async: constant, "
              "inverse, inverse_root, relative or compensated");
DEFINE_double(lambda, 0.04, "of the rule compensated");
DEFINE_bool(probe, true,
            "ask for the staleness just before each push, if the rule wants it; =false: do not");
DEFINE_bool(overlay, true, "eager modes: add own updates that the values lack; =false: do not");
DEFINE_uint32(warm_up, 0, "eager modes: first steps that wait for their own updates");
DEFINE_uint32(bound, 3, "bounded: steps that a worker may be ahead of the slowest");
DEFINE_double(rate, 0.05, "learning rate of one gradient: a round of W gradients has W times that");
DEFINE_uint64(gradients, 1200, "gradients of all workers together, after which the run ends");
DEFINE_uint32(batch, 8, "samples of one gradient");
DEFINE_double(step_ms, 10, "what computing a gradient takes; filled up by sleep");
DEFINE_double(jitter, 0.1, "standard deviation of the logarithm of that time");
DEFINE_double(slow, 1, "times longer that the last worker takes");
DEFINE_uint64(seed, 1, "of the first weights, of the order of the samples, and of the jitter");
DEFINE_uint32(every, 2, "steps of worker 0 between two points of the curve");
DEFINE_double(target, 0.9, "accuracy on the test samples to be reached");

namespace converge {

namespace {

using stretto::Code;
using stretto::Mode;
using stretto::Result;
using stretto::Status;

/// The file in the source tree; if that is missing, the copy beside the program.
std::string default_data() {
  std::error_code error;
  if (std::filesystem::exists(STRETTO_DIGITS_DATA, error)) return STRETTO_DIGITS_DATA;
  return std::filesystem::read_symlink("/proc/self/exe", error).replace_filename("digits.csv");
}

Status check(const char* flag, double value, double least, double most) {
  if (value >= least && value <= most) return {};
  return {Code::kInvalidArgument,
          fmt::format("--{}: wanted a number from {} to {}, found {}", flag, least, most, value)};
}

Status check_flags() {
  const Status checks[] = {check("lambda", FLAGS_lambda, 0, 1000),
                           check("rate", FLAGS_rate, 1e-9, 1000),
                           check("gradients", static_cast<double>(FLAGS_gradients), 1, 1e6),
                           check("batch", FLAGS_batch, 1, 1000),
                           check("step_ms", FLAGS_step_ms, 0, 10'000),
                           check("jitter", FLAGS_jitter, 0, 2),
                           check("slow", FLAGS_slow, 1, 100),
                           check("every", FLAGS_every, 1, 1'000'000),
                           check("target", FLAGS_target, 0, 1)};
  for (const Status& status : checks) {
    if (!status.ok()) return status;
  }
  return {};
}

std::shared_ptr<const stretto::RateRule> shared(std::unique_ptr<stretto::RateRule> rule) {
  return rule;
}

}  // namespace

Result<Settings> settings_from_flags() {
  if (Status status = check_flags(); !status.ok()) return status;
  const Result<Mode> mode = stretto::mode_named(FLAGS_mode);
  if (!mode.ok()) return mode.status();
  auto rule = stretto::rate_rule_named(FLAGS_rule);
  if (!rule.ok()) return rule.status();
  if ((*rule)->compensates()) rule = stretto::compensated_rate(FLAGS_lambda);
  return Settings{.task = FLAGS_task,
                  .data = FLAGS_data.empty() ? default_data() : FLAGS_data,
                  .mode_name = std::string(name_of(*mode)),
                  .rule_name = FLAGS_rule,
                  .options = {.mode = *mode,
                              .bound = FLAGS_bound,
                              .optimizer = {.rule = stretto::Rule::kSgd},
                              .rate_rule = shared(*std::move(rule)),
                              .warm_up = FLAGS_warm_up,
                              .probe = FLAGS_probe,
                              .overlay = FLAGS_overlay},
                  .rate = FLAGS_rate,
                  .gradients = FLAGS_gradients,
                  .batch = FLAGS_batch,
                  .step_ms = FLAGS_step_ms,
                  .jitter = FLAGS_jitter,
                  .slow = FLAGS_slow,
                  .seed = FLAGS_seed,
                  .every = FLAGS_every,
                  .target = FLAGS_target};
}

}  // namespace converge
