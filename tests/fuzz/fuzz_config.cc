// SPDX-License-Identifier: Apache-2.0
// Text input of a process: the environment, addresses, the launcher's command line and host files.
// Input: lines, NAME=VALUE for the environment, otherwise words of the command line; a word may
// name a file, whose text is all the lines.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "common/config/config.h"
#include "common/log.h"
#include "tools/launch/plan/arguments.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/hostfile.h"
#include "tools/launch/plan/kubernetes.h"
#include "tools/launch/plan/placement.h"

namespace stretto {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(std::string_view text) {
  constexpr std::size_t kMostLines = 64;
  Lines lines;
  while (!text.empty() && lines.size() < kMostLines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void check_config(const Config& config) {
  STRETTO_CHECK(check(config).ok());
  STRETTO_CHECK(config.workers >= 1 && config.shards >= 1);
  STRETTO_CHECK(config.servers >= 1 || (config.role != Role::kServer && !config.job.elastic()));
  const std::uint32_t world = config.role == Role::kServer ? config.servers : config.workers;
  STRETTO_CHECK(config.rank >= -1 && config.rank < static_cast<std::int64_t>(world));
  STRETTO_CHECK(config.scheduler.empty() || parse_host_port(config.scheduler).ok());
  STRETTO_CHECK(is_loopback(config.bind_host) || !config.token.empty());
  STRETTO_CHECK(config.rendezvous_timeout > 0ns && config.operation_timeout > 0ns);
  const JobSettings& job = config.job;
  STRETTO_CHECK(job.part_bytes >= 64 && job.part_bytes % 64 == 0);
  STRETTO_CHECK(job.link_window_bytes > 0 && job.total_window_bytes > 0);
  STRETTO_CHECK(job.dead_after >= 2 * job.heartbeat);
  STRETTO_CHECK(level_named(config.log_level));
}

void check_environment(const Lines& lines) {
  std::map<std::string, std::string> variables;
  for (const std::string& line : lines) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || equals + 1 == line.size()) continue;
    variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  const Environment none = [](const std::string&) { return std::nullopt; };
  const Environment environment = overlay(variables, none);
  for (const Role role : {Role::kScheduler, Role::kServer, Role::kWorker}) {
    const Result<Config> config = config_from(environment, role);
    if (config.ok()) {
      STRETTO_CHECK(config->role == role);
      check_config(*config);
    } else {
      STRETTO_CHECK(config.status().code() == Code::kInvalidArgument);
      STRETTO_CHECK(!config.status().cause().empty());
    }
  }
}

void check_address(const std::string& text) {
  const Result<HostPort> address = parse_host_port(text);
  if (!address.ok()) return;
  STRETTO_CHECK(!address->host.empty());
  const Result<HostPort> again = parse_host_port(address->text());
  STRETTO_CHECK(again.ok() && again->host == address->host && again->port == address->port);
}

void check_plan(const launch::Plan& plan) {
  STRETTO_CHECK(plan.workers >= 1 && plan.workers <= 4096);
  STRETTO_CHECK(plan.servers <= 1024);
  STRETTO_CHECK(plan.servers >= 1 || (plan.server_hosts.empty() && plan.least_workers == 0));
  STRETTO_CHECK(plan.shards >= 1 && plan.shards <= 1024);
  const bool runs = plan.action == launch::Action::kRun || plan.action == launch::Action::kDryRun;
  STRETTO_CHECK(!runs || !plan.command.empty());
  const auto members = launch::members_of(plan);
  STRETTO_CHECK(members.size() == 1 + std::size_t{plan.servers} + plan.workers);
  const launch::Variables given =
      launch::variables_for(plan, members.back(), {{"127.0.0.1", 9000}, "token", {}}, {}, {});
  STRETTO_CHECK(given.at("STRETTO_RANK") == std::to_string(plan.workers - 1));
  STRETTO_CHECK(given.at("STRETTO_JOB_TOKEN") == "token");
  const auto nowhere = [](const std::string&) { return false; };
  const Result<launch::Placement> placement = launch::place(plan, {}, nowhere);
  if (!placement.ok()) return;
  STRETTO_CHECK(placement->site_of.size() == members.size());
  for (const std::size_t site : placement->site_of) STRETTO_CHECK(site < placement->sites.size());
}

// The manifests of --print k8s, or the reason why there are none.
void check_manifests(const launch::Plan& plan) {
  if (plan.workers > 64 || plan.servers > 64) return;  // Their number changes a few digits only.
  const Result<std::string> text = launch::manifests(plan, "token");
  STRETTO_CHECK(text.ok() ? !text->empty() : text.status().code() == Code::kInvalidArgument);
}

// Shell words, and node lists of Slurm.
void check_words(const std::string& text) {
  const Result<std::vector<std::string>> again = launch::shell_words(launch::shell_quoted(text));
  STRETTO_CHECK(again.ok() && again->size() == 1 && again->front() == text);
  const Result<std::vector<std::string>> words = launch::shell_words(text);
  STRETTO_CHECK(words.ok() || words.status().code() == Code::kInvalidArgument);
  const auto allocation =
      launch::slurm_allocation({{"SLURM_JOB_ID", "1"}, {"SLURM_TASKS_PER_NODE", text}});
  if (!allocation.ok() || !allocation->has_value()) return;
  for (const std::uint32_t slots : (*allocation)->slots) STRETTO_CHECK(slots >= 1);
}

void check_hosts(const Result<std::vector<launch::HostSlots>>& hosts) {
  if (!hosts.ok()) return;
  STRETTO_CHECK(!hosts->empty());
  for (const launch::HostSlots& host : *hosts) STRETTO_CHECK(host.slots >= 1);
  STRETTO_CHECK(launch::slots_of(*hosts) >= hosts->size());
}

void run(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Lines lines = lines_of(text);
  check_environment(lines);
  for (const std::string& line : lines) check_address(line);
  check_hosts(launch::parse_host_list(text));
  check_hosts(launch::parse_hostfile(text, "hosts"));
  check_hosts(launch::parse_process_hosts(text, "hosts"));
  const launch::ReadFile read_file = [&](const std::string& path) -> Result<std::string> {
    if (path.empty()) return Status(Code::kInvalidArgument, "no such file");
    return text;
  };
  const Result<launch::Plan> plan = launch::parse_arguments(lines, read_file);
  if (plan.ok()) {
    check_plan(*plan);
    check_manifests(*plan);
  }
  check_words(text);
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::run(data, size);
  return 0;
}
