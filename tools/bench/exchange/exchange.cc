// SPDX-License-Identifier: Apache-2.0
// Measures limit and Stretto alternately, so that other load on the machine affects both alike.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <map>
#include <memory>

#include "common/config/config.h"
#include "tools/bench/exchange/cluster.h"
#include "tools/bench/exchange/supervised.h"
#include "tools/bench/limits/exchange_limit.h"
#include "tools/bench/settings/benchmarks.h"
#include "tools/bench/support/lab_job.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

/// The job settings that the limit must share.
Result<JobSettings> job_settings(const Settings& settings) {
  std::map<std::string, std::string> given;
  if (settings.part_bytes != 0) given["STRETTO_PART_BYTES"] = std::to_string(settings.part_bytes);
  const Result<Config> config =
      config_from(overlay(std::move(given), process_environment()), Role::kScheduler);
  if (!config.ok()) return config.status();
  return config->job;
}

std::vector<std::string> task_of(const Settings& settings, std::uint64_t bytes) {
  return {std::string(name_of(settings.benchmark)),
          "--bytes",
          std::to_string(bytes),
          "--inflight",
          std::to_string(inflight_for(settings, bytes)),
          "--seconds",
          fmt::format("{}", settings.seconds),
          "--exchange",
          std::string(name_of(settings.exchange))};
}

Result<Rates> measure_here(const Settings& settings, std::uint64_t bytes) {
  Result<std::unique_ptr<Cluster>> cluster = Cluster::start(settings, task_of(settings, bytes));
  if (!cluster.ok()) return cluster.status();
  const Time deadline = now() + kClusterPatience + duration_of(10 * settings.seconds);
  Status status = (*cluster)->await_reports(deadline);
  if (status.ok()) status = (*cluster)->end(deadline);
  if (!status.ok()) return status;
  return rates_of((*cluster)->reports());
}

Result<Rates> measure_in(const Netlab& lab, const Settings& settings, std::uint64_t bytes) {
  LabJob job;
  job.workers = settings.workers;
  job.servers = settings.servers;
  for (std::uint32_t i = 0; i < job.workers; ++i) job.hosts.push_back(host_of_worker(settings, i));
  for (std::uint32_t i = 0; i < job.servers; ++i) job.hosts.push_back(host_of_server(settings, i));
  job.variables.emplace_back("STRETTO_TRANSPORT", transport_of(settings));
  if (settings.part_bytes != 0) {
    job.variables.emplace_back("STRETTO_PART_BYTES", std::to_string(settings.part_bytes));
  }
  job.task = task_of(settings, bytes);
  job.reports = settings.workers;
  // Several rounds of all tensors, over links that servers may share.
  constexpr double kRounds = 20;
  const double bits = 16.0 * static_cast<double>(bytes) * inflight_for(settings, bytes);
  const auto slowest = static_cast<double>(std::ranges::min(settings.lab_mbit));
  const double round_s = bits * settings.workers / (1e6 * slowest);
  const Result<std::vector<Report>> reports =
      run_in(lab, job, kClusterPatience + duration_of(10 * settings.seconds + kRounds * round_s));
  if (!reports.ok()) return reports.status();
  return rates_of(*reports);
}

/// The sum of all workers.
double parts_per_s(const Settings& settings, const JobSettings& job, std::uint64_t bytes,
                   double gb_per_s) {
  const std::uint64_t parts = (bytes + job.part_bytes - 1) / job.part_bytes;
  return settings.workers * gb_per_s * 1e9 * static_cast<double>(parts) /
         static_cast<double>(bytes);
}

Record record_of(const Settings& settings, const JobSettings& job, std::uint64_t bytes,
                 const std::vector<Rates>& stretto, const std::vector<Rates>& limit) {
  const double gb_per_s = median_over(stretto, &Rates::gb_per_s);
  const Spread p50_us = spread_of(values_of(stretto, &Rates::p50_us));
  Record record;
  record.text("name", name_of(settings.benchmark))
      .text("exchange", name_of(settings.exchange))
      .count("workers", settings.workers)
      .count("servers", settings.servers)
      .count("shards", settings.shards)
      .count("bytes", bytes)
      .count("inflight", inflight_for(settings, bytes))
      .count("part_bytes", job.part_bytes)
      .text("transport", transport_of(settings))
      .count("lab_mbit", settings.lab_mbit.empty() ? 0 : settings.lab_mbit.front())
      .count("lab_hosts", settings.lab_hosts)
      .count("lab_mbit_least", settings.lab_mbit.empty() ? 0 : std::ranges::min(settings.lab_mbit))
      .real("gb_per_s", gb_per_s)
      .real("parts_per_s", parts_per_s(settings, job, bytes, gb_per_s))
      .real("p50_us", p50_us.median)
      .real("p50_us_least", p50_us.min)
      .real("p50_us_most", p50_us.max)
      .real("p99_us", median_over(stretto, &Rates::p99_us))
      .real("worker_cpu_s_per_gb", median_over(stretto, &Rates::worker_cpu_s_per_gb))
      .real("server_cpu_s_per_gb", median_over(stretto, &Rates::server_cpu_s_per_gb))
      .text("limit", limit_name(settings))
      .real("gb_per_s_limit", median_over(limit, &Rates::gb_per_s))
      .real("ratio", gb_per_s / median_over(limit, &Rates::gb_per_s))
      .real("limit_worker_cpu_s_per_gb", median_over(limit, &Rates::worker_cpu_s_per_gb))
      .real("limit_server_cpu_s_per_gb", median_over(limit, &Rates::server_cpu_s_per_gb));
  return record;
}

Result<Record> measure(const Settings& settings, const JobSettings& job, std::uint64_t bytes,
                       const Netlab* lab) {
  std::vector<Rates> stretto;
  const std::unique_ptr<ExchangeLimit> limit = make_limit(settings, job, bytes, lab);
  for (std::uint32_t i = 0; i <= settings.repeats; ++i) {
    if (Status status = limit->measure(); !status.ok()) return status;
    if (i == settings.repeats) break;
    const Result<Rates> ours =
        lab == nullptr ? measure_here(settings, bytes) : measure_in(*lab, settings, bytes);
    if (!ours.ok()) return ours.status();
    stretto.push_back(*ours);
  }
  return record_of(settings, job, bytes, stretto, limit->best());
}

Status measure_all(const Settings& settings, const JobSettings& job, Output& output,
                   const Netlab* lab) {
  output.title(fmt::format(
      "{} by {}: {} workers, {} servers of {} shard(s), transport {}{}, in parts of {} bytes; sums "
      "are checked; the limit is {}",
      name_of(settings.benchmark), name_of(settings.exchange), settings.workers, settings.servers,
      settings.shards, transport_of(settings),
      lab == nullptr ? ""
                     : fmt::format(" over links of {} Mbit/s", fmt::join(settings.lab_mbit, ", ")),
      job.part_bytes, limit_described(settings)));
  output.columns({"bytes", "inflight", "gb_per_s", "gb_per_s_limit", "ratio", "parts_per_s",
                  "p50_us", "p99_us", "worker_cpu_s_per_gb", "server_cpu_s_per_gb"});
  for (const std::uint64_t bytes : settings.bytes) {
    const Result<Record> record = measure(settings, job, bytes, lab);
    if (!record.ok()) return record.status();
    output.row(*record);
  }
  return {};
}

}  // namespace

Status run_exchange(const Settings& settings, Output& output) {
  const Result<JobSettings> job = job_settings(settings);
  if (!job.ok()) return job.status();
  if (settings.lab_mbit.empty()) return measure_all(settings, *job, output, nullptr);
  std::vector<std::uint64_t> rates;
  for (const LabHost& host : lab_hosts(settings)) rates.push_back(host.rate_mbit);
  const HeldSignals signals;
  const Result<Netlab> lab = Netlab::create(plan_star(rates, ::getpid()));
  if (!lab.ok()) return lab.status();
  return run_supervised(signals, [&] { return measure_all(settings, *job, output, &*lab); });
}

}  // namespace stretto::bench
