// SPDX-License-Identifier: Apache-2.0
// The load of `rpc`: one process calls another one, which echoes; a constant number of calls is in
// flight, and the oldest is waited for. The same for Stretto and for its references.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/bench/support/child.h"
#include "tools/bench/support/lab_exchange.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {

struct CallShape {
  std::uint64_t bytes = 64;  ///< Of a call, and of its answer.
  std::uint32_t inflight = 1;
  double seconds = 0.2;  ///< Measured, after a warm-up.
};

/// A way of calling. `run` measures it in its own process, writes one Report to
/// `report_descriptor`, and returns the exit status.
struct CallWay {
  std::string name;
  std::function<int(const CallShape& shape, int report_descriptor)> run;
  /// False for shapes that this way does not support; none: it takes all.
  std::function<bool(const CallShape& shape)> takes = {};
};

/// The lower bounds of Stretto's calls: a futex in shared memory, libzmq and TCP.
std::vector<CallWay> raw_call_ways();
/// Stretto's calls over this transport.
CallWay stretto_calls(std::string_view transport);
/// True if an endpoint can be opened with it; a separate process tries.
bool has_transport(std::string_view transport);
/// gRPC's calls, by our program built with it, at `program`.
CallWay grpc_calls(const std::string& program);

/// The answering process. The destructor ends it.
class Answerer {
 public:
  /// Runs `answer` in a new process, and returns once it has reported its address. The caller must
  /// have a single thread.
  static Result<Answerer> start(const std::function<Status(const TellAddress&)>& answer);

  const std::string& address() const { return address_; }
  pid_t process_id() const { return process_.process_ids().front(); }

 private:
  Answerer(Children process, std::string address)
      : process_(std::move(process)), address_(std::move(address)) {}

  Children process_;
  std::string address_;
};

/// Prints an error, if any, on stderr; returns an exit status.
int said(const Status& status, std::string_view who);
/// Writes the report, or prints the error; returns an exit status.
int reported(const Result<Report>& found, std::string_view who, int report_descriptor);

/// Calls until the time is over. `begin(slot)` makes a call and `finish(slot)` waits for its
/// answer, both a Status; the slots 0 to shape.inflight - 1 are used in turn.
template <typename Begin, typename Finish>
Result<Report> keep_calling(const CallShape& shape, pid_t answerer, const Begin& begin,
                            const Finish& finish) {
  constexpr double kWarmUp = 0.3;  // Of the time that is measured.
  std::vector<Time> begun(shape.inflight);
  std::vector<double> microseconds;
  Report report;
  double cpu_s = 0;
  double answerer_cpu_s = 0;
  Time since = {};
  std::uint32_t unanswered = 0;
  const Time warm = now() + duration_of(kWarmUp * shape.seconds);
  bool over = false;
  for (std::uint32_t slot = 0; !over || unanswered > 0; slot = (slot + 1) % shape.inflight) {
    if (begun[slot] != Time()) {
      if (Status status = finish(slot); !status.ok()) return status;
      --unanswered;
      const Time end = now();
      if (over) continue;
      if (since != Time()) {
        microseconds.push_back(1e6 * seconds(end - begun[slot]));
        report.seconds = seconds(end - since);
        over = report.seconds >= shape.seconds;
      } else if (end >= warm) {
        since = end;
        cpu_s = cpu_seconds();
        answerer_cpu_s = cpu_seconds_of(std::span(&answerer, 1));
      }
      if (over) {
        report.cpu_s = cpu_seconds() - cpu_s;
        report.servers_cpu_s = cpu_seconds_of(std::span(&answerer, 1)) - answerer_cpu_s;
        continue;
      }
    }
    begun[slot] = now();
    if (Status status = begin(slot); !status.ok()) return status;
    ++unanswered;
  }
  std::sort(microseconds.begin(), microseconds.end());
  report.answers = static_cast<double>(microseconds.size());
  report.gigabytes = report.answers * static_cast<double>(shape.bytes) / 1e9;
  report.p50_us = quantile(microseconds, 0.5);
  report.p95_us = quantile(microseconds, 0.95);
  return report;
}

}  // namespace stretto::bench
