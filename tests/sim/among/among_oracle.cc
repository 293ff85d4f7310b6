// SPDX-License-Identifier: Apache-2.0
// Every element of every member in every call has a distinct value.
#include "tests/sim/among/among_oracle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ops/half.h"
#include "worker/operations/host_part.h"

namespace stretto::sim {
namespace {

constexpr std::uint32_t kBitsOfCount = 6;  // A sum has at most four contributions of a worker.
constexpr std::uint32_t kMostOfOne = 4;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = (a + 0x9E3779B97F4A7C15ULL) ^ (b * 0xBF58476D1CE4E5B9ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

template <typename T>
void store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(T));
}
template <typename T>
T loaded(const std::byte* from) {
  T value{};
  std::memcpy(&value, from, sizeof(T));
  return value;
}

void put_element(Dtype dtype, double number, std::byte* to) {
  const auto narrow = static_cast<float>(number);
  switch (dtype) {
    case Dtype::kF32:
      return store(narrow, to);
    case Dtype::kF64:
      return store(number, to);
    case Dtype::kF16:
      return store(ops::narrow_to_half(narrow), to);
    case Dtype::kBf16:
      return store(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(narrow) >> 16), to);
    case Dtype::kI8:
      return store(static_cast<std::int8_t>(number), to);
    case Dtype::kU8:
      return store(static_cast<std::uint8_t>(number), to);
    case Dtype::kI32:
      return store(static_cast<std::int32_t>(number), to);
    case Dtype::kI64:
      return store(static_cast<std::int64_t>(number), to);
  }
}

double element_at(Dtype dtype, const std::byte* from) {
  switch (dtype) {
    case Dtype::kF32:
      return loaded<float>(from);
    case Dtype::kF64:
      return loaded<double>(from);
    case Dtype::kF16:
      return ops::widen_half(loaded<std::uint16_t>(from));
    case Dtype::kBf16:
      return std::bit_cast<float>(std::uint32_t{loaded<std::uint16_t>(from)} << 16);
    case Dtype::kI8:
      return loaded<std::int8_t>(from);
    case Dtype::kU8:
      return loaded<std::uint8_t>(from);
    case Dtype::kI32:
      return loaded<std::int32_t>(from);
    case Dtype::kI64:
      return static_cast<double>(loaded<std::int64_t>(from));
  }
  return 0;
}

double reduce(ReduceOp op, double a, double b) {
  const auto bits = [](double number) { return static_cast<std::uint64_t>(number); };
  switch (op) {
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kProduct:
      return a * b;
    case ReduceOp::kAnd:
      return static_cast<double>(bits(a) & bits(b));
    case ReduceOp::kOr:
      return static_cast<double>(bits(a) | bits(b));
    case ReduceOp::kXor:
      return static_cast<double>(bits(a) ^ bits(b));
    default:
      return a + b;
  }
}

}  // namespace

bool AmongOracle::is_inexact(std::size_t item) const {
  const AmongItem& what = plan_.items[item];
  return circle_of(item).spec.options.deterministic && reduces(what.call.kind) &&
         what.call.dtype == Dtype::kF32 && what.call.op == ReduceOp::kSum;
}

// Integers of which six can be reduced without rounding, or arbitrary values.
double AmongOracle::number(std::size_t item, std::uint32_t giver, std::uint64_t element) const {
  const Circle& circle = circle_of(item);
  if (circle.closes()) return std::exp2(kBitsOfCount * (giver % shares(circle)));
  const std::uint64_t drawn = mixed(mixed(plan_.seed, item), mixed(giver, element));
  if (is_inexact(item)) {
    constexpr float kScales[] = {1e-3F, 0.1F, 1.0F, 37.0F, 1e4F};
    return static_cast<float>(1 + drawn % 1000) * kScales[drawn / 1000 % 5] / 7.0F;
  }
  switch (plan_.items[item].call.op) {
    case ReduceOp::kSum:
      return static_cast<double>(drawn % 10);
    case ReduceOp::kProduct:
      return static_cast<double>(1 + drawn % 3);
    case ReduceOp::kAverage:
      return static_cast<double>(60 * (drawn % 10));  // Divisible by every count up to six.
    default:
      return static_cast<double>(drawn % 100);
  }
}

std::vector<std::byte> AmongOracle::source(std::size_t item, Rank rank) const {
  const AmongItem& what = plan_.item_of(item, rank);
  const Circle& circle = circle_of(item);
  const std::uint32_t place = circle.place_of(rank);
  const std::size_t width = bytes_of(what.call.dtype);
  const std::uint64_t count = sizes_of(what, circle, place).source;
  std::vector<std::byte> bytes(count * width);
  for (std::uint64_t element = 0; element < count; ++element) {
    put_element(what.call.dtype, number(item, place, element), bytes.data() + element * width);
  }
  return bytes;
}

double AmongOracle::reduced(std::size_t item, std::uint64_t element) const {
  const ReduceOp op = plan_.items[item].call.op;
  const std::uint32_t members = circle_of(item).size();
  double value = number(item, 0, element);
  for (std::uint32_t giver = 1; giver < members; ++giver) {
    value = reduce(op, value, number(item, giver, element));
  }
  return op == ReduceOp::kAverage ? value / members : value;
}

double AmongOracle::wanted(std::size_t item, std::uint32_t place, std::uint64_t element) const {
  const AmongItem& what = plan_.items[item];
  const Circle& circle = circle_of(item);
  const std::uint64_t one = what.call.elements;
  switch (what.call.kind) {
    case CallKind::kAllReduce:
    case CallKind::kReduce:
      return reduced(item, element);
    case CallKind::kReduceScatter:
      return reduced(item, place * one + element);
    case CallKind::kAllGather:
    case CallKind::kGather:
      return number(item, static_cast<std::uint32_t>(element / one), element % one);
    case CallKind::kScatter:
      return number(item, what.call.root, place * one + element);
    case CallKind::kAllToAll: {
      const AmongSizes own = sizes_of(what, circle, place);
      std::uint32_t giver = 0;
      while (element >= own.take[giver]) element -= own.take[giver++];
      const AmongSizes theirs = sizes_of(what, circle, giver);
      return number(item, giver,
                    std::accumulate(theirs.give.begin(), theirs.give.begin() + place, element));
    }
    default:  // A single member's value.
      return number(item, what.call.root, element);
  }
}

std::vector<std::uint32_t> AmongOracle::counts(std::size_t item, std::span<const std::byte> value,
                                               std::uint64_t element) const {
  const Dtype dtype = plan_.items[item].call.dtype;
  auto left =
      static_cast<std::uint64_t>(element_at(dtype, value.data() + element * bytes_of(dtype)));
  std::vector<std::uint32_t> found;
  for (std::uint32_t giver = 0; giver < shares(circle_of(item)); ++giver) {
    found.push_back(static_cast<std::uint32_t>(left % (1U << kBitsOfCount)));
    left >>= kBitsOfCount;
  }
  if (left != 0) found.clear();
  return found;
}

// Enough members contributed, none more often than its limit.
std::string AmongOracle::complaint_of_counts(std::size_t item,
                                             std::span<const std::byte> got) const {
  const CloseOptions& close = circle_of(item).spec.options.close;
  const bool late_counts = close.backups == 0 && close.late != Late::kDrop;
  for (std::uint64_t element = 0; element < got.size() / sizeof(double); ++element) {
    const std::vector<std::uint32_t> found = counts(item, got, element);
    const auto in = static_cast<std::uint32_t>(
        std::ranges::count_if(found, [](std::uint32_t count) { return count > 0; }));
    const std::uint32_t least = close.backups > 0 ? shares(circle_of(item)) : close.quorum;
    const bool fits = std::ranges::all_of(found, [late_counts](std::uint32_t count) {
      return count <= (late_counts ? kMostOfOne : 1);
    });
    if (!found.empty() && in >= least && fits) continue;
    return fmt::format("element {} of {} has [{}], wanted {} or more of {}", element,
                       got.size() / sizeof(double), fmt::join(found, ", "), least,
                       shares(circle_of(item)));
  }
  return {};
}

std::string AmongOracle::complaint(std::size_t item, Rank rank,
                                   std::span<const std::byte> got) const {
  if (circle_of(item).closes()) return complaint_of_counts(item, got);
  const AmongItem& what = plan_.items[item];
  const std::uint32_t place = circle_of(item).place_of(rank);
  const std::size_t width = bytes_of(what.call.dtype);
  for (std::uint64_t element = 0; element < got.size() / width; ++element) {
    const double found = element_at(what.call.dtype, got.data() + element * width);
    const double right = wanted(item, place, element);
    const double most_off = is_inexact(item) ? std::abs(right) * 1e-5 : 0;
    if (std::abs(found - right) <= most_off) continue;
    return fmt::format("element {} of {} is {}, wanted {}", element, got.size() / width, found,
                       right);
  }
  return {};
}

// ---- bytes

// All trees' roots own equal parts.
bool AmongOracle::has_equal_parts(std::size_t item) const {
  const AmongItem& what = plan_.items[item];
  const Circle& circle = circle_of(item);
  const Exchange exchange = circle.spec.options.exchange;
  if (what.call.bytes() % (std::uint64_t{plan_.settings.part_bytes} * circle.size()) != 0) {
    return false;
  }
  const bool even = exchange == Exchange::kDirect || exchange == Exchange::kRing;
  return even || (exchange == Exchange::kHalving && std::has_single_bit(circle.size()));
}

std::optional<AmongTraffic> AmongOracle::traffic(std::size_t item, std::uint32_t place) const {
  const AmongItem& what = plan_.items[item];
  const std::uint64_t one = what.call.bytes();
  const std::uint64_t others = (circle_of(item).size() - 1) * one;
  const bool at_root = place == what.call.root;
  switch (what.call.kind) {
    case CallKind::kAllReduce: {
      if (!has_equal_parts(item)) return {};
      const std::uint64_t both = 2 * others / circle_of(item).size();
      return AmongTraffic{both, both};
    }
    case CallKind::kBroadcast:
      return {};
    case CallKind::kAllGather:
    case CallKind::kReduceScatter:
      return AmongTraffic{others, others};
    case CallKind::kReduce:
    case CallKind::kGather:
      return at_root ? AmongTraffic{0, others} : AmongTraffic{one, 0};
    case CallKind::kScatter:
      return at_root ? AmongTraffic{others, 0} : AmongTraffic{0, one};
    case CallKind::kSend:
      return at_root ? AmongTraffic{one, 0} : AmongTraffic{0, one};
    case CallKind::kAllToAll: {
      const AmongSizes sizes = sizes_of(what, circle_of(item), place);
      return AmongTraffic{sizes.source - sizes.give[place], sizes.target - sizes.take[place]};
    }
    case CallKind::kBarrier:
      break;
  }
  return AmongTraffic{};
}

// A tree over all members has one edge fewer than members. Each edge carries every byte up, down,
// or both.
std::pair<std::uint64_t, std::uint64_t> AmongOracle::traffic_of_all(std::size_t item) const {
  const AmongItem& what = plan_.items[item];
  const std::uint64_t once = (circle_of(item).size() - 1) * what.call.bytes();
  if (what.call.kind == CallKind::kAllReduce) return {2 * once, 2 * once};
  if (what.call.kind != CallKind::kBroadcast) return {0, UINT64_MAX};
  const bool direct = circle_of(item).spec.options.exchange == Exchange::kDirect;
  if (!direct) return {once, 2 * once};
  std::vector<std::uint32_t> machines;
  for (const Rank rank : circle_of(item).ranks) machines.push_back(rank % plan_.machines);
  if (goes_to_all(machines, what.call.bytes())) return {once, once};  // Sent directly by the root.
  if (!has_equal_parts(item)) return {once, once + what.call.bytes()};
  const std::uint64_t to_roots = once / circle_of(item).size();
  return {once + to_roots, once + to_roots};
}

}  // namespace stretto::sim
