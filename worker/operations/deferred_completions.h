// SPDX-License-Identifier: Apache-2.0
// DeferredCompletions: operations that have ended while somebody still reads their callers' memory.
// Their tickets end when that is free.
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

  /// `deadline`: until when the operation may take, pauses of other workers included.
  void add(std::shared_ptr<Operation> operation, const Status& why, Time now, Time deadline);
  /// Takes those out whose memory nobody holds any more.
  std::vector<Ended> take_free(Time now);
  bool empty() const { return waiting_.empty(); }
  /// When to look again, at the latest; the end of the last lease wakes the loop.
  Time next_due() const { return empty() ? Time::max() : next_check_; }
  /// Memory has been held for so long that only closing links can free it. That of an operation
  /// that went well may be until its deadline, and a little longer.
  bool stuck(Time now) const;

 private:
  struct Waiting {
    Ended ended;
    Time since;  // It should be free.
  };
  std::vector<Waiting> waiting_;
  Time next_check_;
};

}  // namespace stretto
