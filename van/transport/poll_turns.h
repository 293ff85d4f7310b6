// SPDX-License-Identifier: Apache-2.0
// What transports share that poll many links.
#pragma once

#include "common/check.h"
#include "van/transport/transport.h"

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

/// Hands out LinkIds; none twice, but after 2^32. Thread: loop.
class LinkIds {
 public:
  LinkId next() { return ++last_; }
  /// One that is not 0 and not in use, however many have been handed out.
  template <typename Used>
  LinkId next_unused(Used used) {
    LinkId link = next();
    while (link == 0 || used(link)) link = next();
    return link;
  }

 private:
  LinkId last_ = 0;
};

/// What a link, or some, did in its turn.
struct Turn {
  int frames = 0;       ///< Messages read, good or bad.
  bool called = false;  ///< The sink was called.
  bool more = false;    ///< There may be more: give it another turn without waiting.
};

}  // namespace stretto
