// SPDX-License-Identifier: Apache-2.0
// stretto-trace: traces a running job, merges trace files, and analyses them.
#include <fmt/core.h>
#include <gflags/gflags.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>

#include "common/config/job_file.h"
#include "common/config/job_secret.h"
#include "common/config/program.h"
#include "common/flags/flags.h"
#include "common/log.h"
#include "common/text.h"
#include "observe/trace/chrome.h"
#include "observe/trace/clocks.h"
#include "observe/trace/file.h"
#include "observe/trace/report.h"
#include "tools/trace/attach.h"
#include "tools/trace/collect.h"
#include "tools/trace/tac_order.h"

DEFINE_string(job, "",
              "JOB: its name or process, or HOST:PORT of its scheduler (STRETTO_SCHEDULER)");
DEFINE_int32(iterations, 20, "iterations to trace (20, if --seconds is not given)");
DEFINE_int32(seconds, 60, "so many seconds; with --iterations, at most so many (60)");
DEFINE_string(out, "",
              "FILE: where the trace goes, for ui.perfetto.dev or chrome://tracing; without it its "
              "analysis is printed");
DEFINE_bool(json, false, "the analysis as one JSON object instead of a table");
DEFINE_string(times, "",
              "FILE: analyse: write measured times of transfers and computing there, as JSON");
DEFINE_string(order, "", "FILE: analyse: write an order of tensors by TAC there");

namespace stretto::observe {
namespace {

constexpr char kUsage[] =
    "usage: stretto-trace [--job JOB] [--iterations N] [--seconds S] [--out FILE]\n"
    "       stretto-trace merge FOLDER --out FILE\n"
    "       stretto-trace analyse FILE [--json] [--times FILE] [--order FILE]";
constexpr char kMeaning[] =
    "Traces a running job; merge joins what STRETTO_TRACE kept; analyse says who waits for whom.\n"
    "Without --job: your only job on this host. For HOST:PORT elsewhere the job's token is read\n"
    "from STRETTO_JOB_TOKEN.";

Status invalid(const std::string& cause) { return {Code::kInvalidArgument, cause}; }

Status write_to(const std::string& path, const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::trunc);
  if (file) write(file);
  file.close();
  if (file) return {};
  const char* why = std::strerror(errno == 0 ? EIO : errno);
  return invalid(fmt::format(
      "{} cannot be written: {}; wanted a path in a folder that exists, with room", path, why));
}

Status keep(trace::Trace trace, const std::string& path) {
  const trace::Clocks clocks = trace::clocks_of(trace);
  trace::align(trace, clocks);
  if (Status status = write_to(path, [&](std::ostream& out) { trace::write_chrome(out, trace); });
      !status.ok()) {
    return status;
  }
  std::uint64_t dropped = 0;
  for (const trace::Node& node : trace.nodes) dropped += node.dropped;
  std::printf("%s: %zu spans of %zu nodes, %llu dropped; clocks agree to %.3f ms\n", path.c_str(),
              trace.records(), trace.nodes.size(), static_cast<unsigned long long>(dropped),
              (clocks.least_round_trip_ns / 2 + clocks.most_residual_ns) / 1e6);
  return {};
}

// Prints the analysis of a trace.
Status explain(const trace::Trace& trace) {
  const trace::Analysis analysis = trace::analyse(trace);
  const std::string report =
      FLAGS_json ? trace::report_json(trace, analysis) + "\n" : trace::report_text(trace, analysis);
  const std::string shown = printable(report, Lines::kKept);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  if (FLAGS_times.empty() && FLAGS_order.empty()) return {};
  const std::vector<trace::Measured> measured = trace::measured_of(trace);
  if (!FLAGS_times.empty()) {
    Status status = write_to(
        FLAGS_times, [&](std::ostream& out) { out << trace::measured_json(measured) << '\n'; });
    if (!status.ok()) return status;
  }
  if (FLAGS_order.empty()) return {};
  Result<std::string> order = tac_file(measured);
  if (!order.ok()) return order.status();
  return write_to(FLAGS_order, [&](std::ostream& out) { out << *order; });
}

bool given(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

Status trace_job(const Target& target) {
  auto observer = ObserverClient::connect(target);
  if (!observer.ok()) return observer.status();
  const bool by_time = given("seconds") && !given("iterations");
  const TraceExtent extent{.iterations = by_time ? 0 : static_cast<std::uint32_t>(FLAGS_iterations),
                           .seconds = static_cast<std::uint32_t>(FLAGS_seconds)};
  Result<trace::Trace> trace =
      collect(**observer, extent, [](const std::string& word) { log(Level::kInfo, "{}", word); });
  if (!trace.ok()) return trace.status();
  if (trace->records() == 0) {
    return {Code::kResource,
            "the trace recorded nothing: in that time no member noted a span, or the job keeps "
            "traces of its own (--trace, STRETTO_TRACE), which `stretto-trace merge FOLDER` joins"};
  }
  if (!FLAGS_out.empty()) return keep(std::move(*trace), FLAGS_out);
  trace::align(*trace, trace::clocks_of(*trace));
  return explain(*trace);
}

Status merge(const std::string& folder) {
  Result<trace::Trace> trace = trace::read_folder(folder);
  if (!trace.ok()) return trace.status();
  return keep(std::move(*trace), FLAGS_out);
}

Status analyse(const std::string& path) {
  const Result<trace::Trace> trace = trace::read_chrome(path);
  return trace.ok() ? explain(*trace) : trace.status();
}

bool analyses(const std::string& command) { return command == "analyse" || command == "analyze"; }

// Checks the command line.
Status check(const std::vector<std::string>& words) {
  const std::string command = words.empty() ? "" : words.front();
  const bool known =
      words.empty() || (words.size() == 2 && (command == "merge" || analyses(command)));
  if (!known) {
    return invalid(fmt::format("'{}' is not understood; wanted one of\n{}", command, kUsage));
  }
  if (command == "merge" && FLAGS_out.empty()) {
    return invalid("--out FILE is missing: where shall the trace go?");
  }
  if (FLAGS_iterations < 1 || FLAGS_seconds < 1) {
    return invalid("--iterations and --seconds want whole numbers from 1 on");
  }
  return {};
}

Result<Target> target() {
  const Environment environment = process_environment();
  const std::string job =
      FLAGS_job.empty() ? environment("STRETTO_SCHEDULER").value_or("") : FLAGS_job;
  const Result<bool> encrypts = encrypts_told(environment);
  if (!encrypts.ok()) return encrypts.status();
  return target_of(known_jobs(job_folders(environment)), job,
                   environment("STRETTO_JOB_TOKEN").value_or(""), *encrypts, zmq_told(environment));
}

int run(const std::vector<std::string>& words) {
  if (Status status = check(words); !status.ok()) return flags::refuse(status);
  const auto done = [](Status status) {
    return exit_status(std::move(status).with_operation("trace"));
  };
  if (!words.empty()) return done(words.front() == "merge" ? merge(words[1]) : analyse(words[1]));
  const Result<Target> job = target();
  return job.ok() ? done(trace_job(*job)) : flags::refuse(job.status());
}

}  // namespace
}  // namespace stretto::observe

int main(int argc, char** argv) {
  const std::string help =
      fmt::format("{}\n\n{}", stretto::observe::kUsage, stretto::observe::kMeaning);
  const stretto::flags::Started started = stretto::flags::start(argc, argv, "trace", help);
  const int status =
      started.exit_status >= 0 ? started.exit_status : stretto::observe::run(started.rest);
  return stretto::finished(status, "trace");
}
