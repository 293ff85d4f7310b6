// SPDX-License-Identifier: Apache-2.0
// Each limit is measured before and after each run of Stretto.
#include "tools/bench/limits/exchange_limit.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "tools/bench/limits/raw_exchange.h"
#include "tools/bench/limits/raw_stream.h"
#include "tools/bench/support/lab_exchange.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastLimitSeconds = 0.3;
// Messages that the raw exchange keeps in flight with one endpoint. Few stay in the processor's
// caches, many keep every process busy: the optimum depends on the machine, so each is tried.
constexpr std::array<std::uint64_t, 3> kMessagesEach = {1, 4, 16};

constexpr std::string_view kCopies = "shm_copies";
constexpr std::string_view kLinks = "links";
constexpr std::string_view kNone = "none";

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
  shape.copies = limit_name(settings) == kCopies;
  // Measured before and after Stretto, for the same total time.
  const double parts = 2.0 * kMessagesEach.size();
  shape.seconds = std::max(kLeastLimitSeconds, settings.seconds / parts);
  return shape;
}

/// The raw exchange with different numbers of messages in flight; the fastest is the limit.
class RawLimit final : public ExchangeLimit {
 public:
  explicit RawLimit(const RawShape& shape) : shape_(shape) {
    // A limit above the number of messages makes no difference.
    const std::uint64_t endpoints = std::uint64_t{shape.servers} * shape.shards;
    const std::uint64_t most = (shape.messages + endpoints - 1) / endpoints;
    if (shape.copies) {
      candidates_[1];
    } else {
      for (const std::uint64_t each : kMessagesEach) candidates_[std::min(each, most)];
    }
  }

  Status measure() override {
    for (auto& [messages_each, all] : candidates_) {
      shape_.messages_each = messages_each;
      const Result<Rates> rates = shape_.copies ? measure_copies(shape_) : measure_raw(shape_);
      if (!rates.ok()) return rates.status();
      all.push_back(*rates);
    }
    return {};
  }

  std::vector<Rates> best() const override {
    const auto slower = [](const auto& a, const auto& b) {
      return median_over(a.second, &Rates::gb_per_s) < median_over(b.second, &Rates::gb_per_s);
    };
    return std::max_element(candidates_.begin(), candidates_.end(), slower)->second;
  }

 private:
  RawShape shape_;
  std::map<std::uint64_t, std::vector<Rates>> candidates_;
};

/// The lab links' limit, from the goodput of one TCP connection over one of them.
class LinkLimit final : public ExchangeLimit {
 public:
  LinkLimit(const Netlab& lab, double bound) : lab_(lab), bound_(bound) {}

  Status measure() override {
    const auto& hosts = lab_.receivers();
    const Result<Report> report = exchange_in(hosts[0], std::span(hosts).subspan(1, 1),
                                              raw_stream(kStreamSeconds), kStreamPatience);
    if (!report.ok()) return report.status();
    rates_.push_back({.gb_per_s = bound_ * report->gigabytes / report->seconds,
                      .worker_cpu_s_per_gb = kNoNumber,
                      .server_cpu_s_per_gb = kNoNumber});
    return {};
  }

  std::vector<Rates> best() const override { return rates_; }

 private:
  const Netlab& lab_;
  const double bound_;
  std::vector<Rates> rates_;
};

class NoLimit final : public ExchangeLimit {
 public:
  Status measure() override { return {}; }
  std::vector<Rates> best() const override { return {{kNoNumber, kNoNumber, kNoNumber}}; }
};

}  // namespace

std::string transport_of(const Settings& settings) {
  if (!settings.transport.empty()) return std::string(settings.transport);
  if (!settings.lab_mbit.empty()) return settings.lab_hosts == 0 ? "tcp" : "auto";
  return process_environment()("STRETTO_TRANSPORT").value_or("auto");
}

std::string_view limit_name(const Settings& settings) {
  if (!settings.lab_mbit.empty()) return kLinks;
  if (settings.exchange != Exchange::kServers) return kNone;
  const std::string transport = transport_of(settings);
  return transport == "tcp" || transport == "zmq" || transport == "fabric" ? "raw_zmq" : kCopies;
}

std::string_view limit_described(const Settings& settings) {
  const std::string_view name = limit_name(settings);
  if (name == kCopies) return "its copies and sums, done by as many processes";
  if (name == kLinks) return "what no exchange of this kind beats over these links";
  return name == kNone ? "not known" : "raw ZeroMQ of the same shape";
}

double link_bound(Exchange exchange, const std::vector<LabHost>& hosts) {
  double workers = 0;
  double servers = 0;
  double members = 0;  // Hosts with workers.
  double slowest = kInfinity;
  double all = 0;
  for (const LabHost& host : hosts) {
    const auto rate = static_cast<double>(host.rate_mbit);
    workers += host.workers;
    servers += host.servers;
    if (host.workers == 0) continue;
    members += 1;
    slowest = std::min(slowest, rate);
    all += rate;
  }
  if (exchange != Exchange::kServers) {
    if (members < 2) return kNoNumber;
    const double each = 2 * (members - 1);
    return exchange == Exchange::kAuto ? std::min(slowest, all / each) : slowest * members / each;
  }
  double bound = kInfinity;
  for (const LabHost& host : hosts) {  // Contributions and values to other hosts.
    const double sends = host.workers * (servers - host.servers) / servers +
                         (workers - host.workers) * host.servers / servers;
    if (sends > 0) bound = std::min(bound, static_cast<double>(host.rate_mbit) / sends);
  }
  return bound == kInfinity ? kNoNumber : bound;
}

std::unique_ptr<ExchangeLimit> make_limit(const Settings& settings, const JobSettings& job,
                                          std::uint64_t bytes, const Netlab* lab) {
  if (lab != nullptr) {
    const std::vector<LabHost> hosts = lab_hosts(settings);
    if (hosts.size() < 2) return std::make_unique<NoLimit>();
    const auto stream = static_cast<double>(std::min(hosts[0].rate_mbit, hosts[1].rate_mbit));
    return std::make_unique<LinkLimit>(*lab, link_bound(settings.exchange, hosts) / stream);
  }
  if (settings.exchange != Exchange::kServers) return std::make_unique<NoLimit>();
  return std::make_unique<RawLimit>(shape_of(settings, job, bytes));
}

}  // namespace stretto::bench
