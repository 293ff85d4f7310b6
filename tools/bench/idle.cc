// SPDX-License-Identifier: Apache-2.0
// Samples every process of a cluster twice; its workers have joined and wait for a pipe to end.
#include <fmt/core.h>

#include "tools/bench/exchange/cluster.h"
#include "tools/bench/settings/benchmarks.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/processes.h"

namespace stretto::bench {
namespace {

constexpr Duration kSettling = 1s;  // After the last worker has joined.

struct Look {
  pid_t process_id = 0;
  std::string role;
  double cpu_s = 0;
  Time at;
};

Result<std::vector<Look>> look_at_all(pid_t launcher) {
  std::vector<Look> looks{{launcher, "launcher", 0, {}}};
  for (const pid_t child : children_of(launcher)) looks.push_back({child, role_of(child), 0, {}});
  for (Look& look : looks) {
    const Result<double> cpu_s = cpu_seconds_of(look.process_id);
    if (!cpu_s.ok()) return cpu_s.status();
    look.cpu_s = *cpu_s;
    look.at = now();
  }
  return looks;
}

Result<Record> record_of(const Look& before) {
  const Result<double> cpu_s = cpu_seconds_of(before.process_id);
  if (!cpu_s.ok()) return cpu_s.status();
  const double elapsed = seconds(now() - before.at);
  const Result<Footprint> footprint = footprint_of(before.process_id);
  if (!footprint.ok()) return footprint.status();
  Record record;
  record.text("name", "idle")
      .text("role", before.role)
      .real("cpu_share", (*cpu_s - before.cpu_s) / elapsed)
      .count("threads", footprint->threads)
      .real("rss_mb", footprint->rss_mb)
      .real("seconds", elapsed);
  return record;
}

}  // namespace

Status run_idle(const Settings& settings, Output& output) {
  Result<std::unique_ptr<Cluster>> started = Cluster::start(settings, {"idle"});
  if (!started.ok()) return started.status();
  Cluster& cluster = **started;
  Status status = cluster.await_reports(now() + kClusterPatience);
  if (status.ok()) status = cluster.hold(now() + kSettling);
  if (!status.ok()) return status;
  const Result<std::vector<Look>> looks = look_at_all(cluster.launcher());
  if (!looks.ok()) return looks.status();
  const auto time = duration_of(settings.seconds);
  if (status = cluster.hold(now() + time); !status.ok()) return status;

  output.title(
      fmt::format("idle: {} workers, {} servers of {} shard(s), which have joined and do "
                  "nothing, watched for {} s",
                  settings.workers, settings.servers, settings.shards, settings.seconds));
  output.columns({"role", "cpu_share", "threads", "rss_mb"});
  std::vector<Record> records;
  for (const Look& look : *looks) {
    Result<Record> record = record_of(look);
    if (!record.ok()) return record.status();
    records.push_back(*std::move(record));
  }
  for (const Record& record : records) output.row(record);
  return cluster.end(now() + kClusterPatience);
}

}  // namespace stretto::bench
