// SPDX-License-Identifier: Apache-2.0
// DeferredCompletions: operations that have ended while their callers' memory is still read. Their
// tickets end when it is free.
#pragma once

#include <memory>
#include <vector>

#include "common/clock.h"
#include "stretto/status.h"
#include "worker/operations/operation.h"

namespace stretto {

/// Thread: loop.
class DeferredCompletions {
 public:
  struct Ended {
    std::shared_ptr<Operation> operation;
    Status why;
  };

  /// `deadline`: the operation's, extended by pauses of other workers.
  void add(std::shared_ptr<Operation> operation, const Status& why, Time now, Time deadline);
  /// Takes out the operations whose memory is free.
  std::vector<Ended> take_free(Time now);
  bool empty() const { return waiting_.empty(); }
  /// When to check again, at the latest; the end of the last lease wakes the loop.
  Time next_due() const { return empty() ? Time::max() : next_check_; }
  /// True if only closing links can free some memory, after a time limit. For a successful
  /// operation that begins at its deadline.
  bool stuck(Time now) const;

 private:
  struct Waiting {
    Ended ended;
    Time since;  // When it should have been free.
  };
  std::vector<Waiting> waiting_;
  Time next_check_;
};

}  // namespace stretto
