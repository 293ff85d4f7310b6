// SPDX-License-Identifier: Apache-2.0
// Derives a plan from a seed.
#include "tests/sim/among/among_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace stretto::sim {
namespace {

constexpr Exchange kExchanges[] = {Exchange::kDirect, Exchange::kRing, Exchange::kHalving,
                                   Exchange::kTree};
constexpr Rule kRoundRules[] = {Rule::kSum, Rule::kMean, Rule::kMin, Rule::kMax, Rule::kProduct};
constexpr std::uint64_t kMostPartsDrawn = 5;

bool is_whole(Dtype dtype) { return dtype >= Dtype::kI8; }
bool is_wide(Dtype dtype) {
  return dtype == Dtype::kF32 || dtype == Dtype::kF64 || dtype == Dtype::kI64;
}
// A product of six small numbers does not overflow.
bool holds_products(Dtype dtype) {
  return dtype != Dtype::kI8 && dtype != Dtype::kU8 && dtype != Dtype::kBf16;
}

// Zero, one, some, or enough for equal parts at all roots.
std::uint64_t elements_from(Random& random, const AmongPlan& plan, Dtype dtype,
                            std::uint32_t members) {
  const std::uint64_t part = plan.settings.part_bytes / bytes_of(dtype);
  if (random.chance(0.1)) return 0;
  if (random.chance(0.15)) return 1;
  if (random.chance(0.2)) return part * members;
  return 1 + random.below(part * kMostPartsDrawn);
}

ReduceOp op_from(Random& random, Dtype dtype) {
  while (true) {
    const auto op = static_cast<ReduceOp>(random.below(8));
    const bool bits = op == ReduceOp::kAnd || op == ReduceOp::kOr || op == ReduceOp::kXor;
    if (bits && !is_whole(dtype)) continue;
    if (op == ReduceOp::kAverage && !is_wide(dtype)) continue;
    if (op == ReduceOp::kProduct && !holds_products(dtype)) continue;
    return op;
  }
}

ReduceOp op_of(Rule rule) {
  switch (rule) {
    case Rule::kMean:
      return ReduceOp::kAverage;
    case Rule::kMin:
      return ReduceOp::kMin;
    case Rule::kMax:
      return ReduceOp::kMax;
    case Rule::kProduct:
      return ReduceOp::kProduct;
    default:
      return ReduceOp::kSum;
  }
}

Circle circle_from(Random& random, const AmongPlan& plan, std::size_t index) {
  Circle circle;
  circle.ranks.resize(plan.workers);
  std::iota(circle.ranks.begin(), circle.ranks.end(), Rank{0});
  circle.is_group = index == 0 || random.chance(0.7);
  TensorSpec& spec = circle.spec;
  spec.options.exchange = kExchanges[random.below(4)];
  spec.options.deterministic = random.chance(0.4);
  if (circle.is_group) {
    if (random.chance(0.6)) {
      std::erase_if(circle.ranks, [&random](Rank) { return random.chance(0.4); });
    }
    if (circle.ranks.empty()) circle.ranks = {static_cast<Rank>(random.below(plan.workers))};
    spec.name = fmt::format("group of workers {} #{}", fmt::join(circle.ranks, ", "), index);
    spec.dtype = Dtype::kU8;
    return circle;
  }
  constexpr Dtype kDtypes[] = {Dtype::kF32, Dtype::kF64, Dtype::kI64};
  spec.name = fmt::format("tensor{}", index);
  spec.dtype = kDtypes[random.below(3)];
  // With 0 elements a finished worker could leave before its peers have declared the tensor.
  spec.elements = std::max<std::uint64_t>(elements_from(random, plan, spec.dtype, plan.workers), 1);
  spec.options.bulk = random.chance(0.5);
  spec.options.update.rule = kRoundRules[random.below(5)];
  return circle;
}

AmongItem call_from(Random& random, const AmongPlan& plan, std::size_t index) {
  const Circle& circle = plan.circles[index];
  const std::uint32_t members = circle.size();
  AmongItem item{.circle = index};
  item.call.root = static_cast<std::uint32_t>(random.below(members));
  if (!circle.is_group) {
    item.call.kind = random.chance(0.2) ? CallKind::kBroadcast : CallKind::kAllReduce;
    item.call.op = op_of(circle.spec.options.update.rule);
    item.call.dtype = circle.spec.dtype;
    item.call.elements = circle.spec.elements;
    return item;
  }
  const bool many = random.chance(0.25) && members > 1;
  item.call.kind = many ? CallKind::kSend : static_cast<CallKind>(1 + random.below(9));
  const CallKind kind = item.call.kind;
  item.call.dtype = reduces(kind) ? static_cast<Dtype>(1 + random.below(8)) : Dtype::kU8;
  // Inexact sums: their bits reveal the order of the additions.
  if (reduces(kind) && circle.spec.options.deterministic) item.call.dtype = Dtype::kF32;
  if (reduces(kind)) item.call.op = op_from(random, item.call.dtype);
  if (reduces(kind) && circle.spec.options.deterministic) item.call.op = ReduceOp::kSum;
  item.call.elements = elements_from(random, plan, item.call.dtype, members);
  if (kind == CallKind::kBarrier) item.call.elements = 0;
  if (kind == CallKind::kSend) {
    item.peer =
        static_cast<std::uint32_t>((item.call.root + 1 + random.below(members - 1)) % members);
    item.tag = random.below(3);
    return item;
  }
  item.unlike = kind == CallKind::kAllToAll && random.chance(0.5);
  return item;
}

// A call that differs detectably from all other members' calls.
AmongItem unlike(Random& random, const AmongPlan& plan, const AmongItem& item) {
  const std::uint32_t members = plan.circles[item.circle].size();
  AmongItem other = item;
  if (item.sends() || item.call.kind == CallKind::kAllToAll) {
    other.call.elements = item.call.elements + 1 + random.below(300);
    return other;
  }
  const bool rooted = item.call.kind == CallKind::kReduce ||
                      item.call.kind == CallKind::kBroadcast ||
                      item.call.kind == CallKind::kGather || item.call.kind == CallKind::kScatter;
  switch (random.below(4)) {
    case 0:
      if (!rooted) break;
      other.call.root = (item.call.root + 1) % members;
      return other;
    case 1:
      if (!reduces(item.call.kind)) break;
      other.call.op = item.call.op == ReduceOp::kMax ? ReduceOp::kMin : ReduceOp::kMax;
      return other;
    case 2:
      if (item.call.kind == CallKind::kBarrier) break;
      other.call.elements = random.chance(0.3) && item.call.elements > 0
                                ? 0
                                : item.call.elements + 1 + random.below(300);
      return other;
    default:
      break;
  }
  do {
    other = call_from(random, plan, item.circle);
  } while (other.sends() || other.call.kind == item.call.kind);
  other.unlike = false;
  return other;
}

void disagree(Random& random, AmongPlan& plan) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const AmongItem& item = plan.items[i];
    const Circle& circle = plan.circles[item.circle];
    if (!item.founds && circle.is_group && circle.size() > 1) all.push_back(i);
  }
  if (all.empty()) return;
  const std::size_t at = all[random.below(all.size())];
  // In an all_to_all with a size for each pair, only the pair can disagree.
  plan.items[at].unlike = false;
  const Circle& circle = plan.circles[plan.items[at].circle];
  Rank rank = circle.ranks[random.below(circle.size())];
  if (plan.items[at].sends()) rank = circle.ranks[plan.items[at].call.root];
  plan.odd = {.item = at, .rank = rank, .instead = unlike(random, plan, plan.items[at])};
}

void break_links(Random& random, AmongPlan& plan) {
  const std::size_t all = plan.begun_by_all();
  if (random.chance(0.2)) {
    plan.strikes.push_back({.fault = AmongFault::kDip,
                            .begun = random.below(all + 1),
                            .after = random.between(0ms, 3ms),
                            .pause = random.between(1ms, 3s)});
    return;
  }
  for (std::uint64_t left = 1 + random.below(8); left > 0; --left) {
    const bool flips = !plan.network.local && random.chance(0.5);
    plan.strikes.push_back({.fault = flips ? AmongFault::kFlip : AmongFault::kReset,
                            .begun = random.below(all + 1),
                            .after = random.between(0ms, 2ms)});
  }
}

void lose_some(Random& random, AmongPlan& plan) {
  const std::size_t all = plan.begun_by_all();
  for (std::uint64_t left = random.chance(0.2) ? 2 : 1; left > 0; --left) {
    plan.strikes.push_back({.fault = static_cast<AmongFault>(random.below(3)),
                            .begun = random.below(all + 1),
                            .after = random.between(0ms, 3ms),
                            .at_anybody = random.chance(0.15)});
  }
}

// Inserts `times` copies of the item at random later positions.
void repeat(Random& random, AmongPlan& plan, std::vector<AmongItem>::iterator first,
            std::uint64_t times) {
  const AmongItem again = *first;
  const auto at = static_cast<std::size_t>(first - plan.items.begin());
  for (std::uint64_t i = 0; i < times; ++i) {
    const std::size_t place = at + 1 + random.below(plan.items.size() - at);
    plan.items.insert(plan.items.begin() + static_cast<std::ptrdiff_t>(place), again);
  }
}

// Gives some tensors Exchange::kAuto and enough rounds for a change of strategy. Draws from its own
// generator, so the rest of the seed's plan is unchanged.
void leave_open(Random& random, AmongPlan& plan) {
  plan.machines = 1 + static_cast<std::uint32_t>(random.below(3));
  for (std::size_t circle = 0; circle < plan.circles.size(); ++circle) {
    if (plan.circles[circle].is_group || random.chance(0.4)) continue;
    plan.circles[circle].spec.options.exchange = Exchange::kAuto;
    const auto is_call = [circle](const AmongItem& item) {
      return item.circle == circle && !item.founds;
    };
    const auto first = std::ranges::find_if(plan.items, is_call);
    if (first != plan.items.end()) repeat(random, plan, first, random.chance(0.3) ? 20 : 6);
  }
}

// Closes rounds of some tensors early, with enough rounds to learn typical durations. Draws from
// its own generator.
void close_early(Random& random, AmongPlan& plan) {
  if (random.chance(0.6)) return;
  for (std::size_t index = 0; index < plan.circles.size(); ++index) {
    Circle& circle = plan.circles[index];
    TensorOptions& options = circle.spec.options;
    if (circle.is_group || options.exchange == Exchange::kAuto) continue;
    options.exchange = Exchange::kDirect;
    options.deterministic = false;
    options.update.rule = Rule::kSum;
    circle.spec.dtype = Dtype::kF64;
    const bool backups = plan.workers % 2 == 0 && random.chance(0.25);
    options.close.backups = backups ? 1 : 0;
    if (!backups) options.close.quorum = 1 + static_cast<std::uint32_t>(random.below(plan.workers));
    if (!backups) options.close.late = static_cast<Late>(random.below(3));
    for (AmongItem& item : plan.items) {
      if (item.circle != index || item.founds) continue;
      item.call = {.kind = CallKind::kAllReduce,
                   .op = ReduceOp::kSum,
                   .dtype = Dtype::kF64,
                   .elements = circle.spec.elements};
    }
    const auto first = std::ranges::find_if(plan.items, [index](const AmongItem& item) {
      return item.circle == index && !item.founds;
    });
    if (first != plan.items.end()) repeat(random, plan, first, 20);
  }
}

void go_wrong(Random& random, AmongPlan& plan) {
  const std::uint64_t what = random.below(100);
  if (what < 35) return;
  if (what < 55) break_links(random, plan);
  if (what >= 55 && what < 75) lose_some(random, plan);
  if (what >= 75 && what < 90) disagree(random, plan);
  if (what >= 90) {
    plan.leave = {.rank = static_cast<Rank>(random.below(plan.workers)),
                  .before = random.below(plan.items.size() + 1)};
  }
  std::ranges::stable_sort(plan.strikes, {}, &AmongPlan::Strike::begun);
}

}  // namespace

std::string_view name_of(AmongFault fault) {
  constexpr std::string_view kNames[] = {"crash", "silence", "sleep", "reset", "flip", "dip"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::uint32_t Circle::place_of(Rank rank) const {
  return static_cast<std::uint32_t>(std::ranges::find(ranks, rank) - ranks.begin());
}

AmongPlan::AmongPlan(std::uint64_t from) : seed(from) {
  Random random(from * 0x9E3779B97F4A7C15ULL + 29);
  workers = 2 + static_cast<std::uint32_t>(random.below(5));
  servers = random.chance(0.7) ? 0 : 1 + static_cast<std::uint32_t>(random.below(2));
  settings.part_bytes = 64U << random.below(5);
  // Down to one slice smaller than a part.
  settings.link_window_bytes = 64U << random.below(8);
  settings.total_window_bytes = settings.link_window_bytes << random.below(3);
  network.least_latency = random.between(1us, 100us);
  network.most_latency = network.least_latency + random.between(0us, 2ms);
  network.bytes_per_second = random.chance(0.3) ? 1e7 : 1e9;
  network.link_capacity_bytes = 512U << random.below(8);
  network.lend = random.chance(0.5);
  network.local = random.chance(0.5);
  most_in_flight = 2 + random.below(7);
  const std::uint64_t count = 1 + random.below(4);
  for (std::size_t i = 0; i < count; ++i) circles.push_back(circle_from(random, *this, i));
  std::vector<bool> founded(count);
  for (std::uint64_t left = 4 + random.below(30); left > 0; --left) {
    const std::size_t circle = random.below(count);
    if (!founded[circle]) items.push_back({.founds = true, .circle = circle});
    founded[circle] = true;
    items.push_back(call_from(random, *this, circle));
  }
  Random open(from * 0x9E3779B97F4A7C15ULL + 71);
  leave_open(open, *this);
  Random closing(from * 0x9E3779B97F4A7C15ULL + 113);
  close_early(closing, *this);
  Random links(from * 0x9E3779B97F4A7C15ULL + 157);
  if (links.chance(0.4)) settings.worker_links = 2 + static_cast<std::uint32_t>(links.below(3));
  go_wrong(random, *this);
  pauses = !odd && random.chance(0.5);
}

bool AmongPlan::concerns(std::size_t item, Rank rank) const {
  const Circle& circle = circles[items[item].circle];
  const std::uint32_t place = circle.place_of(rank);
  return place < circle.size() && items[item].concerns(place);
}

const AmongItem& AmongPlan::item_of(std::size_t item, Rank rank) const {
  return odd && odd->item == item && odd->rank == rank ? odd->instead : items[item];
}

std::size_t AmongPlan::begun_by_all() const {
  std::size_t all = 0;
  for (std::size_t item = 0; item < items.size(); ++item) {
    for (Rank rank = 0; rank < workers; ++rank) all += concerns(item, rank) ? 1 : 0;
  }
  return all;
}

bool AmongPlan::loses() const {
  return std::ranges::any_of(strikes, [](const Strike& each) { return is_loss(each.fault); });
}

std::string AmongPlan::describe() const {
  std::string text =
      fmt::format("seed {}: {} workers, {} servers, parts of {}, windows of {}, {} links{}", seed,
                  workers, servers, settings.part_bytes, settings.link_window_bytes,
                  settings.worker_links, network.local ? ", on one host" : "");
  for (const Strike& strike : strikes) {
    text += fmt::format("; {} once {} have begun and {:.3f} ms", name_of(strike.fault),
                        strike.begun, seconds(strike.after) * 1e3);
  }
  if (odd) text += fmt::format("; worker {} is odd in item {}", odd->rank, odd->item);
  if (leave) text += fmt::format("; worker {} leaves before item {}", leave->rank, leave->before);
  for (const Circle& circle : circles) {
    text += fmt::format("; {} {}{}", circle.spec.name, name_of(circle.spec.options.exchange),
                        circle.spec.options.deterministic ? ", deterministic" : "");
    const CloseOptions& close = circle.spec.options.close;
    if (circle.closes()) {
      text += fmt::format(" (quorum {}, late {}, backups {})", close.quorum,
                          stretto::name_of(close.late), close.backups);
    }
  }
  return text;
}

AmongSizes sizes_of(const AmongItem& item, const Circle& circle, std::uint32_t place) {
  const std::uint64_t one = item.call.elements;
  const std::uint64_t all = one * circle.size();
  const bool at_root = place == item.call.root;
  switch (item.call.kind) {
    case CallKind::kBarrier:
      return {};
    case CallKind::kAllReduce:
      return {.source = one, .target = one};
    case CallKind::kReduce:
      return {.source = one, .target = at_root ? one : 0};
    case CallKind::kBroadcast:
      return {.source = at_root ? one : 0, .target = one};
    case CallKind::kAllGather:
      return {.source = one, .target = all};
    case CallKind::kGather:
      return {.source = one, .target = at_root ? all : 0};
    case CallKind::kScatter:
      return {.source = at_root ? all : 0, .target = one};
    case CallKind::kReduceScatter:
      return {.source = all, .target = one};
    case CallKind::kSend:
      return {.source = at_root ? one : 0, .target = at_root ? 0 : one};
    case CallKind::kAllToAll:
      break;
  }
  AmongSizes sizes;
  // A size for each pair of members, possibly zero.
  const auto block = [&](std::uint64_t from, std::uint64_t to) {
    return item.unlike ? one * ((3 * from + 5 * to) % 4) / 2 : one;
  };
  for (std::uint32_t other = 0; other < circle.size(); ++other) {
    sizes.give.push_back(block(place, other));
    sizes.take.push_back(block(other, place));
    sizes.source += sizes.give.back();
    sizes.target += sizes.take.back();
  }
  return sizes;
}

}  // namespace stretto::sim
