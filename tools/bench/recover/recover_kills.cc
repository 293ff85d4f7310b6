// SPDX-License-Identifier: Apache-2.0
// Kills servers at random moments of a continuously stepping job.
#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <random>

#include "tools/bench/recover/recover.h"
#include "tools/bench/recover/recover_disk.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

constexpr Duration kKillPatience = 60s;
// The pause before the next kill, plus up to half as much.
constexpr Duration kCalm = 1s;
constexpr Duration kMoreCalm = 2s;  // With a checkpoint each second.

class KilledJob {
 public:
  KilledJob(const Settings& settings, RecoverRow row, Cluster& cluster)
      : settings_(settings), row_(row), cluster_(cluster), moved_(settings.servers) {}

  /// Waits until all workers step.
  Status begin() { return await_steps_since(0).status(); }
  /// Seconds from one kill until every worker has ended a step that began later.
  Result<double> kill_one();

 private:
  Result<double> await_steps_since(double since_s);
  Result<pid_t> process_of(const std::string& role) const;
  std::string victim();

  const Settings& settings_;
  const RecoverRow row_;
  Cluster& cluster_;
  std::vector<bool> moved_;  // By rank: the second of its two servers is the primary.
  std::size_t seen_ = 0;     // Reports already read.
  std::mt19937_64 random_{1};
};

// The primary: of two servers of a rank the one that was not killed last.
std::string KilledJob::victim() {
  const std::size_t place = random_() % settings_.servers;
  std::size_t rank = place;
  if (row_ == RecoverRow::kStandsBy) {
    rank += moved_[place] ? settings_.servers : 0;
    moved_[place] = !moved_[place];
  }
  return fmt::format("server {}", rank);
}

Result<pid_t> KilledJob::process_of(const std::string& role) const {
  for (const pid_t server : servers_of(cluster_.launcher())) {
    if (role_of(server) == role) return server;
  }
  return Status(Code::kPeerLost, role + " is to be killed, and is not there");
}

Result<double> KilledJob::kill_one() {
  const Duration calm = row_ == RecoverRow::kBeginsAgain ? kMoreCalm : kCalm;
  const double share = std::uniform_real_distribution<double>(1, 1.5)(random_);
  Status status = cluster_.hold(now() + duration_of(share * seconds(calm)));
  if (!status.ok()) return status;
  const Result<pid_t> server = process_of(victim());
  if (!server.ok()) return server.status();
  const double struck_s = seconds(now().time_since_epoch());
  ::kill(*server, SIGKILL);
  return await_steps_since(struck_s);
}

Result<double> KilledJob::await_steps_since(double since_s) {
  std::map<std::uint32_t, double> ended;  // By rank.
  const Time deadline = now() + kKillPatience;
  while (true) {
    for (; seen_ < cluster_.reports().size(); ++seen_) {
      const Report& report = cluster_.reports()[seen_];
      if (report.at_s - report.seconds < since_s) continue;
      ended.emplace(report.rank, report.at_s - since_s);
      if (ended.size() < settings_.workers) continue;
      return std::max_element(ended.begin(), ended.end(),
                              [](const auto& a, const auto& b) { return a.second < b.second; })
          ->second;
    }
    Status status = cluster_.await_reports(seen_ + 1, deadline);
    if (!status.ok()) return status;
  }
}

std::vector<std::string> launcher_flags(const Settings& settings, RecoverRow row,
                                        const std::string& folder) {
  std::vector<std::string> flags{"--restarts", std::to_string(settings.recover.kills + 1), "--env",
                                 "STRETTO_LOG_LEVEL=error"};
  if (row == RecoverRow::kStandsBy) flags.insert(flags.end(), {"--replicas", "2"});
  if (row == RecoverRow::kBeginsAgain) {
    flags.insert(flags.end(), {"--checkpoint", folder, "--checkpoint-every", "1s"});
  }
  return flags;
}

}  // namespace

Status measure_kills(const Settings& settings, RecoverRow row, const Output& output) {
  const Result<Scratch> folder = Scratch::make(settings.recover.folder);
  if (!folder.ok()) return folder.status();
  std::vector<std::string> orders{std::string(name_of(Benchmark::kRecover)), "--work", "on",
                                  "--step_bytes", std::to_string(settings.recover.step_bytes)};
  if (row != RecoverRow::kReturns) orders.emplace_back("--rule");
  Result<std::unique_ptr<Cluster>> cluster =
      Cluster::start(settings, orders, launcher_flags(settings, row, folder->path()));
  if (!cluster.ok()) return cluster.status();
  KilledJob job(settings, row, **cluster);
  if (Status status = job.begin(); !status.ok()) return status;
  std::vector<double> took;
  for (std::uint32_t i = 0; i < settings.recover.kills; ++i) {
    const Result<double> one = job.kill_one();
    if (!one.ok()) return one.status();
    took.push_back(*one);
  }
  if (Status status = (*cluster)->end(now() + kKillPatience); !status.ok()) return status;
  std::sort(took.begin(), took.end());
  Record record =
      recover_record(name_of(row), quantile(took, 0.5), 1e3 * quantile(took, 0.99), NAN, NAN);
  record.count("bytes", settings.recover.step_bytes)
      .count("runs", took.size())
      .real("seconds_least", took.front())
      .real("seconds_most", took.back());
  output.row(record);
  return {};
}

}  // namespace stretto::bench
