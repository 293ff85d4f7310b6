// SPDX-License-Identifier: Apache-2.0
// EmptyContributor: contributes empty to the rounds that other workers open while this worker's
// program sits out, so that they need not wait for it. Shards request the missing contributions,
// also of tensors that this worker never declared.
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
    /// Declares a tensor, and calls back when that is done.
    std::function<void(const TensorSpec&, Declared)> declare;
    /// Sends to every shard.
    std::function<void(const control::SitOut&)> tell;
  };

  /// The tensors and the exchange outlive this; this outlives all callbacks given to `declare`.
  EmptyContributor(const Tensors& tensors, ExchangeDispatcher& exchange, Ways ways)
      : tensors_(tensors), exchange_(exchange), ways_(std::move(ways)) {}

  /// Pauses the program's contributions until the barrier of this number (from 1) is open.
  void begin(std::uint64_t number);
  /// Tells a new shard.
  void tell_again() const {
    if (sitting()) {
      ways_.tell({.number = number_});
    } else if (over_ > 0) {
      ways_.tell({.number = over_, .over = true});
    }
  }
  /// The barrier is open: no worker sits out any more. Call before the next contribution of this
  /// worker, which opens a round without empty ones.
  void end();
  /// The barrier will not open: the program contributes again.
  void give_up();

  bool sitting() const { return number_ > 0; }
  /// Why the program may begin no operation now, or ok.
  Status refusal() const;
  /// True if no open round has a contribution of this worker.
  bool at_rest() const;

  /// A shard requests a contribution. No effect if the program contributes, or has begun this
  /// contribution.
  void on_wanted(const control::Wanted& wanted);

 private:
  void attend(const Tensor& tensor, std::uint32_t part, std::uint64_t round);

  const Tensors& tensors_;
  ExchangeDispatcher& exchange_;
  Ways ways_;
  std::uint64_t number_ = 0;  // Of the barrier; 0: the program contributes.
  std::uint64_t over_ = 0;    // The last opened barrier.
};

}  // namespace stretto
