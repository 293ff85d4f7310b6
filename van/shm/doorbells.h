// SPDX-License-Identifier: Apache-2.0
// Doorbells: when sleeping peers are woken for frames. A woken peer needs a processor; with fewer
// processors than processes it takes the sender's, which then stops after each frame. So the frames
// of one turn ring once, unless the turn sends much. Calls and answers ring immediately: user code
// runs between them, for any time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "van/shm/shared_rings.h"

namespace stretto::shm {

/// Thread: loop.
class Doorbells {
 public:
  /// Bytes of one turn after which waiting peers are woken.
  static constexpr std::size_t kMostBytes = 1 << 20;

  /// Doorbells are deferred during its lifetime, and rung at its end.
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

  /// Records that a frame with `bytes` bytes of payload has been published.
  void owe(const std::shared_ptr<Line>& line, wire::Kind kind, std::size_t bytes);

 private:
  void ring();

  std::vector<std::shared_ptr<Line>> owed_;  // Each line at most once.
  std::size_t bytes_ = 0;
  bool put_off_ = false;
};

}  // namespace stretto::shm
