// SPDX-License-Identifier: Apache-2.0
// limit, Stretto, limit, ...: so that what else the machine does meanwhile meets both alike.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "common/config.h"
#include "tools/bench/benchmarks.h"
#include "tools/bench/cluster.h"
#include "tools/bench/now.h"
#include "tools/bench/raw_exchange.h"
#include "tools/bench/statistics.h"

namespace stretto::bench {
namespace {

constexpr double kLeastLimitSeconds = 0.3;
// Messages that the raw exchange keeps in flight with one endpoint. Few stay in the processor's
// caches, many keep every process busy: what is best depends on the machine, so each is tried.
constexpr std::array<std::uint64_t, 3> kMessagesEach = {1, 4, 16};

/// The job's numbers that the limit must share.
Result<JobSettings> job_settings(const Settings& settings) {
  std::map<std::string, std::string> given;
  if (settings.part_bytes != 0) given["STRETTO_PART_BYTES"] = std::to_string(settings.part_bytes);
  const Result<Config> config =
      config_from(overlay(std::move(given), process_environment()), Role::kScheduler);
  if (!config.ok()) return config.status();
  return config->job;
}

std::string transport_of(const Settings& settings) {
  if (!settings.transport.empty()) return std::string(settings.transport);
  return process_environment()("STRETTO_TRANSPORT").value_or("auto");
}

constexpr std::string_view kCopies = "shm_copies";

std::string_view limit_of(const Settings& settings) {
  const std::string transport = transport_of(settings);
  return transport == "zmq" || transport == "fabric" ? "raw_zmq" : kCopies;
}

/// What the limit is made of, for people.
std::string_view described(std::string_view limit) {
  if (limit == kCopies) return "its copies and sums, done by as many processes";
  return "raw ZeroMQ of the same shape";
}

RawShape shape_of(const Settings& settings, const JobSettings& job, std::uint64_t bytes) {
  const std::uint64_t chunk = std::min<std::uint64_t>(bytes, job.part_bytes);
  const std::uint32_t inflight = inflight_for(settings, bytes);
  RawShape shape{
      .workers = settings.workers, .servers = settings.servers, .shards = settings.shards};
  shape.out_bytes = settings.benchmark == Benchmark::kPull ? 0 : chunk;
  shape.back_bytes = settings.benchmark == Benchmark::kPush ? 0 : chunk;
  shape.counted_bytes = chunk;
  shape.messages = inflight * ((bytes + chunk - 1) / chunk);
  shape.memory_bytes = inflight * bytes;
  shape.copies = limit_of(settings) == kCopies;
  // Measured before and after Stretto, in all for as long.
  const double parts = 2.0 * kMessagesEach.size();
  shape.seconds = std::max(kLeastLimitSeconds, settings.seconds / parts);
  return shape;
}

Result<Rates> measure_stretto(const Settings& settings, std::uint64_t bytes) {
  const std::vector<std::string> words{std::string(name_of(settings.benchmark)),
                                       "--bytes",
                                       std::to_string(bytes),
                                       "--inflight",
                                       std::to_string(inflight_for(settings, bytes)),
                                       "--seconds",
                                       fmt::format("{}", settings.seconds)};
  Result<std::unique_ptr<Cluster>> cluster = Cluster::start(settings, words);
  if (!cluster.ok()) return cluster.status();
  const Time deadline = now() + kClusterPatience + duration_of(10 * settings.seconds);
  Status status = (*cluster)->await_reports(deadline);
  if (status.ok()) status = (*cluster)->end(deadline);
  if (!status.ok()) return status;
  return rates_of((*cluster)->reports());
}

/// The raw exchange with different numbers of messages in flight; the fastest is the limit.
class RawLimit {
 public:
  explicit RawLimit(const RawShape& shape) : shape_(shape) {
    // More than there are to send make no difference.
    const std::uint64_t endpoints = std::uint64_t{shape.servers} * shape.shards;
    const std::uint64_t most = (shape.messages + endpoints - 1) / endpoints;
    if (shape.copies) {
      candidates_[1];
    } else {
      for (const std::uint64_t each : kMessagesEach) candidates_[std::min(each, most)];
    }
  }

  Status measure() {
    for (auto& [messages_each, all] : candidates_) {
      shape_.messages_each = messages_each;
      const Result<Rates> rates = shape_.copies ? measure_copies(shape_) : measure_raw(shape_);
      if (!rates.ok()) return rates.status();
      all.push_back(*rates);
    }
    return {};
  }

  const std::vector<Rates>& best() const {
    const auto slower = [](const auto& a, const auto& b) {
      return median_over(a.second, &Rates::gb_per_s) < median_over(b.second, &Rates::gb_per_s);
    };
    return std::max_element(candidates_.begin(), candidates_.end(), slower)->second;
  }

 private:
  RawShape shape_;
  std::map<std::uint64_t, std::vector<Rates>> candidates_;
};

/// Of all workers together.
double parts_per_s(const Settings& settings, const JobSettings& job, std::uint64_t bytes,
                   double gb_per_s) {
  const std::uint64_t parts = (bytes + job.part_bytes - 1) / job.part_bytes;
  return settings.workers * gb_per_s * 1e9 * static_cast<double>(parts) /
         static_cast<double>(bytes);
}

Result<Record> measure(const Settings& settings, const JobSettings& job, std::uint64_t bytes) {
  std::vector<Rates> stretto;
  RawLimit limits(shape_of(settings, job, bytes));
  for (std::uint32_t i = 0; i <= settings.repeats; ++i) {
    if (Status status = limits.measure(); !status.ok()) return status;
    if (i == settings.repeats) break;
    const Result<Rates> ours = measure_stretto(settings, bytes);
    if (!ours.ok()) return ours.status();
    stretto.push_back(*ours);
  }
  const std::vector<Rates>& limit = limits.best();
  Record record;
  record.text("name", name_of(settings.benchmark))
      .count("workers", settings.workers)
      .count("servers", settings.servers)
      .count("shards", settings.shards)
      .count("bytes", bytes)
      .count("inflight", inflight_for(settings, bytes))
      .count("part_bytes", job.part_bytes)
      .text("transport", transport_of(settings))
      .real("gb_per_s", median_over(stretto, &Rates::gb_per_s))
      .real("parts_per_s",
            parts_per_s(settings, job, bytes, median_over(stretto, &Rates::gb_per_s)))
      .real("p50_us", median_over(stretto, &Rates::p50_us))
      .real("p99_us", median_over(stretto, &Rates::p99_us))
      .real("worker_cpu_s_per_gb", median_over(stretto, &Rates::worker_cpu_s_per_gb))
      .real("server_cpu_s_per_gb", median_over(stretto, &Rates::server_cpu_s_per_gb))
      .text("limit", limit_of(settings))
      .real("gb_per_s_limit", median_over(limit, &Rates::gb_per_s))
      .real("ratio", median_over(stretto, &Rates::gb_per_s) / median_over(limit, &Rates::gb_per_s))
      .real("limit_worker_cpu_s_per_gb", median_over(limit, &Rates::worker_cpu_s_per_gb))
      .real("limit_server_cpu_s_per_gb", median_over(limit, &Rates::server_cpu_s_per_gb));
  return record;
}

}  // namespace

Status run_exchange(const Settings& settings, Output& output) {
  const Result<JobSettings> job = job_settings(settings);
  if (!job.ok()) return job.status();
  output.title(
      fmt::format("{}: {} workers, {} servers of {} shard(s), transport {}, in parts of {} "
                  "bytes; sums are checked; the limit is {}",
                  name_of(settings.benchmark), settings.workers, settings.servers, settings.shards,
                  transport_of(settings), job->part_bytes, described(limit_of(settings))));
  output.columns({"bytes", "inflight", "gb_per_s", "gb_per_s_limit", "ratio", "parts_per_s",
                  "p50_us", "p99_us", "worker_cpu_s_per_gb", "server_cpu_s_per_gb"});
  for (const std::uint64_t bytes : settings.bytes) {
    const Result<Record> record = measure(settings, *job, bytes);
    if (!record.ok()) return record.status();
    output.row(*record);
  }
  return {};
}

}  // namespace stretto::bench
