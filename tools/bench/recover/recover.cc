// SPDX-License-Identifier: Apache-2.0
// The costs of fault tolerance, row by row; exchanges alternate with and without.
#include "tools/bench/recover/recover.h"

#include <fmt/core.h>

#include "tools/bench/settings/benchmarks.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

constexpr std::uint64_t kLargeBytes = 1 << 20;  // From this size on, several are in flight.

Result<Rates> exchange_once(const Settings& settings, std::uint64_t bytes,
                            const std::vector<std::string>& flags) {
  const std::vector<std::string> task{std::string(name_of(Benchmark::kPushPull)),
                                      "--bytes",
                                      std::to_string(bytes),
                                      "--inflight",
                                      bytes >= kLargeBytes ? "4" : "1",
                                      "--seconds",
                                      fmt::format("{}", settings.seconds)};
  Result<std::unique_ptr<Cluster>> cluster = Cluster::start(settings, task, flags);
  if (!cluster.ok()) return cluster.status();
  const Time deadline = now() + kClusterPatience + duration_of(10 * settings.seconds);
  Status status = (*cluster)->await_reports(deadline);
  if (status.ok()) status = (*cluster)->end(deadline);
  if (!status.ok()) return status;
  return rates_of((*cluster)->reports());
}

/// The same exchange plain and with `flags`, alternating.
Status measure_exchanges(const Settings& settings, RecoverRow row,
                         const std::vector<std::string>& flags, const Output& output) {
  for (const std::uint64_t bytes : settings.recover.exchanged) {
    std::vector<Rates> plain;
    std::vector<Rates> with;
    std::vector<double> ratios;
    for (std::uint32_t i = 0; i < settings.repeats; ++i) {
      const Result<Rates> first = exchange_once(settings, bytes, {});
      if (!first.ok()) return first.status();
      const Result<Rates> second = exchange_once(settings, bytes, flags);
      if (!second.ok()) return second.status();
      plain.push_back(*first);
      with.push_back(*second);
      ratios.push_back(second->gb_per_s / first->gb_per_s);
    }
    const Spread ratio = spread_of(ratios);
    const Spread took = spread_of(values_of(with, &Rates::p50_us));
    Record record = recover_record(name_of(row), 1e-6 * took.median, NAN, ratio.median, NAN);
    record.count("bytes", bytes)
        .count("runs", ratios.size())
        .real("seconds_least", 1e-6 * took.min)
        .real("seconds_most", 1e-6 * took.max)
        .real("ratio_least", ratio.min)
        .real("ratio_most", ratio.max)
        .real("plain_seconds", 1e-6 * median_over(plain, &Rates::p50_us));
    output.row(record);
  }
  return {};
}

}  // namespace

Record recover_record(std::string_view name, double seconds, double stall_ms,
                      double throughput_ratio, double disk_ratio) {
  Record record;
  record.text("name", name)
      .real("seconds", seconds)
      .real("stall_ms", stall_ms)
      .real("throughput_ratio", throughput_ratio)
      .real("disk_ratio", disk_ratio);
  return record;
}

Status run_recover(const Settings& settings, Output& output) {
  const RecoverSettings& recover = settings.recover;
  output.title(fmt::format(
      "recover: {} workers, {} server(s); {} bytes a server in a checkpoint, steps of {} bytes; "
      "exchanges for {} s; medians of {} turns; {} kills of each kind",
      settings.workers, settings.servers, recover.bytes, recover.step_bytes, settings.seconds,
      settings.repeats, recover.kills));
  output.columns({"name", "bytes", "runs", "seconds", "seconds_least", "seconds_most", "stall_ms",
                  "stall_p50_ms", "quiet_stall_ms", "throughput_ratio", "disk_ratio", "ratio_least",
                  "ratio_most"});
  Status status;
  if (has(recover, RecoverRow::kCheckpoint) || has(recover, RecoverRow::kRestore)) {
    status = measure_checkpoints(settings, output);
  }
  if (status.ok() && has(recover, RecoverRow::kReplicas)) {
    status = measure_exchanges(settings, RecoverRow::kReplicas, {"--replicas", "2"}, output);
  }
  // Within a host shared memory would be used, which needs none of these.
  Settings network = settings;
  if (status.ok() && has(recover, RecoverRow::kEncrypt)) {
    network.transport = "zmq";
    status = measure_exchanges(network, RecoverRow::kEncrypt, {"--encrypt"}, output);
  }
  if (status.ok() && has(recover, RecoverRow::kCrc)) {
    network.transport = "tcp";
    status =
        measure_exchanges(network, RecoverRow::kCrc, {"--env", "STRETTO_CHECKSUMS=all"}, output);
  }
  for (const RecoverRow row :
       {RecoverRow::kReturns, RecoverRow::kStandsBy, RecoverRow::kBeginsAgain}) {
    if (status.ok() && has(recover, row)) status = measure_kills(settings, row, output);
  }
  return status;
}

}  // namespace stretto::bench
