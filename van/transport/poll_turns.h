// SPDX-License-Identifier: Apache-2.0
// Shared parts of transports that poll many links.
#pragma once

#include "common/check.h"
#include "van/transport/transport.h"

namespace stretto {

/// Sets `polling` during its lifetime, so an exception clears it: after a failed allocation the
/// loop continues, to tell peers. A nested poll is a bug. Thread: loop.
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

/// Hands out LinkIds, unique until 2^32. Thread: loop.
class LinkIds {
 public:
  LinkId next() { return ++last_; }
  /// An id that is not 0 and not in use, even after a wrap-around.
  template <typename Used>
  LinkId next_unused(Used used) {
    LinkId link = next();
    while (link == 0 || used(link)) link = next();
    return link;
  }

 private:
  LinkId last_ = 0;
};

/// The result of a turn of one or several links.
struct Turn {
  int frames = 0;       ///< Messages read, good or bad.
  bool called = false;  ///< The sink was called.
  bool more = false;    ///< There may be more: call again without waiting.
};

}  // namespace stretto
