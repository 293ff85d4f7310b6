// SPDX-License-Identifier: Apache-2.0
// Makes the lab, then measures alternately the link and every scheme, in rounds, so that other load
// on the machine affects all alike.
#include "experiments/replay/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "experiments/replay/replay_plan.h"
#include "tools/bench/exchange/supervised.h"
#include "tools/bench/limits/raw_stream.h"
#include "tools/bench/support/lab_delay.h"
#include "tools/bench/support/lab_exchange.h"
#include "tools/bench/support/lab_job.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench::experiments {
namespace {

/// The results of one scheme, from all rounds and workers.
struct Found {
  Scheme scheme;
  std::vector<Report> iterations;
};

// Each worker reports its own fraction.
double cpu_used_of(const std::vector<Report>& reports) {
  std::map<std::uint32_t, std::vector<double>> shares;
  for (const Report& report : reports) shares[report.rank].push_back(report.cpu_s);
  double sum = 0;
  for (const auto& [rank, values] : shares) sum += median_of(values);
  return sum;
}

class Replay {
 public:
  Replay(const ReplaySettings& settings, const Netlab& lab, Model model, Output& output)
      : wanted_(settings), lab_(lab), model_(std::move(model)), output_(output) {
    for (const Scheme& scheme : wanted_.schemes) found_.push_back({scheme, {}});
  }

  Status run() {
    describe();
    for (std::uint32_t round = 0; round < wanted_.repeats; ++round) {
      if (Status status = measure_link(); !status.ok()) return status;
      for (Found& found : found_) {
        Status status = measure(found);
        if (!status.ok()) return std::move(status).with_operation(found.scheme.name);
      }
    }
    for (const Found& found : found_) output_.row(record_of(found));
    return {};
  }

 private:
  void describe() const;
  Status measure_link();
  Status measure(Found& found);
  LabJob job_of(const Found& found) const;
  Record record_of(const Found& found) const;
  Links links() const { return {1e9 * median_of(gb_per_s_), wanted_.workers, wanted_.servers}; }
  Load load_by(const Scheme& scheme) const {
    return load_of(wanted_, model_, links(), scheme.exchange);
  }
  // Each round measures all; the last may measure a few more than requested.
  std::uint32_t iterations_each() const {
    return (wanted_.iterations + wanted_.repeats - 1) / wanted_.repeats;
  }

  const ReplaySettings& wanted_;
  const Netlab& lab_;
  const Model model_;
  Output& output_;
  std::vector<Found> found_;
  std::vector<double> gb_per_s_;
};

void Replay::describe() const {
  const Compute compute = compute_of(wanted_, model_);
  output_.title(fmt::format(
      "replay: {} at {} Mbit/s, as 1/{} of its bytes at {} Mbit/s with {:.3g} s of emulated "
      "computing ({}); {} worker(s), {} server(s), TCP with cubic, {:.3g} ms one way; {} "
      "iterations "
      "in {} round(s)",
      model_.name, wanted_.rate_mbit, wanted_.scale, wanted_.lab_mbit, compute.total_s(),
      model_.source, wanted_.workers, wanted_.servers, 1e3 * wanted_.delay_s,
      iterations_each() * wanted_.repeats, wanted_.repeats));
  output_.columns({"scheme", "transfers", "compute_s", "one_way_s", "serial_s", "bound_s",
                   "iteration_s_median", "iteration_s_iqr", "original_s", "cpu_used", "overlap",
                   "efficiency", "verdict"});
}

Status Replay::measure_link() {
  const auto& hosts = lab_.receivers();
  const Result<Report> report = exchange_in(hosts[0], std::span(hosts).subspan(wanted_.workers, 1),
                                            raw_stream(kStreamSeconds), kStreamPatience);
  if (!report.ok()) return report.status();
  gb_per_s_.push_back(report->gigabytes / report->seconds);
  return {};
}

LabJob Replay::job_of(const Found& found) const {
  LabJob job;
  job.workers = wanted_.workers;
  job.servers = wanted_.servers;
  job.variables = variables_of(wanted_, found.scheme);
  job.reports = std::size_t{wanted_.workers} * iterations_each();
  job.task = {"replay"};
  const auto flag = [&job](const char* name, const auto& value) {
    job.task.push_back(fmt::format("--{}={}", name, value));
  };
  flag("model", wanted_.model);
  flag("scheme", found.scheme.name);
  flag("slice_bytes", wanted_.slice_bytes);
  flag("rate_mbit", wanted_.rate_mbit);
  flag("lab_mbit", wanted_.lab_mbit);
  flag("scale", wanted_.scale);
  flag("iterations", iterations_each());
  flag("warm_up", wanted_.warm_up);
  flag("seed", wanted_.seed);
  flag("bytes_per_second", std::llround(links().bytes_per_second));
  if (wanted_.compute_s != 0) flag("compute_s", wanted_.compute_s);
  flag("late_layers", fmt::to_string(wanted_.late_layers));
  if (!wanted_.order.empty()) flag("order", wanted_.order);
  return job;
}

Status Replay::measure(Found& found) {
  const double iterations = iterations_each() + wanted_.warm_up + 4;
  // One exchange at a time takes some round trips for each tensor.
  const double waits_s =
      4.0 * wanted_.workers * static_cast<double>(model_.tensors.size()) * (wanted_.delay_s + 1e-3);
  const Duration time =
      duration_of(120 + 5 * iterations * (load_by(found.scheme).serial_s() + waits_s));
  const Result<std::vector<Report>> reports = run_in(lab_, job_of(found), time);
  if (!reports.ok()) return reports.status();
  found.iterations.insert(found.iterations.end(), reports->begin(), reports->end());
  return {};
}

Record Replay::record_of(const Found& found) const {
  const std::vector<double> seconds = values_of(found.iterations, &Report::seconds);
  const Load load = load_by(found.scheme);
  const double median = median_of(seconds);
  const double cpu_used = cpu_used_of(found.iterations);
  const double late_us = median_over(found.iterations, &Report::p99_us);
  const std::string refused = refusal(cpu_used, late_us / 1e6, median);
  const auto if_counts = [&refused](double value) {
    return refused.empty() ? value : std::numeric_limits<double>::quiet_NaN();
  };
  Record record;
  record.text("name", "replay")
      .text("model", model_.name)
      .text("scheme", found.scheme.name)
      .text("order", wanted_.order.empty() ? found.scheme.order : wanted_.order)
      .count("workers", wanted_.workers)
      .count("servers", wanted_.servers)
      .count("rate_mbit", wanted_.rate_mbit)
      .count("lab_mbit", wanted_.lab_mbit)
      .count("scale", wanted_.scale)
      .count("late_layers", found.scheme.flow == Flow::kDelayed ? wanted_.late_layers : 0)
      .text("exchange", std::string(name_of(found.scheme.exchange)))
      .real("transfers", median_over(found.iterations, &Report::transfers))
      .real("start_us", median_over(found.iterations, &Report::start_us))
      .real("delay_s", wanted_.delay_s)
      .count("iterations", seconds.size())
      .real("link_mbit", 8e3 * median_of(gb_per_s_))
      .real("compute_s", load.compute_s)
      .real("one_way_s", load.one_way_s)
      .real("serial_s", load.serial_s())
      .real("bound_s", load.bound_s())
      .real("iteration_s_median", median)
      .real("iteration_s_iqr", interquartile_range(seconds))
      .real("original_s", median * original_seconds(wanted_))
      .real("cpu_used", cpu_used)
      .real("overlap", if_counts(overlap(load, median)))
      .real("efficiency", if_counts(efficiency(load, median)))
      .real("late_p50_us", median_over(found.iterations, &Report::p50_us))
      .real("late_p99_us", late_us)
      .text("congestion", "cubic")
      .text("verdict", refused.empty() ? "ok" : refused);
  return record;
}

}  // namespace

Status run_replay(const ReplaySettings& settings, Output& output) {
  Result<Model> model = find_model(settings.model);
  if (!model.ok()) return model.status();
  const HeldSignals signals;
  const std::vector<std::uint64_t> rates(settings.workers + settings.servers, settings.lab_mbit);
  const Result<Netlab> lab =
      Netlab::create(plan_star(rates, ::getpid(), duration_of(settings.delay_s)));
  if (!lab.ok()) return lab.status();
  return run_supervised(signals, [&] {
    Children delay;
    if (Status status = start_delay(*lab, delay); !status.ok()) return status;
    return Replay(settings, *lab, *std::move(model), output).run();
  });
}

}  // namespace stretto::bench::experiments
