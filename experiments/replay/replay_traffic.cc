// SPDX-License-Identifier: Apache-2.0
// A tensor sent alone stays where it is computed; fused tensors are copied in and out, as in
// programs that fuse.
#include "experiments/replay/replay_traffic.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench::experiments {
namespace {

constexpr std::uint64_t kFewElements = 16;
constexpr int kAtOnce = 64;
constexpr int kStarts = 15;  // Measured; the first third is discarded.

}  // namespace

// ---- one at a time

void InTurn::add(Begin begin) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(begin));
    if (busy_) return;
    busy_ = true;
  }
  begin_next();
}

void InTurn::begin_next() {
  Begin begin;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      busy_ = false;
      ended_.notify_all();  // Under the lock: the caller of drain() may destroy it then.
      return;
    }
    begin = std::move(waiting_.front());
    waiting_.pop_front();
  }
  begin().on_done([this](const Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (error_.ok()) error_ = status;
      if (!status.ok()) waiting_.clear();  // The worker may be shutting down.
    }
    begin_next();
  });
}

Status InTurn::drain() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return !busy_; });
  return std::exchange(error_, {});
}

// ---- declaration

ReplayTraffic::ReplayTraffic(const ReplaySettings& settings, const Scheme& scheme,
                             const Model& model, Worker worker)
    : settings_(settings), scheme_(scheme), model_(model), worker_(std::move(worker)) {}

Result<Tensor> ReplayTraffic::declare_one(const std::string& name, std::uint64_t elements) {
  return worker_.declare(name, Dtype::kF32, elements,
                         {.mode = is_eager() ? Mode::kEager : Mode::kSync,
                          .bulk = scheme_.bulk,
                          .exchange = scheme_.exchange});
}

Status ReplayTraffic::declare(const std::vector<std::uint32_t>& order,
                              const std::vector<std::size_t>& groups) {
  places_.resize(model_.tensors.size());
  std::size_t next = 0;
  std::size_t largest = 0;
  for (const std::size_t count : groups) {
    Unit unit;
    unit.members = unit.missing = count;
    std::uint64_t elements = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t tensor = order[next++];
      Place& place = places_[tensor];
      place = {units_.size(), elements,
               scaled_elements(model_.tensors[tensor].elements, settings_.scale)};
      elements += place.elements;
      largest = std::max(largest, place.elements);
      unit.name = count == 1 ? model_.tensors[tensor].name
                             : fmt::format("{} tensors to {}", count, model_.tensors[tensor].name);
    }
    const Result<Tensor> tensor = declare_one(unit.name, elements);
    if (!tensor.ok()) return tensor.status();
    unit.tensor = *tensor;
    unit.source.resize(elements);
    unit.target.resize(elements);
    units_.push_back(std::move(unit));
  }
  gradient_.resize(largest);
  return {};
}

// If exchanges overlap, an exchange delays others only by its frames, not by its latency. So this
// compares one exchange with many simultaneous ones.
Result<double> ReplayTraffic::measure_start() {
  std::vector<Tensor> tensors;
  for (int i = 0; i < kAtOnce; ++i) {
    const Result<Tensor> tensor = declare_one(fmt::format("a few bytes {}", i), kFewElements);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*tensor);
  }
  std::vector<std::vector<float>> numbers(tensors.size(), std::vector<float>(kFewElements));
  const std::span one = std::span(tensors).first(1);
  Result<double> alone = time_of(one, numbers);
  if (!alone.ok()) return alone;
  double start_s = *alone;
  if (scheme_.flow != Flow::kInTurn) {
    Result<double> together = time_of(tensors, numbers);
    if (!together.ok()) return together;
    start_s = std::max(0.0, *together - *alone) / (kAtOnce - 1);
  }
  std::fill(numbers[0].begin(), numbers[0].end(), static_cast<float>(start_s));
  Status status = exchange_all(one, numbers);
  if (!status.ok()) return status;
  return static_cast<double>(numbers[0].front()) / worker_.size();
}

// Returns the median.
Result<double> ReplayTraffic::time_of(std::span<const Tensor> tensors,
                                      std::vector<std::vector<float>>& numbers) {
  std::vector<double> took;
  for (int i = 0; i < kStarts; ++i) {
    if (Status status = worker_.barrier(); !status.ok()) return status;
    const Time begin = now();
    Status status = exchange_all(tensors, numbers);
    if (!status.ok()) return status;
    if (i >= kStarts / 3) took.push_back(seconds(now() - begin));
  }
  return median_of(took);
}

Status ReplayTraffic::exchange_all(std::span<const Tensor> tensors,
                                   std::vector<std::vector<float>>& numbers) {
  std::vector<Ticket> tickets;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tickets.push_back(worker_.push_pull(tensors[i], numbers[i], numbers[i], 0));
  }
  Status status;
  for (const Ticket& ticket : tickets) {
    Status its = ticket.wait();
    if (status.ok()) status = std::move(its);
  }
  return status;
}

void ReplayTraffic::set_priorities(const std::vector<int>& priorities) {
  for (Unit& unit : units_) unit.priority = std::numeric_limits<int>::min();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Unit& unit = units_[places_[i].unit];
    unit.priority = std::max(unit.priority, priorities[i]);
  }
}

void ReplayTraffic::fill_sources() {
  if (is_eager()) return;
  std::mt19937 random(static_cast<std::uint32_t>(settings_.seed + worker_.rank()));
  std::normal_distribution<float> gradient(0, 1e-3F);
  const auto fill = [&](std::vector<float>& values) {
    std::ranges::generate(values, [&] { return gradient(random); });
  };
  for (Unit& unit : units_) fill(unit.source);
  fill(gradient_);
}

// ---- an iteration

void ReplayTraffic::push_pull(Unit& unit) {
  unit.ticket = worker_.push_pull(unit.tensor, unit.source, unit.target, unit.priority);
}

void ReplayTraffic::send(Unit& unit) {
  if (scheme_.flow != Flow::kInTurn) return push_pull(unit);
  line_.add([this, &unit] {
    return worker_.push_pull(unit.tensor, unit.source, unit.target, unit.priority);
  });
}

void ReplayTraffic::ready(std::uint32_t tensor) {
  const Place& place = places_[tensor];
  Unit& unit = units_[place.unit];
  if (unit.members > 1) {
    std::copy_n(gradient_.begin(), place.elements,
                unit.source.begin() + static_cast<std::ptrdiff_t>(place.offset));
  }
  if (--unit.missing > 0) return;
  unit.missing = unit.members;
  send(unit);
}

Result<bool> ReplayTraffic::wait_for(std::uint32_t tensor) {
  const Place& place = places_[tensor];
  Unit& unit = units_[place.unit];
  const bool waits = !unit.ticket.done();
  if (Status status = wait(unit); !status.ok()) return status;
  if (unit.members > 1) {
    std::copy_n(unit.target.begin() + static_cast<std::ptrdiff_t>(place.offset), place.elements,
                gradient_.begin());
  }
  return waits;
}

Status ReplayTraffic::wait(Unit& unit) { return unit.ticket.wait(); }

Status ReplayTraffic::wait_for_all() {
  Status status = line_.drain();
  for (Unit& unit : units_) {
    if (status.ok()) status = wait(unit);
  }
  return status;
}

void ReplayTraffic::hurry(std::uint32_t tensor, int priority) {
  const Ticket& ticket = units_[places_[tensor].unit].ticket;
  if (!ticket.done()) ticket.set_priority(priority);
}

void ReplayTraffic::push_all() {
  for (Unit& unit : units_) unit.ticket = worker_.push(unit.tensor, unit.source, unit.priority);
}

// Submits the most urgent first, too: the first may leave before the last is queued.
void ReplayTraffic::pull_all() {
  std::vector<std::size_t> order(units_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return units_[a].priority > units_[b].priority;
  });
  for (const std::size_t i : order) {
    Unit& unit = units_[i];
    unit.ticket = worker_.pull(unit.tensor, unit.target, unit.priority);
  }
}

void ReplayTraffic::push_pull_all() {
  for (Unit& unit : units_) push_pull(unit);
}

// ---- sums

Status ReplayTraffic::check_values(float salt) {
  for (Unit& unit : units_) std::fill(unit.source.begin(), unit.source.end(), salt);
  const bool among = scheme_.exchange != Exchange::kServers;  // These keep nothing to pull.
  among ? push_pull_all() : push_all();
  Status status = wait_for_all();
  if (status.ok()) status = worker_.barrier();
  if (!status.ok()) return status;
  if (!among) pull_all();
  if (status = wait_for_all(); !status.ok()) return status;
  const float before = is_eager() && salt != 1 ? 1 : 0;
  const float wanted = static_cast<float>(worker_.size()) * (salt + before);
  for (Unit& unit : units_) {
    const auto wrong =
        std::ranges::find_if(unit.target, [=](float found) { return found != wanted; });
    if (wrong != unit.target.end()) {
      return {Code::kMalformed, fmt::format("wrong sum: an element of tensor '{}' is {}, wanted {}",
                                            unit.name, *wrong, wanted)};
    }
    std::fill(unit.source.begin(), unit.source.end(), 0.0F);
  }
  return worker_.barrier();
}

}  // namespace stretto::bench::experiments
