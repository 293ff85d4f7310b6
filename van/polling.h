// SPDX-License-Identifier: Apache-2.0
// That a transport polls: what must not be done meanwhile looks at it.
#pragma once

#include "common/check.h"

namespace stretto {

/// Sets `polling` as long as it lives, and so not beyond an exception that leaves the poll: where
/// memory runs out its loop goes on, to tell others. A poll in a poll is a bug. Thread: loop.
class Polling {
 public:
  explicit Polling(bool& polling) : polling_(polling) {
    STRETTO_CHECK(!polling_);
    polling_ = true;
  }
  ~Polling() { polling_ = false; }
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;

 private:
  bool& polling_;
};

}  // namespace stretto
