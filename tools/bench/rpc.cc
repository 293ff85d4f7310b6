// SPDX-License-Identifier: Apache-2.0
// Measures every way of calling alternately, in rounds, so that other load on the machine affects
// all alike.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <map>

#include "tools/bench/rpc/calls.h"
#include "tools/bench/settings/benchmarks.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/report_pipe.h"

namespace stretto::bench {
namespace {

constexpr Duration kCallPatience = 60s;  // In addition to measuring.
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The results of each way, by round.
using CallRounds = std::map<std::string, std::vector<Report>>;

std::string_view raw_of(std::string_view transport) {
  if (transport == "shm") return "futex";
  if (transport == "tcp" || transport == "zmq" || transport == "fabric") return "raw_zmq";
  return {};
}

double calls_per_s(const Report& report) { return report.answers / report.seconds; }

double cpu_us_per_call(const Report& report) {
  return 1e6 * (report.cpu_s + report.servers_cpu_s) / report.answers;
}

/// The ratio of two medians; unknown if the other is missing.
template <typename Value>
double ratio(const CallRounds& found, std::string_view one, std::string_view other, Value value) {
  const auto over = found.find(std::string(other));
  if (over == found.end()) return kUnknown;
  return median_over(found.at(std::string(one)), value) / median_over(over->second, value);
}

/// The time of a call relative to the raw way.
double ratio_to_raw(const CallRounds& found, const std::string& name, const CallShape& shape) {
  if (shape.inflight == 1) return ratio(found, name, raw_of(name), &Report::p50_us);
  return 1 / ratio(found, name, raw_of(name), calls_per_s);
}

std::vector<CallWay> ways_of(const RpcSettings& settings) {
  std::vector<CallWay> ways;
  for (const std::string_view transport : settings.transports) {
    if (settings.all_transports && !has_transport(transport)) {
      std::fprintf(stderr, "rpc: %s is left out: this build or this host lacks it\n",
                   std::string(transport).c_str());
    } else {
      ways.push_back(stretto_calls(transport));
    }
  }
  for (CallWay& raw : raw_call_ways()) ways.push_back(std::move(raw));
  const Result<std::string> grpc = program_path("grpc-unary");
  if (grpc.ok() && ::access(grpc->c_str(), X_OK) == 0) {
    ways.push_back(grpc_calls(*grpc));
  } else {
    std::fputs(
        "rpc: gRPC is left out: grpc-unary is not beside this program; it is built where "
        "libgrpc++-dev and protobuf-compiler-grpc are installed\n",
        stderr);
  }
  return ways;
}

Result<Report> measure(const CallWay& way, const CallShape& shape) {
  Result<ReportPipe> pipe = ReportPipe::open();
  if (!pipe.ok()) return pipe.status();
  Children caller;
  Status status = caller.start([&] { return way.run(shape, pipe->write_end()); });
  if (status.ok()) {
    const Duration patience = kCallPatience + duration_of(10 * shape.seconds);
    status = pipe->await(1, caller.all(), now() + patience);
  }
  caller.kill();
  if (!status.ok()) {
    return std::move(status).with_operation(
        fmt::format("{} of {} bytes, {} in flight", way.name, shape.bytes, shape.inflight));
  }
  return pipe->reports().front();
}

Record record_of(const CallRounds& found, const std::string& name, const CallShape& shape) {
  const std::vector<Report>& rounds = found.at(name);
  const Spread p50 = spread_of(values_of(rounds, &Report::p50_us));
  Record record;
  record.text("name", "rpc")
      .text("transport", name)
      .count("bytes", shape.bytes)
      .count("inflight", shape.inflight)
      .real("p50_us", p50.median)
      .real("p50_us_min", p50.min)
      .real("p50_us_max", p50.max)
      .real("p95_us", median_over(rounds, &Report::p95_us))
      .real("calls_per_s", median_over(rounds, calls_per_s))
      .real("gb_per_s",
            median_over(rounds,
                        [](const Report& report) { return report.gigabytes / report.seconds; }))
      .real("cpu_us_per_call", median_over(rounds, cpu_us_per_call))
      .text("raw", raw_of(name))
      .real("ratio_to_raw", ratio_to_raw(found, name, shape))
      .real("ratio_to_grpc", ratio(found, name, "grpc", calls_per_s));
  return record;
}

Status measure_all(const std::vector<CallWay>& ways, const CallShape& shape, std::uint32_t repeats,
                   const Output& output) {
  CallRounds found;
  const auto takes = [&shape](const CallWay& way) { return !way.takes || way.takes(shape); };
  for (std::uint32_t round = 0; round < repeats; ++round) {
    for (const CallWay& way : ways) {
      if (!takes(way)) continue;
      const Result<Report> report = measure(way, shape);
      if (!report.ok()) return report.status();
      found[way.name].push_back(*report);
    }
  }
  for (const CallWay& way : ways) {
    if (takes(way)) output.row(record_of(found, way.name, shape));
  }
  return {};
}

}  // namespace

Status run_rpc(const Settings& settings, Output& output) {
  const std::vector<CallWay> ways = ways_of(settings.rpc);
  output.title(fmt::format(
      "rpc: calls from one process to another, each answered by as many bytes; medians of {} "
      "round(s) of {} s, by turns; ratio_to_raw: time of a call over that of a futex (shm) or of "
      "libzmq; ratio_to_grpc: calls/s over gRPC's",
      settings.repeats, settings.seconds));
  output.columns({"transport", "bytes", "inflight", "p50_us", "p50_us_min", "p50_us_max", "p95_us",
                  "calls_per_s", "gb_per_s", "cpu_us_per_call", "ratio_to_raw", "ratio_to_grpc"});
  for (const CallShape& shape : shapes_of(settings.rpc, settings.seconds)) {
    Status status = measure_all(ways, shape, settings.repeats, output);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace stretto::bench
