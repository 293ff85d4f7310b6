// SPDX-License-Identifier: Apache-2.0
// Checkpoints: the cost of writing one for the steps, and the rates of writing and restoring,
// alternated with plain writes and reads of the same folder.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "tools/bench/recover/recover.h"
#include "tools/bench/recover/recover_disk.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

std::vector<std::string> orders_of(const Settings& settings, std::string_view work) {
  const RecoverSettings& recover = settings.recover;
  return {std::string(name_of(Benchmark::kRecover)),
          "--rule",
          "--work",
          std::string(work),
          "--tensors",
          std::to_string(tensors_held(recover, settings.servers)),
          "--step_bytes",
          std::to_string(recover.step_bytes),
          "--interval",
          fmt::format("{}", recover.interval),
          "--phases",
          std::to_string(2 * settings.repeats)};
}

/// Reports of one job that runs to its end; without checkpoints if `folder` is empty.
Result<std::vector<Report>> reports_of(const Settings& settings, std::string_view work,
                                       const std::string& folder, std::size_t count) {
  std::vector<std::string> flags;
  if (!folder.empty()) flags = {"--checkpoint", folder};
  Result<std::unique_ptr<Cluster>> cluster =
      Cluster::start(settings, orders_of(settings, work), flags);
  if (!cluster.ok()) return cluster.status();
  const Time deadline =
      now() + 5 * kClusterPatience + duration_of(10 * settings.repeats * settings.recover.interval);
  Status status = (*cluster)->await_reports(count, deadline);
  if (status.ok()) status = (*cluster)->end(deadline);
  if (!status.ok()) return status;
  return (*cluster)->reports();
}

/// A phase, by its slowest worker in each respect.
struct Phase {
  double seconds = 0;
  double p50_us = 0;
  double max_us = 0;
  double written_s = 0;
};

// Each worker has reported its phases in order.
std::vector<Phase> phases_of(const std::vector<Report>& reports) {
  std::vector<Phase> phases;
  std::map<std::uint32_t, std::size_t> told;
  for (const Report& report : reports) {
    const std::size_t number = told[report.rank]++;
    if (number == phases.size()) phases.emplace_back();
    Phase& phase = phases[number];
    phase.seconds = std::max(phase.seconds, report.seconds);
    phase.p50_us = std::max(phase.p50_us, report.p50_us);
    phase.max_us = std::max(phase.max_us, report.max_us);
    phase.written_s = std::max(phase.written_s, report.written_s);
  }
  return phases;
}

struct Pair {
  double stall_ms = 0;  ///< The longest step minus the median of `without`;
  double quiet_ms = 0;  ///< as stall_ms, for the phase without a checkpoint.
  double ratio = 0;     ///< Steps a second, relative to those without.
  double written_s = 0;
};

std::vector<Pair> pairs_of(const std::vector<Phase>& phases) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i + 1 < phases.size(); i += 2) {
    const bool first = has_checkpoint(i);
    const Phase& without = phases[first ? i + 1 : i];
    const Phase& with = phases[first ? i : i + 1];
    pairs.push_back({.stall_ms = 1e-3 * (with.max_us - without.p50_us),
                     .quiet_ms = 1e-3 * (without.max_us - without.p50_us),
                     .ratio = without.seconds / with.seconds,
                     .written_s = with.written_s});
  }
  return pairs;
}

double highest(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.99);
}

Record checkpoint_row(const std::vector<Pair>& pairs, double step_us, const FileSet& files,
                      std::vector<double> plain_s) {
  const Spread ratio = spread_of(values_of(pairs, &Pair::ratio));
  const Spread written = spread_of(values_of(pairs, &Pair::written_s));
  Record row = recover_record(name_of(RecoverRow::kCheckpoint), written.median,
                              highest(values_of(pairs, &Pair::stall_ms)), ratio.median,
                              median_of(std::move(plain_s)) / written.median);
  row.count("bytes", files.bytes)
      .count("runs", pairs.size())
      .real("seconds_least", written.min)
      .real("seconds_most", written.max)
      .real("ratio_least", ratio.min)
      .real("ratio_most", ratio.max)
      .real("stall_p50_ms", median_over(pairs, &Pair::stall_ms))
      .real("quiet_stall_p50_ms", median_over(pairs, &Pair::quiet_ms))
      .real("quiet_stall_ms", highest(values_of(pairs, &Pair::quiet_ms)))
      .real("step_ms", 1e-3 * step_us);
  return row;
}

/// Seconds from `begun` to the last report.
double until_last(const std::vector<Report>& reports, Time begun) {
  double last = 0;
  for (const Report& report : reports) last = std::max(last, report.at_s);
  return last - seconds(begun.time_since_epoch());
}

/// Seconds of one restore: the time of a restored job, minus its start and minus the exchange of
/// the same bytes. A fresh job measures the start, a second pull the exchange.
Result<double> restore_seconds(const Settings& settings, const std::string& folder) {
  Time begun = now();
  const Result<std::vector<Report>> anew = reports_of(settings, "anew", "", settings.workers);
  if (!anew.ok()) return anew.status();
  const double start_s = until_last(*anew, begun);
  begun = now();
  const Result<std::vector<Report>> restored =
      reports_of(settings, "restored", folder, settings.workers);
  if (!restored.ok()) return restored.status();
  double pulled_s = 0;
  for (const Report& report : *restored) pulled_s = std::max(pulled_s, report.seconds);
  return until_last(*restored, begun) - start_s - pulled_s;
}

Status measure_restores(const Settings& settings, const std::string& folder, const Output& output) {
  std::vector<double> restores;
  std::vector<double> ratios;
  const Result<FileSet> files = newest_checkpoint(folder);
  if (!files.ok()) return files.status();
  for (std::uint32_t i = 0; i < settings.repeats; ++i) {
    Status status = forget(*files);
    if (!status.ok()) return status;
    const Result<double> plain = plain_read_seconds(*files);
    if (!plain.ok()) return plain.status();
    if (status = forget(*files); !status.ok()) return status;
    const Result<double> restore = restore_seconds(settings, folder);
    if (!restore.ok()) return restore.status();
    restores.push_back(*restore);
    ratios.push_back(*plain / *restore);
  }
  const Spread took = spread_of(restores);
  const Spread ratio = spread_of(ratios);
  Record row = recover_record(name_of(RecoverRow::kRestore), took.median, NAN, NAN, ratio.median);
  row.count("bytes", files->bytes)
      .count("runs", restores.size())
      .real("seconds_least", took.min)
      .real("seconds_most", took.max)
      .real("ratio_least", ratio.min)
      .real("ratio_most", ratio.max);
  output.row(row);
  return {};
}

}  // namespace

Status measure_checkpoints(const Settings& settings, const Output& output) {
  const Result<Scratch> folder = Scratch::make(settings.recover.folder);
  if (!folder.ok()) return folder.status();
  const Result<std::vector<Report>> reports = reports_of(
      settings, "phases", folder->path(), std::size_t{2} * settings.repeats * settings.workers);
  if (!reports.ok()) return reports.status();
  const Result<FileSet> files = newest_checkpoint(folder->path());
  if (!files.ok()) return files.status();
  if (has(settings.recover, RecoverRow::kCheckpoint)) {
    std::vector<double> plain_s;
    for (std::uint32_t i = 0; i < settings.repeats; ++i) {
      const Result<double> plain =
          plain_write_seconds(folder->path(), settings.servers, files->bytes / settings.servers);
      if (!plain.ok()) return plain.status();
      plain_s.push_back(*plain);
    }
    const std::vector<Phase> phases = phases_of(*reports);
    output.row(checkpoint_row(pairs_of(phases), phases.front().p50_us, *files, plain_s));
  }
  if (!has(settings.recover, RecoverRow::kRestore)) return {};
  return measure_restores(settings, folder->path(), output);
}

}  // namespace stretto::bench
