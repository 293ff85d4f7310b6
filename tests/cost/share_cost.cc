// SPDX-License-Identifier: Apache-2.0
// The cost of a contribution at a server apart from its bytes, by number of workers: a shard's
// handling of pushes to one-element parts, without a network. Not a test: it prints times.
//
//   share_cost            the least of 9 runs for each mode and number of workers
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>

#include "ops/update.h"
#include "server/storage/slot.h"

namespace stretto {
namespace {

constexpr int kRuns = 9;
constexpr std::uint64_t kShares = 1 << 17;  // Contributions of all workers in a run.

constexpr wire::Key kKey{1, 0};

TensorSpec spec_of(Mode mode) {
  TensorSpec spec{.name = "x", .dtype = Dtype::kF32, .elements = 1, .options = {}};
  spec.options.mode = mode;
  spec.options.bound = 4;
  return spec;
}

void add_part(Slot& slot, const TensorSpec& spec, std::uint32_t workers) {
  const PartLayout layout(spec, kKey, 1, workers);
  std::unique_ptr<ops::UpdateRule> rule;
  if (layout.has_rule) {
    rule = ops::make_update_rule(spec.options.update, spec.dtype, 1).or_exit();
  }
  std::vector<Contributor> all;
  for (Rank rank = 0; rank < workers; ++rank) all.push_back({10 + rank, rank});
  slot.add(spec, layout, std::move(rule), Aggregator(layout, make_group(std::move(all))),
           Buffer::allocate);
}

// One round: each worker's push, its wait, and the replies to workers whose waits end. The result
// depends on all of them, so that the compiler cannot remove any.
std::uint64_t push_round(Slot& slot, std::uint32_t workers, std::uint64_t round,
                         const Buffer& share) {
  std::uint64_t told = 0;
  Part& part = *slot.find(kKey);
  const Consistency& rounds = part.collector.rounds();
  for (Rank rank = 0; rank < workers; ++rank) {
    const PushId push{10 + rank, kKey, round};
    if (slot.admit(part, push, 1) != Slot::Verdict::kApply) return 0;
    auto counted = slot.count(part, push, {.worker = push.worker, .round = round, .bytes = share});
    if (!counted.ok()) return 0;
    if (counted->update) slot.release(slot.append(part, *std::move(counted->update)));
    part.waiting.add(
        {.worker = push.worker, .wants_value = true, .gate = counted->gate, .since = {}});
    for (const Waiter& ready : part.take_ready()) {
      told += rounds.slowest() + rounds.applied_of(ready.worker) + rounds.spread();
    }
    told += rounds.absentee().value_or(0);
  }
  return told;
}

double nanoseconds_a_share(Mode mode, std::uint32_t workers) {
  using Clock = std::chrono::steady_clock;
  Buffer share = Buffer::allocate(sizeof(float));
  const float one = 1;
  std::memcpy(share.writable().data(), &one, sizeof one);
  double least = std::numeric_limits<double>::max();
  std::uint64_t told = 0;
  for (int run = 0; run < kRuns; ++run) {
    const TensorSpec spec = spec_of(mode);
    Slot slot(0, 0);
    add_part(slot, spec, workers);
    const std::uint64_t rounds = kShares / workers;
    const Clock::time_point begin = Clock::now();
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      told += push_round(slot, workers, round, share);
    }
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    least = std::min(least, took.count() / static_cast<double>(rounds * workers));
  }
  return told == 0 ? -1 : least;
}

void print_costs() {
  std::puts("mode     workers  ns a share");
  for (const Mode mode : {Mode::kSync, Mode::kBounded, Mode::kAsync}) {
    for (const std::uint32_t workers : {2U, 16U, 64U, 256U}) {
      const double cost = nanoseconds_a_share(mode, workers);
      std::puts(fmt::format("{:<8} {:>7}  {:>10.0f}", name_of(mode), workers, cost).c_str());
    }
  }
}

}  // namespace
}  // namespace stretto

int main() {
  stretto::print_costs();
  return 0;
}
