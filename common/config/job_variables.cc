// SPDX-License-Identifier: Apache-2.0
// Converts a Config back to variables.
#include "common/config/job_variables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr auto kOfTheJob = std::to_array<std::string_view>({
    "STRETTO_WORLD_SIZE",
    "STRETTO_SERVERS",
    "STRETTO_SHARDS",
    "STRETTO_MIN_WORKERS",
    "STRETTO_RESTARTS",
    "STRETTO_SERVER_RESTARTS",
    "STRETTO_REPLICAS",
    "STRETTO_PART_BYTES",
    "STRETTO_LINK_WINDOW_BYTES",
    "STRETTO_TOTAL_WINDOW_BYTES",
    "STRETTO_HEARTBEAT_S",
    "STRETTO_DEAD_AFTER_S",
    "STRETTO_CHECKPOINT",
    "STRETTO_RESUME",
    "STRETTO_ENCRYPT",
});
constexpr auto kOfOneHost = std::to_array<std::string_view>({
    "STRETTO_TRANSPORT",
    "STRETTO_FABRIC_PROVIDER",
    "STRETTO_DRAIN_S",
    "STRETTO_CHECKSUMS",
    "STRETTO_MEMORY_LIMIT_MIB",
    "STRETTO_LOG_LEVEL",
});

bool is_one_of(std::string_view name, const auto& names) {
  return std::ranges::find(names, name) != names.end();
}

// "auto" lets each host choose for itself.
std::string_view name_of(Checksums checksums) {
  if (checksums == automatic_checksums()) return "auto";
  if (checksums == Checksums::kAll) return "all";
  return checksums == Checksums::kBetweenHosts ? "hosts" : "off";
}

Status unusable(std::string_view line) {
  return {Code::kMalformed,
          fmt::format("a scheduler tells '{}' to a server that joins, wanted the name of a setting "
                      "of its job, and a value",
                      line.substr(0, 80))};
}

}  // namespace

std::map<std::string, std::string> told_variables(const Config& config, std::uint32_t workers) {
  const JobSettings& job = config.job;
  std::map<std::string, std::string> told{
      {"STRETTO_WORLD_SIZE", std::to_string(workers)},
      {"STRETTO_SERVERS", std::to_string(config.servers)},
      {"STRETTO_SHARDS", std::to_string(config.shards)},
      {"STRETTO_MIN_WORKERS", std::to_string(job.min_workers)},
      {"STRETTO_RESTARTS", std::to_string(config.restarts)},
      {"STRETTO_SERVER_RESTARTS", std::to_string(job.server_restarts)},
      {"STRETTO_REPLICAS", std::to_string(job.replicas)},
      {"STRETTO_PART_BYTES", std::to_string(job.part_bytes)},
      {"STRETTO_LINK_WINDOW_BYTES", std::to_string(job.link_window_bytes)},
      {"STRETTO_TOTAL_WINDOW_BYTES", std::to_string(job.total_window_bytes)},
      {"STRETTO_HEARTBEAT_S", fmt::format("{}", seconds(job.heartbeat))},
      {"STRETTO_DEAD_AFTER_S", fmt::format("{}", seconds(job.dead_after))},
      {"STRETTO_ENCRYPT", config.encrypts ? "1" : "0"},
      {"STRETTO_TRANSPORT", std::string(name_of(config.transport))},
      {"STRETTO_CHECKSUMS", std::string(name_of(config.checksums))},
      {"STRETTO_DRAIN_S", fmt::format("{}", seconds(config.drain))},
      {"STRETTO_LOG_LEVEL", config.log_level}};
  const CheckpointSettings& checkpoint = config.checkpoint;
  told["STRETTO_RESUME"] = checkpoint.resumes ? "auto" : "no";
  if (!checkpoint.folder.empty()) told["STRETTO_CHECKPOINT"] = checkpoint.folder;
  if (!checkpoint.source.empty()) told["STRETTO_RESUME"] = checkpoint.source;
  if (!config.fabric_provider.empty()) told["STRETTO_FABRIC_PROVIDER"] = config.fabric_provider;
  if (config.memory_limit_bytes != 0) {
    told["STRETTO_MEMORY_LIMIT_MIB"] = std::to_string(config.memory_limit_bytes >> 20);
  }
  return told;
}

std::string lines_of(const std::map<std::string, std::string>& variables) {
  std::string lines;
  for (const auto& [name, value] : variables) lines += fmt::format("{}={}\n", name, value);
  return lines;
}

Result<std::map<std::string, std::string>> variables_in(std::string_view lines) {
  std::map<std::string, std::string> variables;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    const std::size_t equals = line.find('=');
    if (end == std::string_view::npos || equals == std::string_view::npos) return unusable(line);
    const std::string_view name = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    const bool is_known = is_one_of(name, kOfTheJob) || is_one_of(name, kOfOneHost);
    const auto is_text = [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; };
    if (!is_known || value.empty() || !std::ranges::all_of(value, is_text)) return unusable(line);
    variables.emplace(name, value);
    lines.remove_prefix(end + 1);
  }
  return variables;
}

std::span<const std::string_view> variables_of_all() { return kOfTheJob; }

}  // namespace stretto
