// SPDX-License-Identifier: Apache-2.0
// One thread, shared with the sender: an answer is seen as soon as the sender returns.
#include "tools/bench/limits/preempt_load.h"

#include <algorithm>

#include "common/clock.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

constexpr std::uint64_t kLeastAnswers = 5;
constexpr std::uint64_t kLeastArrivals = 3;
constexpr Duration kLeastTime = 250ms;
constexpr Duration kAnswerWithin = 60s;  // For one answer.

class Driver {
 public:
  explicit Driver(LoadSender& carrier) : carrier_(carrier) {}

  /// Times messages until `end` and until there are `least`; sorted, in microseconds.
  Result<std::vector<double>> ask(bool urgent, Time end, std::uint64_t least) {
    std::vector<double> times;
    while (now() < end || times.size() < least) {
      const Time sent = now();
      const std::uint64_t answered = carrier_.answered();
      if (Status status = carrier_.send_message(urgent); !status.ok()) return status;
      while (carrier_.answered() == answered) {
        if (Status status = step(sent + kAnswerWithin); !status.ok()) return status;
        if (now() - sent > kAnswerWithin)
          return Status(Code::kTimeout, "an urgent message is lost");
      }
      times.push_back(1e6 * seconds(now() - sent));
      if (Status status = run(now() + gap()); !status.ok()) return status;
    }
    std::sort(times.begin(), times.end());
    return times;
  }

  /// Runs until `end` and until there have been `arrivals` arrivals.
  Status run(Time end, std::uint64_t arrivals = 0) {
    while (true) {
      const Time present = now();
      const bool enough = meter_.arrivals() >= arrivals;
      if (present >= end && enough) return {};
      Status status = step(present < end ? end : present + kLeastTime);
      if (!status.ok()) return status;
    }
  }

  void start_meter() {
    meter_.start(carrier_.delivered_bytes());
    metered_from_ = carrier_.delivered_bytes();
    cpu_s_ = carrier_.cpu_s();
  }
  double metered() const { return meter_.gb_per_s(); }
  /// Since start_meter().
  double cpu_s_per_gb() const {
    const auto bytes = static_cast<double>(carrier_.delivered_bytes() - metered_from_);
    return (carrier_.cpu_s() - cpu_s_) / bytes * 1e9;
  }

 private:
  Status step(Time until) {
    Status status = carrier_.step(until);
    meter_.note(now(), carrier_.delivered_bytes());
    return status;
  }

  // A varying gap of 1 to 3 ms, so that urgent messages meet the background at any point.
  Duration gap() {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return 1ms + std::chrono::microseconds((random_ >> 33) % 2000);
  }

  LoadSender& carrier_;
  RateMeter meter_;
  std::uint64_t metered_from_ = 0;
  double cpu_s_ = 0;
  std::uint64_t random_ = 1;
};

}  // namespace

Result<Report> drive(LoadSender& carrier, double time) {
  const auto part = [time](double share) {
    return std::max(kLeastTime, duration_of(time * share));
  };
  Driver driver(carrier);
  // Without background they need no priority, so the first urgent one beside it is new.
  const auto unloaded = driver.ask(false, now() + part(0.25), kLeastAnswers);
  if (!unloaded.ok()) return unloaded.status();
  Status status = carrier.start_background();
  if (status.ok()) status = driver.run(now() + part(0.25));  // Warm-up.
  driver.start_meter();
  if (status.ok()) status = driver.run(now() + part(0.5), kLeastArrivals);
  if (!status.ok()) return status;
  Report report{.unloaded_p50_us = quantile(*unloaded, 0.5),
                .alone_gb_per_s = driver.metered(),
                .alone_cpu_s_per_gb = driver.cpu_s_per_gb()};
  // Frames sent before the first urgent message are not part of the steady state.
  const auto first = driver.ask(true, now(), 1);
  if (!first.ok()) return first.status();
  report.first_us = first->front();
  driver.start_meter();
  const Time start = now();
  const auto times = driver.ask(true, start + part(1), kLeastAnswers);
  if (!times.ok()) return times.status();
  report.seconds = seconds(now() - start);
  report.cpu_s_per_gb = driver.cpu_s_per_gb();
  report.gigabytes = driver.metered() * report.seconds;
  report.answers = static_cast<double>(times->size());
  report.p50_us = quantile(*times, 0.5);
  report.p95_us = quantile(*times, 0.95);
  report.p99_us = quantile(*times, 0.99);
  report.max_us = times->back();
  return report;
}

}  // namespace stretto::bench
