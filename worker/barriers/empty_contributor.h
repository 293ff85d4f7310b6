// SPDX-License-Identifier: Apache-2.0
// EmptyContributor: takes part, with nothing, in the rounds that others open while this worker's
// program sits out, so that they need not wait for it. Shards say which rounds lack its share;
// tensors that it never declared it learns of in that way.
#pragma once

#include <functional>

#include "van/control/control.h"
#include "worker/exchange/exchange_dispatcher.h"

namespace stretto {

/// Thread: loop.
class EmptyContributor {
 public:
  using Declared = std::function<void(const Result<Tensor>&)>;
  struct Ways {
    /// Makes a tensor known, and tells of it when that is done.
    std::function<void(const TensorSpec&, Declared)> declare;
    /// Tells every shard.
    std::function<void(const control::SitOut&)> tell;
  };

  /// The tensors and the exchange outlive this, and this all calls of what `declare` was given.
  EmptyContributor(const Tensors& tensors, ExchangeDispatcher& exchange, Ways ways)
      : tensors_(tensors), exchange_(exchange), ways_(std::move(ways)) {}

  /// From now on, until the barrier of this number (from 1) is open, the program makes no shares.
  void begin(std::uint64_t number);
  /// A shard has come that has not been told.
  void tell_again() const {
    if (sitting()) {
      ways_.tell({.number = number_});
    } else if (over_ > 0) {
      ways_.tell({.number = over_, .over = true});
    }
  }
  /// It is open: nobody sits out any more. Before the next share of ours, which opens a round that
  /// wants no empty ones.
  void end();
  /// It will not open: this program makes shares again.
  void give_up();

  bool sitting() const { return number_ > 0; }
  /// Why the program may begin nothing now, or ok.
  Status refusal() const;
  /// No round is open that this worker has a share in.
  bool at_rest() const;

  /// What a shard wants. Nothing happens if the program makes shares, or has begun to make that
  /// one.
  void on_wanted(const control::Wanted& wanted);

 private:
  void attend(const Tensor& tensor, std::uint32_t part, std::uint64_t round);

  const Tensors& tensors_;
  ExchangeDispatcher& exchange_;
  Ways ways_;
  std::uint64_t number_ = 0;  // Of the barrier; 0: the program makes shares.
  std::uint64_t over_ = 0;    // The last that has opened.
};

}  // namespace stretto
