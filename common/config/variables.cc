// SPDX-License-Identifier: Apache-2.0
// All environment variable names, and the known name nearest to a misspelled one.
#include "common/config/variables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace stretto {
namespace {

constexpr std::string_view kPrefix = "STRETTO_";
constexpr std::size_t kLikeness = 3;  // Largest edit distance of a misspelled name.

// In the order of docs/CONFIGURATION.md.
constexpr auto kKnown = std::to_array<std::string_view>({
    "STRETTO_WORLD_SIZE",
    "STRETTO_SERVERS",
    "STRETTO_SHARDS",
    "STRETTO_MIN_WORKERS",
    "STRETTO_SERVER_RESTARTS",
    "STRETTO_REPLICAS",
    "STRETTO_SCHEDULER_RESTARTS",
    "STRETTO_SCHEDULER_LIFE",
    "STRETTO_SCHEDULER_JOURNAL",
    "STRETTO_SCHEDULER_ABSENCE_S",
    "STRETTO_WORKER_LINKS",
    "STRETTO_RESTARTS",
    "STRETTO_RANK",
    "STRETTO_SCHEDULER",
    "STRETTO_JOB_TOKEN",
    "STRETTO_STARTED_BY",
    "STRETTO_BIND_HOST",
    "STRETTO_MACHINE",
    "STRETTO_NODE_HOST",
    "STRETTO_SERVER_PORT",
    "STRETTO_PART_BYTES",
    "STRETTO_LINK_WINDOW_BYTES",
    "STRETTO_TOTAL_WINDOW_BYTES",
    "STRETTO_HEARTBEAT_S",
    "STRETTO_DEAD_AFTER_S",
    "STRETTO_STALL_ERROR_S",
    "STRETTO_RENDEZVOUS_TIMEOUT_S",
    "STRETTO_DRAIN_S",
    "STRETTO_OPERATION_TIMEOUT_S",
    "STRETTO_CODEC",
    "STRETTO_NONFINITE",
    "STRETTO_CODEC_MIN_BYTES",
    "STRETTO_MEMORY_LIMIT_MIB",
    "STRETTO_CHECKPOINT",
    "STRETTO_CHECKPOINT_EVERY_S",
    "STRETTO_RESUME",
    "STRETTO_MTBF_S",
    "STRETTO_CHECKPOINT_MADE",
    "STRETTO_FAILURES",
    "STRETTO_RAN_S",
    "STRETTO_TRANSPORT",
    "STRETTO_HAND_OVER",
    "STRETTO_HOST_WINDOW",
    "STRETTO_SPIN_US",
    "STRETTO_CHECKSUMS",
    "STRETTO_ENCRYPT",
    "STRETTO_FABRIC_PROVIDER",
    "STRETTO_METRICS_FILE",
    "STRETTO_METRICS_ADDRESS",
    "STRETTO_INPUT_BALANCE",
    "STRETTO_PAGE_ADDRESS",
    "STRETTO_TRACE",
    "STRETTO_TRACE_RECORDS",
    "STRETTO_LOG_LEVEL",
    "STRETTO_BIN_DIR",
    "STRETTO_RUNTIME_DIR",
    "STRETTO_STAGE",
    "STRETTO_CHECK_VALUES",
    "STRETTO_INTERFACE",
    "STRETTO_STARTER",
    "STRETTO_ROLE",
    "STRETTO_LAUNCH_SECRET",
    "STRETTO_LAUNCH_AT",
});

constexpr auto kRetired = std::to_array<RetiredVariable>({
    {"STRETTO_STALL_WARN_S",
     "who holds up a round is named within seconds, by itself; unset it, or set "
     "STRETTO_STALL_ERROR_S, the age at which a round is an error"},
});

// Levenshtein distance: insertions, deletions and replacements between two names.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// The known name nearest to `name`; empty if none is near.
std::string_view meant_by(std::string_view name) {
  std::string_view best;
  std::size_t least = kLikeness + 1;
  for (const std::string_view known : kKnown) {
    const std::size_t apart = distance(name, known);
    // A name with a word too many or too few also counts as near.
    const bool longer = name.starts_with(known) || known.starts_with(name);
    const std::size_t counted = longer ? std::min(apart, kLikeness) : apart;
    if (counted < least) {
      least = counted;
      best = known;
    }
  }
  return best;
}

bool of_kubernetes(std::string_view name) {
  return name.find("_SERVICE_") != std::string_view::npos || name.ends_with("_PORT") ||
         name.find("_PORT_") != std::string_view::npos;
}

}  // namespace

std::span<const std::string_view> known_variables() { return kKnown; }

std::span<const RetiredVariable> retired_variables() { return kRetired; }

std::vector<std::string> unread_variables(std::span<const std::string> names) {
  std::vector<std::string> sentences;
  for (const std::string& name : names) {
    const bool known = std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
    if (!name.starts_with(kPrefix) || known || of_kubernetes(name)) continue;
    const std::string_view meant = meant_by(name);
    sentences.push_back(
        meant.empty()
            ? fmt::format("{} is set, which nothing of Stretto reads", name)
            : fmt::format("{} is set, which nothing of Stretto reads; is {} meant?", name, meant));
  }
  std::sort(sentences.begin(), sentences.end());
  return sentences;
}

}  // namespace stretto
