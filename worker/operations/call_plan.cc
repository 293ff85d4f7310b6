// SPDX-License-Identifier: Apache-2.0
// Calls as blocks, blocks as parts, each with its tree.
#include "worker/operations/call_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "ops/sum.h"
#include "van/wire/frame_views.h"

namespace stretto {
namespace {

using collective::kNobody;
using collective::Place;
using collective::Tree;

// The overhead of smaller parts exceeds the gain from more roots.
constexpr std::uint64_t kLeastPartBytes = 4096;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;

Tree made(Result<Tree> tree) {
  STRETTO_CHECK(tree.ok());
  return *std::move(tree);
}

bool has_root(CallKind kind) {
  return kind == CallKind::kReduce || kind == CallKind::kBroadcast || kind == CallKind::kGather ||
         kind == CallKind::kScatter;
}

Status invalid(std::string cause) { return {Code::kInvalidArgument, std::move(cause)}; }

std::uint64_t sum_of(const std::vector<std::uint64_t>& all) {
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

struct Sizes {
  std::uint64_t source;
  std::uint64_t target;
};

// In elements.
Sizes sizes_of(const GroupCallArgs& call, std::uint32_t members, Place self) {
  const std::uint64_t one = call.call.elements;
  const std::uint64_t all = one * members;
  const bool at_root = call.call.root == self;
  switch (call.call.kind) {
    case CallKind::kBarrier:
      return {0, 0};
    case CallKind::kAllReduce:
      return {one, one};
    case CallKind::kReduce:
      return {one, at_root ? one : 0};
    case CallKind::kBroadcast:
      return {at_root ? one : 0, one};
    case CallKind::kAllGather:
      return {one, all};
    case CallKind::kGather:
      return {one, at_root ? all : 0};
    case CallKind::kScatter:
      return {at_root ? all : 0, one};
    case CallKind::kReduceScatter:
      return {all, one};
    case CallKind::kAllToAll:
      return {call.give.empty() ? all : sum_of(call.give),
              call.take.empty() ? all : sum_of(call.take)};
    case CallKind::kSend:
      return {at_root ? one : 0, at_root ? 0 : one};
  }
  return {0, 0};
}

Status check_reduction(const GroupCall& call) {
  if (!reduces(call.kind)) return {};
  if (!ops::is_defined(call.op, call.dtype)) {
    return invalid(fmt::format("{} of {} is not defined; bits are of integers", name_of(call.op),
                               name_of(call.dtype)));
  }
  const bool wide =
      call.dtype == Dtype::kF32 || call.dtype == Dtype::kF64 || call.dtype == Dtype::kI64;
  if (call.op != ReduceOp::kAverage || wide) return {};
  return invalid(fmt::format(
      "an average is of f32, f64 or i64, this is {}, which may not hold the sum; divide yourself",
      name_of(call.dtype)));
}

// Blocks other than the member's own would be written before they have been sent, or read after
// others have arrived.
Status check_overlap(const GroupCallArgs& call, Place self) {
  const std::span<const std::byte> source = call.source;
  const std::span<const std::byte> target = call.target;
  const std::less<> before;  // Of any two pointers.
  const bool apart = source.empty() || target.empty() ||
                     !before(source.data(), target.data() + target.size()) ||
                     !before(target.data(), source.data() + source.size());
  if (apart) return {};
  if (call.call.kind == CallKind::kAllToAll) {
    return invalid("the source overlaps the target: blocks would come while others go");
  }
  const auto& [whole, block] =
      source.size() < target.size() ? std::pair(target, source) : std::pair(source, target);
  const std::size_t at = whole.size() == block.size() ? 0 : self * block.size();
  if (block.data() == whole.data() + at) return {};
  return invalid(fmt::format(
      "the source overlaps the target; they may be the same memory, or one the block {} of the "
      "other, which is this member's",
      self));
}

/// The parts of one member's plan, block by block.
class CallPlanner {
 public:
  CallPlanner(const GroupCallArgs& call, const GroupTrees& trees, Place self,
              std::uint32_t part_bytes)
      : call_(call), trees_(trees), self_(self), part_bytes_(part_bytes) {}

  /// Adds a block whose parts all use this tree.
  void add(Place block, const Tree& tree, std::span<const std::byte> source,
           std::span<std::byte> target) {
    cut(std::max(source.size(), target.size()), part_bytes_,
        [&](std::size_t index, std::size_t from, std::size_t bytes) {
          push(block, index, tree, kNobody, piece(source, from, bytes), piece(target, from, bytes));
        });
  }
  /// Adds a block whose parts are dealt to the strategy's trees.
  void deal(std::span<const std::byte> source, std::span<std::byte> target) {
    if (trees_.go_to_all(target.size())) return give_to_all(source, target);
    const collective::Strategy& strategy = trees_.strategy();
    const std::uint64_t lines = 64 * strategy.classes().size();
    const std::uint64_t equal = (target.size() + lines - 1) / lines * 64;
    const std::uint64_t bytes_of_part =
        std::min<std::uint64_t>(part_bytes_, std::max(kLeastPartBytes, equal));
    too_many_ = target.size() / bytes_of_part >> wire::GroupFrame::kPartBits != 0;
    if (too_many_) return;
    const std::vector<std::uint16_t> dealt =
        strategy.deal((target.size() + bytes_of_part - 1) / bytes_of_part);
    // With a tree of each class every member is a leaf somewhere, and its call becomes known. With
    // few parts a parent may wait for its children, and these in another tree for the parent.
    meets_ = dealt.size() >= strategy.classes().size() ||
             (!dealt.empty() && is_star_of_first(strategy.classes()[dealt.front()].tree));
    cut(target.size(), bytes_of_part, [&](std::size_t index, std::size_t from, std::size_t bytes) {
      push(0, index, strategy.classes()[dealt[index]].tree, kNobody, piece(source, from, bytes),
           piece(target, from, bytes));
    });
  }
  /// Adds a block whose value each member makes for its own use.
  void give_to_all(std::span<const std::byte> source, std::span<std::byte> target) {
    add(0, trees_.star(self_), source, target);
    for (PlannedPart& part : plan_.parts) {
      part.to_all = true;
      part.values_travel = false;
    }
  }
  /// Adds a block from one member to another; from this one to itself it is a copy.
  void pair(Place from, Place to, std::span<const std::byte> source, std::span<std::byte> target) {
    if (from == to) {
      if (!source.empty()) plan_.copies.push_back({source, target});
      return;
    }
    const std::size_t bytes = std::max(source.size(), target.size());
    GroupCall of_pair = call_.call;
    if (of_pair.kind == CallKind::kAllToAll) of_pair.elements = bytes / bytes_of(of_pair.dtype);
    call_bits_ = of_pair.packed();
    const Tree tree = trees_.pair(from, to);
    cut(std::max<std::size_t>(bytes, 1), part_bytes_,
        [&](std::size_t index, std::size_t begin, std::size_t) {
          const std::size_t length = std::min<std::size_t>(part_bytes_, bytes - begin);
          push(from, index, tree, from == self_ ? to : from, piece(source, begin, length),
               piece(target, begin, length));
          plan_.parts.back().contributes = from == self_;
        });
  }

  Result<CallPlan> finish() {
    const CallKind kind = call_.call.kind;
    const bool by_pairs = kind == CallKind::kAllToAll || kind == CallKind::kSend;
    const bool one_root =
        kind == CallKind::kReduce || kind == CallKind::kGather || kind == CallKind::kScatter;
    if (one_root || !meets_ || (plan_.parts.empty() && !by_pairs)) agree();
    if (too_many_) {
      return Status(Code::kInvalidArgument,
                    fmt::format("{} is more than 2^{} parts of {} bytes; divide it, or raise "
                                "STRETTO_PART_BYTES",
                                call_.call.describe(), wire::GroupFrame::kPartBits, part_bytes_));
    }
    std::ranges::sort(plan_.parts, [](const PlannedPart& a, const PlannedPart& b) {
      return std::pair(a.key, a.peer) < std::pair(b.key, b.peer);
    });
    return std::move(plan_);
  }

 private:
  // The first member and all others learn each other's calls. Otherwise members that disagree might
  // wait for one another's parts.
  void agree() { push(kMostGroupPlaces, 0, trees_.star(0), kNobody, {}, {}); }
  bool is_star_of_first(const Tree& tree) const {
    return tree.node(0).children.size() + 1 == trees_.members();
  }
  template <typename Byte>
  static std::span<Byte> piece(std::span<Byte> whole, std::size_t from, std::size_t bytes) {
    return whole.empty() ? whole : whole.subspan(from, bytes);
  }
  template <typename Then>
  void cut(std::size_t bytes, std::uint64_t part, Then then) {
    too_many_ = too_many_ || (bytes / part) >> wire::GroupFrame::kPartBits != 0;
    if (too_many_) return;
    for (std::size_t from = 0, index = 0; from < bytes; from += part, ++index) {
      then(index, from, std::min<std::size_t>(part, bytes - from));
    }
  }
  void push(Place block, std::size_t index, const Tree& tree, Place peer,
            std::span<const std::byte> source, std::span<std::byte> target) {
    const CallKind kind = call_.call.kind;
    plan_.parts.push_back(
        {.key = wire::GroupFrame::key_part(block, static_cast<std::uint32_t>(index)),
         .peer = peer,
         .node = tree.node(self_),
         .source = source,
         .target = target,
         .contributes = !source.empty(),
         .values_travel = kind != CallKind::kBarrier && kind != CallKind::kReduce &&
                          kind != CallKind::kReduceScatter,
         .op = reduces(kind) ? call_.call.op : ReduceOp::kSum,
         .call = call_bits_});
  }

  const GroupCallArgs& call_;
  const GroupTrees& trees_;
  const Place self_;
  const std::uint32_t part_bytes_;
  std::uint64_t call_bits_ = call_.call.packed();
  CallPlan plan_;
  bool too_many_ = false;
  bool meets_ = true;  // The parts reveal every disagreement between members.
};

/// One member's block of memory that has a block for each member.
template <typename Byte>
std::span<Byte> block_of(std::span<Byte> all, Place at, std::size_t bytes) {
  return all.subspan(at * bytes, bytes);
}

}  // namespace

// ---- trees

GroupTrees::GroupTrees(collective::Strategy strategy, std::vector<std::uint32_t> machines)
    : strategy_(std::move(strategy)), machines_(std::move(machines)) {
  for (Place root = 0; root < members(); ++root) {
    stars_.push_back(made(Tree::of(std::vector<Place>(members(), root))));
  }
}

Tree GroupTrees::pair(Place from, Place to) const {
  std::vector<Place> parents(members(), kNobody);
  parents[from] = from;
  parents[to] = from;
  return made(Tree::of(std::move(parents)));
}

// ---- calls

Status check(const GroupCallArgs& call, std::uint32_t members, Place self) {
  const GroupCall& what = call.call;
  if (bytes_of(what.dtype) == 0) return invalid("the type of the elements is not known");
  if (has_root(what.kind) && what.root >= members) {
    return invalid(
        fmt::format("root {} of {} members; they are 0 to {}", what.root, members, members - 1));
  }
  const bool two = call.peer < members && what.root < members && call.peer != what.root;
  if (what.kind == CallKind::kSend && !two) {
    return invalid(fmt::format("from member {} to {}; wanted two different ones of 0 to {}",
                               what.root, call.peer, members - 1));
  }
  const bool unlike = !call.give.empty() || !call.take.empty();
  if (unlike && (call.give.size() != members || call.take.size() != members)) {
    return invalid(
        fmt::format("sizes of {} and {} blocks are given, wanted one for each of {} "
                    "members",
                    call.give.size(), call.take.size(), members));
  }
  const auto too_many = [](std::uint64_t elements) { return elements >= kMostElements; };
  if (too_many(what.elements) || std::ranges::any_of(call.give, too_many) ||
      std::ranges::any_of(call.take, too_many)) {
    return invalid("2^40 elements or more");
  }
  const Sizes wanted = sizes_of(call, members, self);
  const std::size_t element = bytes_of(what.dtype);
  if (call.source.size() != wanted.source * element) {
    return invalid(fmt::format("the source has {} bytes, wanted {} elements of {}",
                               call.source.size(), wanted.source, name_of(what.dtype)));
  }
  if (call.target.size() != wanted.target * element) {
    return invalid(fmt::format("the target has {} bytes, wanted {} elements of {}",
                               call.target.size(), wanted.target, name_of(what.dtype)));
  }
  if (unlike && call.give[self] != call.take[self]) {
    return invalid(fmt::format("{} elements are given to oneself, and {} taken", call.give[self],
                               call.take[self]));
  }
  if (Status status = members > 1 ? check_overlap(call, self) : Status(); !status.ok()) {
    return status;
  }
  return check_reduction(what);
}

Result<CallPlan> plan_of(const GroupCallArgs& call, const GroupTrees& trees, Place self,
                         std::uint32_t part_bytes) {
  CallPlanner planner(call, trees, self, part_bytes);
  const std::uint32_t members = trees.members();
  const Place root = call.call.root;
  const std::size_t bytes = call.call.bytes();
  const std::size_t element = bytes_of(call.call.dtype);
  switch (call.call.kind) {
    case CallKind::kBarrier:
      break;
    case CallKind::kAllReduce:
    case CallKind::kBroadcast:
      planner.deal(call.source, call.target);
      break;
    case CallKind::kReduce:
      planner.add(0, trees.star(root), call.source, call.target);
      break;
    case CallKind::kAllGather:
      for (Place at = 0; at < members; ++at) {
        const bool own = at == self;
        planner.add(at, trees.star(at), own ? call.source : std::span<const std::byte>(),
                    block_of(call.target, at, bytes));
      }
      break;
    case CallKind::kReduceScatter:
      for (Place at = 0; at < members; ++at) {
        planner.add(at, trees.star(at), block_of(call.source, at, bytes),
                    at == self ? call.target : std::span<std::byte>());
      }
      break;
    case CallKind::kGather:
      for (Place at = 0; at < members && self == root; ++at) {
        planner.pair(at, root, at == self ? call.source : std::span<const std::byte>(),
                     block_of(call.target, at, bytes));
      }
      if (self != root) planner.pair(self, root, call.source, {});
      break;
    case CallKind::kScatter:
      for (Place at = 0; at < members && self == root; ++at) {
        planner.pair(root, at, block_of(call.source, at, bytes),
                     at == self ? call.target : std::span<std::byte>());
      }
      if (self != root) planner.pair(root, self, {}, call.target);
      break;
    case CallKind::kAllToAll: {
      std::size_t given = 0;
      std::size_t taken = 0;
      for (Place at = 0; at < members; ++at) {
        const std::size_t give = call.give.empty() ? bytes : call.give[at] * element;
        const std::size_t take = call.take.empty() ? bytes : call.take[at] * element;
        const std::span<const std::byte> out = call.source.subspan(given, give);
        const std::span<std::byte> in = call.target.subspan(taken, take);
        if (at == self) {
          planner.pair(self, self, out, in);
        } else {
          planner.pair(self, at, out, {});
          planner.pair(at, self, {}, in);
        }
        given += give;
        taken += take;
      }
      break;
    }
    case CallKind::kSend:
      planner.pair(root, call.peer, call.source, call.target);
      break;
  }
  return planner.finish();
}

}  // namespace stretto
