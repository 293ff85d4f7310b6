// SPDX-License-Identifier: Apache-2.0
// A worker that exchanges tensors as fast as it can. In synchronous rounds every worker must take
// part equally often, so rank 0 decides the number, and sends it through the servers.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "common/clock.h"
#include "stretto/worker.h"
#include "tools/bench/exchange/worker_role.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/report_pipe.h"

namespace stretto::bench {
namespace {

constexpr double kWarmUpSeconds = 0.3;
constexpr std::uint64_t kMostOperations = std::uint64_t{1} << 24;

class ExchangeWorker {
 public:
  ExchangeWorker(const Task& task, Worker worker) : task_(task), worker_(std::move(worker)) {}

  Status run() {
    Status status = declare();
    if (status.ok()) status = check_round(1);
    if (!status.ok()) return status;
    const Result<std::uint64_t> operations = calibrate();
    if (!operations.ok()) return operations.status();
    for (Slot& slot : slots_) std::fill(slot.target.begin(), slot.target.end(), 0.0F);
    const Result<Report> report = measure(*operations);
    if (!report.ok()) return report.status();
    if (task_.benchmark != Benchmark::kPush) status = check_targets(1);
    if (status.ok()) status = check_round(2);
    if (status.ok()) status = worker_.leave();
    if (!status.ok()) return status;
    return write_report(task_.report_descriptor, *report);
  }

 private:
  /// One of the tensors in flight.
  struct Slot {
    Tensor tensor;
    std::vector<float> source;
    std::vector<float> target;
    Ticket ticket;
    Time began;
  };

  Status declare();
  void fill_sources(float salt);
  Status check_targets(float salt) const;
  Status check_round(float salt);
  Result<std::uint64_t> calibrate();
  Status agree(std::int64_t& first, std::int64_t& second);
  Result<Report> measure(std::uint64_t operations);
  Status pipeline(std::uint64_t operations);
  void begin(Slot& slot);
  Status end(Slot& slot);

  const Task task_;
  std::vector<Slot> slots_;
  Tensor agreement_;
  std::vector<double> latencies_us_;
  Worker worker_;  // Last: its end completes operations in flight before the memory is freed.
};

Status ExchangeWorker::declare() {
  slots_.resize(task_.inflight);
  const std::size_t elements = task_.bytes / sizeof(float);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Result<Tensor> tensor = worker_.declare(fmt::format("bench/{}", i), Dtype::kF32, elements,
                                            {.exchange = task_.exchange});
    if (!tensor.ok()) return tensor.status();
    slots_[i].tensor = *tensor;
    slots_[i].source.resize(elements);
    slots_[i].target.resize(elements);
  }
  Result<Tensor> tensor = worker_.declare("bench/agreement", Dtype::kI64, 2);
  if (tensor.ok()) agreement_ = *tensor;
  return tensor.status();
}

// ---- checks of the sums. All numbers are small integers, which f32 represents exactly.

// Without the rank, which each worker adds to its contribution.
float base_of(std::size_t slot, std::size_t element, float salt) {
  return static_cast<float>((element + 7 * slot) % 1021) + salt;
}

// The sum of `workers` workers.
float expected(float workers, std::size_t slot, std::size_t element, float salt) {
  return workers * base_of(slot, element, salt) + workers * (workers - 1) / 2;
}

void ExchangeWorker::fill_sources(float salt) {
  const auto rank = static_cast<float>(worker_.rank());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    std::vector<float>& source = slots_[i].source;
    for (std::size_t j = 0; j < source.size(); ++j) source[j] = base_of(i, j, salt) + rank;
  }
}

Status ExchangeWorker::check_targets(float salt) const {
  const auto workers = static_cast<float>(worker_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::vector<float>& target = slots_[i].target;
    for (std::size_t j = 0; j < target.size(); ++j) {
      if (target[j] == expected(workers, i, j, salt)) continue;
      return {Code::kMalformed, fmt::format("wrong sum: element {} of tensor {} is {}, wanted {}",
                                            j, i, target[j], expected(workers, i, j, salt))};
    }
  }
  return {};
}

// A round through every slot with new contributions, so that no earlier value can pass.
Status ExchangeWorker::check_round(float salt) {
  fill_sources(salt);
  for (Slot& slot : slots_) {
    std::fill(slot.target.begin(), slot.target.end(), -1.0F);
    Status status;
    if (task_.benchmark == Benchmark::kPushPull) {
      status = worker_.push_pull(slot.tensor, slot.source, slot.target).wait();
    } else {
      status = worker_.push(slot.tensor, slot.source).wait();
      if (status.ok()) status = worker_.pull(slot.tensor, slot.target).wait();
    }
    if (!status.ok()) return status;
  }
  return check_targets(salt);
}

// ---- number of operations

// Sets `first` and `second` to the values of rank 0.
Status ExchangeWorker::agree(std::int64_t& first, std::int64_t& second) {
  std::vector<std::int64_t> mine{first, second};
  if (worker_.rank() != 0) mine = {0, 0};
  std::vector<std::int64_t> sum(2);
  Status status = worker_.push_pull(agreement_, mine, sum).wait();
  first = sum[0];
  second = sum[1];
  return status;
}

// Doubles the operations until they take long enough for a warm-up and a rate.
Result<std::uint64_t> ExchangeWorker::calibrate() {
  auto operations = static_cast<std::int64_t>(slots_.size());
  while (true) {
    const Time start = now();
    Status status = pipeline(static_cast<std::uint64_t>(operations));
    const double elapsed = seconds(now() - start);
    std::int64_t over = elapsed >= kWarmUpSeconds || operations * 2 > std::int64_t{kMostOperations};
    const double factor = over != 0 ? task_.seconds / elapsed : 2;
    const double wanted = static_cast<double>(operations) * factor;
    operations =
        std::clamp(static_cast<std::int64_t>(wanted), static_cast<std::int64_t>(slots_.size()),
                   static_cast<std::int64_t>(kMostOperations));
    if (status.ok()) status = agree(operations, over);
    if (!status.ok()) return status;
    if (over != 0) return static_cast<std::uint64_t>(operations);
  }
}

// ---- measuring

Result<Report> ExchangeWorker::measure(std::uint64_t operations) {
  std::vector<pid_t> servers;
  if (worker_.rank() == 0) servers = servers_of(::getppid());
  latencies_us_.clear();
  latencies_us_.reserve(operations);
  if (Status status = worker_.barrier(); !status.ok()) return status;
  const double servers_before = cpu_seconds_of(servers);
  const double before = cpu_seconds();
  const Time start = now();
  if (Status status = pipeline(operations); !status.ok()) return status;
  Report report{.rank = worker_.rank(), .seconds = seconds(now() - start)};
  report.cpu_s = cpu_seconds() - before;
  if (Status status = worker_.barrier(); !status.ok()) return status;
  report.servers_cpu_s = cpu_seconds_of(servers) - servers_before;
  report.gigabytes = static_cast<double>(operations) * static_cast<double>(task_.bytes) / 1e9;
  std::sort(latencies_us_.begin(), latencies_us_.end());
  report.p50_us = quantile(latencies_us_, 0.5);
  report.p99_us = quantile(latencies_us_, 0.99);
  return report;
}

// Every slot has one operation in flight; waits for the oldest, then reuses its slot.
Status ExchangeWorker::pipeline(std::uint64_t operations) {
  const std::uint64_t slots = slots_.size();
  for (std::uint64_t i = 0; i < operations + slots; ++i) {
    Slot& slot = slots_[i % slots];
    if (i >= slots && i - slots < operations) {
      if (Status status = end(slot); !status.ok()) return status;
    }
    if (i < operations) begin(slot);
  }
  return {};
}

void ExchangeWorker::begin(Slot& slot) {
  slot.began = now();
  switch (task_.benchmark) {
    case Benchmark::kPush:
      slot.ticket = worker_.push(slot.tensor, slot.source);
      return;
    case Benchmark::kPull:
      slot.ticket = worker_.pull(slot.tensor, slot.target);
      return;
    default:
      slot.ticket = worker_.push_pull(slot.tensor, slot.source, slot.target);
      return;
  }
}

Status ExchangeWorker::end(Slot& slot) {
  Status status = slot.ticket.wait();
  latencies_us_.push_back(1e6 * seconds(now() - slot.began));
  return status;
}

}  // namespace

Status exchange(const Task& task) {
  if (task.bytes == 0 || task.inflight == 0) {
    return {Code::kInvalidArgument, "worker-role wants --bytes and --inflight"};
  }
  Result<Worker> worker = Worker::join();
  if (!worker.ok()) return worker.status();
  return ExchangeWorker(task, *std::move(worker)).run();
}

}  // namespace stretto::bench
