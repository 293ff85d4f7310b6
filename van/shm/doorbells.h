// SPDX-License-Identifier: Apache-2.0
// Doorbells: when far ends that sleep are woken for frames. Who is woken takes a processor: where
// there are fewer than processes it is the sender's own, which then stops after each frame. So what
// is sent in one turn rings once, unless the turn has much to send. Calls and answers ring at once:
// between them programs run, for as long as they like.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "van/shm/shared_rings.h"

namespace stretto::shm {

/// Thread: loop.
class Doorbells {
 public:
  /// Of what is sent in one turn no far end waits for more than this.
  static constexpr std::size_t kMostBytes = 1 << 20;

  /// While it lives bells are put off; when it ends they ring.
  class PutOff {
   public:
    explicit PutOff(Doorbells& bells) : bells_(bells) { bells_.put_off_ = true; }
    ~PutOff() {
      bells_.put_off_ = false;
      bells_.ring();
    }
    PutOff(const PutOff&) = delete;
    PutOff& operator=(const PutOff&) = delete;

   private:
    Doorbells& bells_;
  };

  /// A frame with so many bytes of payload has been published.
  void owe(const std::shared_ptr<Line>& line, wire::Kind kind, std::size_t bytes);

 private:
  void ring();

  std::vector<std::shared_ptr<Line>> owed_;  // Each once.
  std::size_t bytes_ = 0;
  bool put_off_ = false;
};

}  // namespace stretto::shm
