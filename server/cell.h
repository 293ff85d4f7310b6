// SPDX-License-Identifier: Apache-2.0
// Cell: one part's state inside a shard: the open round's sum, the latest value, and who waits for
// one. A value is immutable once finished: the next round is summed in other memory, so a fast
// worker can never touch what a slow one has yet to receive. Sends nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/buffer.h"
#include "ops/feedback.h"
#include "ops/sum.h"
#include "ops/update.h"
#include "server/consistency.h"
#include "server/waiting_list.h"
#include "van/messages.h"

namespace stretto {

/// Thread: loop.
class Cell {
 public:
  /// One worker's contribution. `bytes` is empty for one that takes part without any: the receivers
  /// of a broadcast, and who sits out. In a mean it counts all the same.
  struct Share {
    Rank rank = 0;
    std::uint64_t round = 0;
    bool assign = false;
    bool absent = false;
    std::uint64_t root = 0;      ///< Of a broadcast: whose bytes it takes.
    Codec codec = Codec::kNone;  ///< What the bytes are encoded as.
    Buffer bytes;
  };
  /// Finished bytes at a version; the Buffer is a lease.
  struct Value {
    std::uint64_t version = 0;
    Buffer bytes;
    Codec codec = Codec::kNone;
    std::uint32_t contributors = 0;
  };
  using Waiter = stretto::Waiter;

  /// Where sums and values live: memory that the transport sends as it is.
  using Allocate = std::function<Buffer(std::size_t)>;

  /// `rule` takes gradients of dtype_of_sums(); it is null where values are the rounds' own sums or
  /// means. `part` is which of the tensor's this is: a codec's chance depends on it.
  Cell(const TensorSpec& spec, std::size_t bytes, std::uint32_t workers,
       std::unique_ptr<ops::UpdateRule> rule, Allocate allocate = Buffer::allocate,
       std::uint32_t part = 0);

  /// Applies a share: summed or kept when this returns ok, refused and without effect otherwise.
  /// What the answer to it waits for is `*gate`.
  Status contribute(Share share, Consistency::Gate* gate);
  void wait(const Waiter& waiter) { waiters_.add(waiter); }
  /// Those whose wait is over, in the order in which they came; they wait no longer.
  std::vector<Waiter> take_ready() { return waiters_.take_ready(consistency_); }
  /// Everybody who waits, ready or not.
  std::vector<Waiter> take_all() { return waiters_.take_all(); }

  /// What a round's shares are added up in: for a mean, wide enough for their sum.
  static Dtype dtype_of_sums(const TensorSpec& spec);

  /// Workers disagree on a round: it will never finish.
  void doom(const Status& why) { doomed_ = why; }
  const Status& doomed() const { return doomed_; }

  const Value& value() const { return value_; }
  bool has_rule() const { return rule_ != nullptr; }
  /// What the update rule remembers, which may be read and set between shares.
  std::vector<std::span<std::byte>> memory() {
    return rule_ == nullptr ? std::vector<std::span<std::byte>>() : rule_->memory();
  }
  Consistency& consistency() { return consistency_; }
  const Consistency& consistency() const { return consistency_; }
  const WaitingList& waiters() const { return waiters_; }

 private:
  Status check(const Share& share) const;
  Status check_root(const Share& share) const;
  void collect(Share share);
  Status check_encoding(const Share& share) const;
  void add(Share share);
  void add_widened(const Buffer& share);
  Buffer decoded(const Buffer& encoded) const;
  void add_in_rank_order();
  void finish(bool assign);
  Buffer mean_of(Buffer sum);
  void apply(const Buffer& gradient, double scale);
  void publish(Buffer sum);
  Buffer own_copy(const Buffer& bytes) const;
  std::span<std::byte> own_value();

  Dtype dtype_;
  Dtype dtype_of_sums_;
  std::size_t bytes_;
  std::uint32_t workers_;
  bool deterministic_;
  ops::Reduction reduction_;  // What is made of a round's shares,
  bool mean_;                 // and of their sum: divided by the workers.
  CodecSpec codec_;           // Of every share that is no broadcast,
  ops::PartEncoder encoder_;  // and of values that are a round's sum or mean.
  ops::PartRound encoded_;
  Consistency consistency_;
  std::unique_ptr<ops::UpdateRule> rule_;
  Allocate allocate_;
  Buffer sum_;               // Of the open collected round; empty before its first bytes.
  std::vector<Share> held_;  // Deterministic: shares that came before their turn, by rank.
  Rank turn_ = 0;            // Deterministic: whose share is to be added next.
  Rank caller_ = 0;          // Of the open broadcast: whoever came first, and
  std::optional<std::uint64_t> root_;  // whom it named.
  Status doomed_;
  Value value_;
  WaitingList waiters_;
};

}  // namespace stretto
