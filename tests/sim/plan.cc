// SPDX-License-Identifier: Apache-2.0
// Derives a plan from a seed.
#include "tests/sim/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stretto::sim {
namespace {

constexpr Dtype kDtypes[] = {Dtype::kF32, Dtype::kF64, Dtype::kI32, Dtype::kI64};

TensorOptions options_from(Random& random, std::uint32_t workers, Dtype dtype) {
  TensorOptions options;
  options.mode = static_cast<Mode>(1 + random.below(5));
  if (options.mode == Mode::kBounded) options.bound = static_cast<std::uint32_t>(random.below(4));
  if (!has_rounds(options.mode)) return options;
  options.deterministic = random.chance(0.3);
  const bool exact = (workers & (workers - 1)) == 0;     // Means of contributions are exact.
  const bool adds_means = options.mode == Mode::kEager;  // These must be exact too.
  if (random.chance(0.25) && (!adds_means || (exact && dtype < Dtype::kI8))) {
    options.update.rule = Rule::kMean;
  } else if (exact && dtype == Dtype::kF64 && random.chance(0.6)) {
    options.update = {.rule = Rule::kSgd, .rate = 0.5};
  }
  return options;
}

TensorPlan tensor_from(Random& random, std::size_t index, const Plan& plan) {
  TensorPlan tensor;
  tensor.spec.name = fmt::format("tensor{}", index);
  tensor.spec.dtype = kDtypes[random.below(4)];
  const std::uint64_t part = plan.settings.part_bytes / bytes_of(tensor.spec.dtype);
  tensor.spec.elements = random.chance(0.1) ? 1 + random.below(3) : 1 + random.below(part * 6);
  tensor.spec.options = options_from(random, plan.workers, tensor.spec.dtype);
  tensor.spec.options.bulk = index % 2 == 1;
  const bool rounds = has_rounds(tensor.spec.options.mode);
  const std::uint64_t count = 1 + random.below(12);
  const bool begins_with_broadcast = random.chance(0.5);
  for (std::uint64_t i = 0; i < count; ++i) {
    Step step;
    step.broadcast = (i == 0 && begins_with_broadcast) || (rounds && i > 0 && random.chance(0.1));
    step.root = static_cast<Rank>(random.below(plan.workers));
    tensor.steps.push_back(step);
  }
  return tensor;
}

NetworkOptions network_from(Random& random) {
  NetworkOptions network;
  network.least_latency = random.between(1us, 100us);
  network.most_latency = network.least_latency + random.between(0us, 5ms);
  network.bytes_per_second = 1e5 * std::pow(10.0, static_cast<double>(random.below(5)));
  network.link_capacity_bytes = 512U << random.below(8);
  network.lend = random.chance(0.5);
  network.local = random.chance(0.5);
  return network;
}

JobSettings settings_from(Random& random) {
  JobSettings settings;
  settings.part_bytes = 64U << random.below(5);
  settings.link_window_bytes = 256U << random.below(6);
  settings.total_window_bytes = settings.link_window_bytes << random.below(3);
  return settings;
}

// Lossless codecs: contributions travel encoded, and every value can still be predicted.
void give_codec(Random& random, TensorSpec& spec) {
  if (spec.dtype != Dtype::kF32 || is_eager(spec.options.mode) || random.chance(0.4)) return;
  const bool owes = random.chance(0.5);
  spec.options.codec = *codec_from(owes ? "randomk,k=1000000,ef=vanilla" : "randomk,k=1000000");
}

// Reductions other than sums, where their results can be predicted and products fit.
void give_reduction(Random& random, TensorSpec& spec, std::uint32_t workers) {
  constexpr Rule kRules[] = {Rule::kMin, Rule::kMax, Rule::kProduct};
  TensorOptions& options = spec.options;
  const bool sums = options.mode == Mode::kSync && options.update.rule == Rule::kSum;
  if (!sums || options.codec || !random.chance(0.4)) return;
  const bool holds_products =
      workers <= 8 && (spec.dtype == Dtype::kF64 || spec.dtype == Dtype::kI64);
  options.update.rule = kRules[random.below(holds_products ? 3 : 2)];
}

// Optimizer rules: a round's mean is applied at the server, with the rule's state. Modes without
// rounds apply contributions in any order, so they get the one rule whose values do not depend on
// it: each contribution is subtracted whole.
void give_optimizer(Random& random, TensorSpec& spec) {
  constexpr Rule kRules[] = {Rule::kSgd, Rule::kMomentum, Rule::kAdam, Rule::kAdagrad};
  TensorOptions& options = spec.options;
  RuleOptions& update = options.update;
  const bool floating = spec.dtype == Dtype::kF32 || spec.dtype == Dtype::kF64;
  const bool sums = update.rule == Rule::kSum && !options.codec && floating;
  if (!sums || options.mode == Mode::kEager || !random.chance(0.5)) return;
  update = {.rule = Rule::kSgd, .rate = 1};
  if (options.mode != Mode::kSync) return;
  update.rule = kRules[random.below(4)];
  update.rate = 0.25;
  update.nesterov = random.chance(0.5);
  update.momentum = 0.5 + 0.125 * static_cast<double>(random.below(4));
  if (random.chance(0.5)) update.weight_decay = 0.0625;
}

// In modes without rounds later steps may be broadcasts too. Faster workers then wait in a
// broadcast while slower ones still push.
void broadcast_later(Random& random, TensorPlan& tensor) {
  if (has_rounds(tensor.spec.options.mode)) return;
  for (std::size_t i = 1; i < tensor.steps.size(); ++i) {
    tensor.steps[i].broadcast = random.chance(0.15);
  }
}

// Links that break and reconnect, some before they have carried anything, or one silent link. Not
// both: after a reset a node cannot reconnect in time over a silent path.
std::vector<Strike> cuts_that_are_mended(Random& random) {
  std::vector<Strike> timeline;
  Duration after = random.between(1ms, 50ms);
  if (random.chance(0.3)) {
    return {{.fault = Fault::kCut,
             .after = after,
             .pause = random.between(1ms, 4s),
             .cut = LinkCut::kDip}};
  }
  for (std::uint64_t left = 1 + random.below(12); left > 0; --left) {
    timeline.push_back({.fault = Fault::kCut, .after = after, .cut = LinkCut::kMended});
    after += random.chance(0.5) ? random.between(0ms, 2ms) : random.between(1ms, 100ms);
  }
  return timeline;
}

// Corrupts some frames instead, where frames carry checksums.
void corrupt_some(Random& random, std::vector<Strike>& timeline) {
  for (Strike& strike : timeline) {
    if (strike.cut == LinkCut::kMended && random.chance(0.4)) strike.cut = LinkCut::kFlip;
  }
}

// A fault alone, or with up to three more: before it, at the same time, or while it still has
// consequences.
std::vector<Strike> timeline_from(std::uint64_t seed, const Strike& first) {
  constexpr Fault kAtAnyTime[] = {Fault::kCrash, Fault::kSilence, Fault::kCut,
                                  Fault::kLoss,  Fault::kPause,   Fault::kHostile};
  Random random(seed);
  std::vector<Strike> timeline{first};
  const std::uint64_t more = random.chance(0.5) ? 0 : 1 + random.below(3);
  for (std::uint64_t i = 0; i < more; ++i) {
    const Duration soon = first.after + random.between(0ms, 20ms);
    const Duration some_time = random.between(1ms, 2s);
    timeline.push_back({.fault = kAtAnyTime[random.below(std::size(kAtAnyTime))],
                        .after = random.chance(0.5) ? soon : some_time,
                        .pause = random.between(100ms, 4s),
                        .cut = static_cast<LinkCut>(random.below(4))});
  }
  std::stable_sort(timeline.begin(), timeline.end(),
                   [](const Strike& a, const Strike& b) { return a.after < b.after; });
  return timeline;
}

// True if the job must survive all faults.
bool is_calm(const Plan& plan) {
  return std::ranges::all_of(plan.timeline, [](const Strike& strike) {
    return strike.fault == Fault::kPause || strike.fault == Fault::kHostile;
  });
}

// In the first rounds of some tensors, before all other steps, some workers are paused.
void make_uneven(Random& random, Plan& plan) {
  if (plan.workers == 1 || !is_calm(plan) || !random.chance(0.4)) return;
  const std::uint64_t idle = 1 + random.below((std::uint64_t{1} << plan.workers) - 2);
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    TensorPlan& tensor = plan.tensors[i];
    if (!has_rounds(tensor.spec.options.mode)) continue;
    const auto until = std::ranges::find_if(tensor.steps, &Step::broadcast);
    tensor.idle = idle;
    tensor.uneven = random.below(static_cast<std::uint64_t>(until - tensor.steps.begin()) + 1);
    for (std::uint64_t n = 0; n < tensor.uneven; ++n) {
      plan.order.erase(std::ranges::find(plan.order, i));
      first.push_back(i);
    }
  }
  plan.uneven_steps = first.size();
  plan.order.insert(plan.order.begin(), first.begin(), first.end());
}

// Starts some nodes late. Pauses of other nodes in addition could exceed the rendezvous timeout.
void start_late(Random& random, Plan& plan) {
  if (!is_calm(plan) || plan.has(Fault::kPause) || !random.chance(0.3)) return;
  for (const std::string& name : plan.nodes()) {
    if (random.chance(0.3)) plan.late[name] = random.between(1ms, 500ms);
  }
}

std::vector<Visit> visits_from(Random& random) {
  std::vector<Visit> visits;
  for (std::uint64_t left = random.chance(0.3) ? 1 + random.below(2) : 0; left > 0; --left) {
    visits.push_back({.after = random.between(0ms, 50ms),
                      .questions = 1 + static_cast<std::uint32_t>(random.below(6)),
                      .pause = random.between(0ms, 20ms),
                      .vanishes = random.chance(0.5)});
  }
  return visits;
}

}  // namespace

std::string_view name_of(Fault fault) {
  constexpr std::string_view kNames[] = {"none",  "crash",   "silence", "cut",      "loss",
                                         "pause", "hostile", "missing", "mismatch", "over budget"};
  return kNames[static_cast<std::size_t>(fault)];
}

Plan::Plan(std::uint64_t from) : seed(from) {
  Random random(from * 0x9E3779B97F4A7C15ULL + 1);
  workers = 1 + static_cast<std::uint32_t>(random.below(4));
  servers = 1 + static_cast<std::uint32_t>(random.below(3));
  shards = 1 + static_cast<std::uint32_t>(random.below(2));
  network = network_from(random);
  settings = settings_from(random);
  const std::size_t count = 1 + random.below(4);
  for (std::size_t i = 0; i < count; ++i) tensors.push_back(tensor_from(random, i, *this));
  for (std::size_t i = 0; i < count; ++i) order.insert(order.end(), tensors[i].steps.size(), i);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  barriers = static_cast<std::uint32_t>(random.below(4));
  most_in_flight = 1 + random.below(6);
  // Half of the seeds have no fault.
  Strike first;
  if (random.chance(0.5)) first.fault = static_cast<Fault>(1 + random.below(kFaults - 1));
  first.after = random.between(1ms, random.chance(0.5) ? 50ms : 1s);
  first.pause = random.between(100ms, 4s);
  if (first.fault == Fault::kOverBudget) {
    memory_limit_bytes = settings.part_bytes * (1 + random.below(6));
  }
  if (first.fault == Fault::kMismatch && workers == 1) first.fault = Fault::kNone;
  Random codecs(from ^ 0xC0DEC);  // Its own generator: the rest of the seed's plan is unchanged.
  for (TensorPlan& tensor : tensors) give_codec(codecs, tensor.spec);
  Random reductions(from ^ 0x4ED0CE);
  for (TensorPlan& tensor : tensors) give_reduction(reductions, tensor.spec, workers);
  Random optimizers(from ^ 0x0971);
  for (TensorPlan& tensor : tensors) give_optimizer(optimizers, tensor.spec);
  Random broadcasts(from ^ 0xB40ADCA5);
  for (TensorPlan& tensor : tensors) broadcast_later(broadcasts, tensor);
  Random cuts(from ^ 0xC07);
  first.cut = static_cast<LinkCut>(cuts.below(4));
  Random paces(from ^ 0x9ACE5);
  slow = paces.chance(0.4) ? static_cast<Rank>(paces.below(workers)) : workers;
  Random hasty(from ^ 0x4A57E);
  for (TensorPlan& tensor : tensors) {
    for (Rank rank = 0; rank < workers; ++rank) {
      if (hasty.chance(0.2)) tensor.hasty |= std::uint64_t{1} << rank;
    }
  }
  if (first.fault != Fault::kNone) timeline = timeline_from(from ^ 0x71AE, first);
  Random mending(from ^ 0x3E4D);
  if (first.fault == Fault::kNone && mending.chance(0.3)) timeline = cuts_that_are_mended(mending);
  Random flips(from ^ 0xF11B);
  if (!network.local) corrupt_some(flips, timeline);
  Random uneven(from ^ 0x51775);
  make_uneven(uneven, *this);
  Random coming(from ^ 0x1A7E);
  start_late(coming, *this);
  visits = visits_from(coming);
}

bool Plan::has(Fault fault) const {
  return std::any_of(timeline.begin(), timeline.end(),
                     [fault](const Strike& strike) { return strike.fault == fault; });
}

bool Plan::mends() const {
  return !timeline.empty() && std::ranges::all_of(timeline, [](const Strike& strike) {
    return strike.cut == LinkCut::kMended || strike.cut == LinkCut::kDip ||
           strike.cut == LinkCut::kFlip;
  });
}

std::vector<std::string> Plan::nodes() const {
  std::vector<std::string> names{"scheduler"};
  for (Rank rank = 0; rank < servers; ++rank) {
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      names.push_back(
          Member{.node = 0, .role = Role::kServer, .rank = rank, .shard = shard, .address = {}}
              .describe());
    }
  }
  for (Rank rank = 0; rank < workers; ++rank) names.push_back(fmt::format("worker {}", rank));
  return names;
}

std::string Plan::describe() const {
  std::string text = fmt::format("seed {}: {} workers, {} servers of {} shards, parts of {}", seed,
                                 workers, servers, shards, settings.part_bytes);
  for (const Strike& strike : timeline) {
    text += fmt::format(", {} after {} ms", name_of(strike.fault),
                        std::chrono::duration<double, std::milli>(strike.after).count());
    if (strike.fault == Fault::kCut)
      text += fmt::format(" in way {}", static_cast<int>(strike.cut));
  }
  for (const auto& [name, lateness] : late) {
    text += fmt::format(", {} {} ms late", name,
                        std::chrono::duration<double, std::milli>(lateness).count());
  }
  if (!visits.empty()) text += fmt::format(", {} observers", visits.size());
  if (slow < workers) text += fmt::format(", worker {} is slow", slow);
  if (uneven_steps > 0) text += fmt::format("; {} uneven steps", uneven_steps);
  for (const TensorPlan& tensor : tensors) {
    text += fmt::format("; {} {} in {} steps", tensor.spec.name, tensor.spec.describe(),
                        tensor.steps.size());
  }
  return text;
}

}  // namespace stretto::sim
