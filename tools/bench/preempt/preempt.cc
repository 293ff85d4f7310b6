// SPDX-License-Identifier: Apache-2.0
// Makes the lab, then measures alternately raw TCP and every mode, in rounds, so that other load on
// the machine affects all alike.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/exchange/supervised.h"
#include "tools/bench/limits/raw_stream.h"
#include "tools/bench/preempt/preempt_pair.h"
#include "tools/bench/preempt/preempt_peer.h"
#include "tools/bench/settings/benchmarks.h"
#include "tools/bench/support/lab_exchange.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

LabExchange by_van(const PreemptSettings& settings, const PreemptCase& way, double seconds) {
  return {
      std::string(name_of(way.mode)),
      [&settings, way](const std::string& host, const TellAddress& tell, const TellReport&) {
        return receive_by_van(settings, way, host, tell);
      },
      [&settings, way, seconds](std::span<const std::string> addresses, const TellReport& report) {
        auto carrier = way.processes > 1 ? connect_pair(settings, way, addresses)
                                         : connect_van(settings, way, addresses);
        if (!carrier.ok()) return carrier.status();
        const Result<Report> found = drive(**carrier, seconds);
        carrier->reset();  // Before the report ends this process, so that nothing is left behind.
        return found.ok() ? report(*found) : found.status();
      }};
}

/// One measurement of a round.
struct MeasuredTurn {
  LabExchange exchange;
  std::optional<PreemptCase> way;  // None: raw TCP.
};

std::vector<MeasuredTurn> turns_of(const Settings& settings) {
  const PreemptSettings& wanted = settings.preempt;
  std::vector<MeasuredTurn> turns{{raw_stream(settings.seconds), {}}};
  for (const PreemptCase& way : cases_of(wanted)) {
    turns.push_back({by_van(wanted, way, settings.seconds), way});
  }
  return turns;
}

// In addition to measuring, a few urgent messages wait for all of the background.
Duration patience_of(const Settings& settings) {
  const PreemptSettings& wanted = settings.preempt;
  const double bits = 8.0 * static_cast<double>(wanted.background_bytes * wanted.lab.peers);
  const double transfer = bits / (static_cast<double>(wanted.lab.rate_mbit) * 1e6);
  return duration_of(60 + 10 * settings.seconds + 30 * transfer);
}

/// The results of one measurement, by round.
using Rounds = std::vector<Report>;

double background_of(const Report& report) { return report.gigabytes / report.seconds; }

Record record_of(const Settings& settings, const MeasuredTurn& turn, const Rounds& rounds,
                 double raw_gb_per_s) {
  const std::string& mode = turn.exchange.name;
  const PreemptSettings& wanted = settings.preempt;
  const auto milliseconds = [&rounds](double Report::* field) {
    return median_over(rounds, [field](const Report& report) { return report.*field / 1e3; });
  };
  const auto goodput = [&wanted](const Report& report) {
    const double urgent = report.answers * static_cast<double>(wanted.urgent_bytes) / 1e9;
    return (report.gigabytes + urgent) / report.seconds;
  };
  double worst_us = 0;
  double answers = 0;
  for (const Report& report : rounds) {
    worst_us = std::max(worst_us, report.max_us);
    answers += report.answers;
  }
  const double gb_per_s = median_over(rounds, goodput);
  const std::uint64_t ways = wanted.direction == Direction::kBoth ? 2 : 1;
  Record record;
  record.text("name", "preempt")
      .text("mode", mode)
      .text("background", name_of(turn.way->background))
      .count("processes", turn.way->processes)
      .text("host_window", name_of(turn.way->policy))
      .count("rate_mbit", wanted.lab.rate_mbit)
      .text("transport", name_of(wanted.transport))
      .count("peers", wanted.lab.peers)
      .text("bottleneck", name_of(wanted.lab.bottleneck))
      .text("direction", name_of(wanted.direction))
      .text("urgent_peer", wanted.urgent_peer_is_busy ? "busy" : "idle")
      .count("background_bytes", wanted.background_bytes)
      .count("part_bytes", wanted.part_bytes)
      .count("urgent_bytes", wanted.urgent_bytes)
      .real("urgent_first_ms", milliseconds(&Report::first_us))
      .real("urgent_p50_ms", milliseconds(&Report::p50_us))
      .real("urgent_p95_ms", milliseconds(&Report::p95_us))
      .real("urgent_max_ms", worst_us / 1e3)
      .count("urgent_messages", static_cast<std::uint64_t>(answers))
      .real("unloaded_p50_ms", milliseconds(&Report::unloaded_p50_us))
      .real("background_gb_per_s", median_over(rounds, background_of))
      .real("unloaded_gb_per_s",
            median_over(rounds, [](const Report& report) { return report.alone_gb_per_s; }))
      .real("background_cpu_s_per_gb",
            median_over(rounds, [](const Report& report) { return report.cpu_s_per_gb; }))
      .real("unloaded_cpu_s_per_gb",
            median_over(rounds, [](const Report& report) { return report.alone_cpu_s_per_gb; }))
      .real("raw_tcp_gb_per_s", raw_gb_per_s)
      .real("goodput_ratio", gb_per_s / raw_gb_per_s / static_cast<double>(ways))
      .real("rate_used", gb_per_s * 8e3 / static_cast<double>(wanted.lab.rate_mbit * ways))
      .text("congestion", "cubic");
  return record;
}

void describe(const Settings& settings, Output& output) {
  const PreemptSettings& wanted = settings.preempt;
  const Shaper shaper = shaper_for(wanted.lab);
  output.title(fmt::format(
      "preempt: urgent messages of {} bytes, and {} bytes of background in flight to each of {} "
      "peer(s), direction {}, over a link of {} Mbit/s (tbf burst {}, limit {}, at the {}); TCP "
      "with cubic; "
      "medians of {} round(s) of {} s",
      wanted.urgent_bytes, wanted.background_bytes, wanted.lab.peers, name_of(wanted.direction),
      wanted.lab.rate_mbit, shaper.burst_bytes, shaper.limit_bytes, name_of(wanted.lab.bottleneck),
      settings.repeats, settings.seconds));
  output.columns({"mode", "background", "processes", "host_window", "urgent_first_ms",
                  "urgent_p50_ms", "urgent_p95_ms", "urgent_max_ms", "unloaded_p50_ms",
                  "background_gb_per_s", "unloaded_gb_per_s", "raw_tcp_gb_per_s", "goodput_ratio",
                  "rate_used", "background_cpu_s_per_gb", "unloaded_cpu_s_per_gb"});
}

Status measure(const Settings& settings, const Netlab& lab, Output& output) {
  describe(settings, output);
  const std::vector<MeasuredTurn> turns = turns_of(settings);
  std::vector<Rounds> found(turns.size());
  for (std::uint32_t round = 0; round < settings.repeats; ++round) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const Result<Report> report =
          exchange_in(lab.sender(), lab.receivers(), turns[i].exchange, patience_of(settings));
      if (!report.ok()) return report.status();
      found[i].push_back(*report);
    }
  }
  const double raw_gb_per_s = median_over(found.front(), background_of);
  for (std::size_t i = 1; i < turns.size(); ++i) {
    output.row(record_of(settings, turns[i], found[i], raw_gb_per_s));
  }
  return {};
}

}  // namespace

Status run_preempt(const Settings& settings, Output& output) {
  const HeldSignals signals;
  const Result<Netlab> lab = Netlab::create(plan_lab(settings.preempt.lab, ::getpid()));
  if (!lab.ok()) return lab.status();
  return run_supervised(signals, [&] { return measure(settings, *lab, output); });
}

}  // namespace stretto::bench
