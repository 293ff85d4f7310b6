// SPDX-License-Identifier: Apache-2.0
// Computes a program's demand from its readers' counters, and each reader's limit from one limit.
#include "common/input_account.h"

#include <algorithm>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kLeastSpan = 100ms;
constexpr std::uint64_t kLeastLimit = 64 * 1024;
constexpr std::uint64_t kMostLimit = std::uint64_t{1} << 60;
constexpr std::uint64_t kMostHeldBack = 16;  // Most times fewer bytes in flight than requested.
constexpr double kLeastBusy = 1.0 / 32;      // Of the time: so demand is at most 32 times the
                                             // recent or possible throughput.
constexpr double kMostMissed = 1e15;         // Bytes.

}  // namespace

// ---- one reader's

void InputFeed::requested(Duration latency) {
  requests_.fetch_add(1, std::memory_order_relaxed);
  latency_.fetch_add(latency.count(), std::memory_order_relaxed);
}

void InputFeed::waits(Time now) {
  const Duration::rep since = now.time_since_epoch().count();
  waits_since_.store(since == 0 ? 1 : since, std::memory_order_relaxed);
}

void InputFeed::goes_on(Time now) {
  const Duration::rep since = waits_since_.exchange(0, std::memory_order_acq_rel);
  if (since == 0) return;
  const Duration::rep waited = now.time_since_epoch().count() - since;
  stall_.fetch_add(std::max<Duration::rep>(waited, 0), std::memory_order_release);
}

void InputFeed::wants(std::uint64_t in_flight_bytes, std::uint64_t read_bytes) {
  in_flight_.store(in_flight_bytes, std::memory_order_relaxed);
  read_.store(read_bytes, std::memory_order_relaxed);
}

// While a wait ends, the result may lack that wait, but never counts it twice.
Duration InputFeed::stall(Time now) const {
  const Duration ended(stall_.load(std::memory_order_acquire));
  const Duration::rep since = waits_since_.load(std::memory_order_acquire);
  if (since == 0) return ended;
  return ended + std::max(now.time_since_epoch() - Duration(since), Duration::zero());
}

// ---- all readers'

std::shared_ptr<InputFeed> InputAccount::open(Time now) {
  Entry entry;
  entry.feed = std::make_shared<InputFeed>();
  MutexLock lock(mutex_);
  if (!opened_) totals_.at = now;
  opened_ = true;
  if (now - totals_.at >= kLeastSpan) settle(now);  // Drops destroyed readers.
  entries_.push_back(entry);
  share_limit();
  return entry.feed;
}

std::optional<InputTotals> InputAccount::totals(Time now) {
  MutexLock lock(mutex_);
  if (!opened_) return std::nullopt;
  if (now - totals_.at >= kLeastSpan) settle(now);
  return totals_;
}

void InputAccount::set_limit(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  limit_ = std::min(bytes, kMostLimit);
  share_limit();
}

void InputAccount::settle(Time now) {
  std::uint64_t delivered = 0;
  Duration stall{};
  std::uint64_t in_flight = 0;
  std::uint64_t read = 0;
  for (Entry& entry : entries_) {
    const InputFeed& feed = *entry.feed;
    const std::uint64_t bytes = feed.delivered_bytes();
    const Duration waited = std::max(feed.stall(now), entry.stall);
    const std::uint64_t requests = feed.requests_.load(std::memory_order_relaxed);
    const Duration latency(feed.latency_.load(std::memory_order_relaxed));
    entry.in_use = bytes > entry.delivered || waited > entry.stall;
    delivered += bytes - entry.delivered;
    stall += waited - entry.stall;
    totals_.requests += requests - entry.requests;
    totals_.latency += latency - entry.latency;
    entry.delivered = bytes;
    entry.requests = requests;
    entry.latency = latency;
    entry.stall = waited;
    if (!entry.in_use) continue;
    in_flight += feed.in_flight_.load(std::memory_order_relaxed);
    read = std::max(read, feed.read_.load(std::memory_order_relaxed));
  }
  // Several consumers may wait at once; the program's wait counts once.
  const Duration length = now - totals_.at;
  stall = std::min(stall, length);
  totals_.at = now;
  totals_.delivered_bytes += delivered;
  totals_.demanded_bytes += demand(delivered, stall, length);
  totals_.stall += stall;
  if (in_flight > 0) {
    totals_.in_flight_bytes = in_flight;
    totals_.read_bytes = std::min(read, in_flight);  // Both may change during this call.
  }
  std::erase_if(entries_, [](const Entry& entry) { return entry.feed.use_count() == 1; });
  share_limit();
}

std::uint64_t InputAccount::demand(std::uint64_t delivered, Duration stall, Duration length) {
  const double busy = std::max(seconds(length - stall), kLeastBusy * seconds(length));
  if (delivered > 0 && busy > 0) rate_ = static_cast<double>(delivered) / busy;
  const auto missed = static_cast<std::uint64_t>(std::min(rate_ * seconds(stall), kMostMissed));
  // A consumer that waits for its first bytes has some demand.
  return delivered + (stall > Duration::zero() ? std::max<std::uint64_t>(missed, 1) : 0);
}

// In proportion to demand. Unused readers get the limit of a single reader, as they take nothing.
void InputAccount::share_limit() {
  double wanted = 0;
  for (const Entry& entry : entries_) {
    if (entry.in_use) wanted += static_cast<double>(entry.feed->in_flight_.load());
  }
  for (Entry& entry : entries_) {
    const std::uint64_t own = entry.feed->in_flight_.load(std::memory_order_relaxed);
    const double part = entry.in_use && wanted > 0 ? static_cast<double>(own) / wanted : 1;
    const auto limit = static_cast<std::uint64_t>(static_cast<double>(limit_) * part);
    const std::uint64_t least = std::max(own / kMostHeldBack, kLeastLimit);
    entry.feed->limit_.store(limit_ == 0 ? 0 : std::max(limit, least), std::memory_order_relaxed);
  }
}

std::shared_ptr<InputAccount> new_input_account() { return std::make_shared<InputAccount>(); }

std::shared_ptr<InputAccount> process_input_account() {
  static auto* account = new std::shared_ptr(new_input_account());  // Never destroyed.
  return *account;
}

}  // namespace stretto
