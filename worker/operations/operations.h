// SPDX-License-Identifier: Apache-2.0
// OperationTable: those of this worker that are in flight, by age and so by deadline, and how they
// end. A ticket ends once, when nobody reads the caller's memory any more.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "observe/trace/trace.h"
#include "worker/operations/deferred_completions.h"
#include "worker/operations/patience.h"
#include "worker/operations/tensor_table.h"

namespace stretto {

/// Thread: loop.
class OperationTable {
 public:
  /// Each may take so long. The tensors, whose names errors say, outlive this.
  OperationTable(const Clock& clock, Duration timeout, const Tensors& tensors)
      : clock_(clock), patience_(timeout), tensors_(tensors) {}

  /// Operations are noted there. It outlives this.
  void set_tracer(Tracer* tracer) { tracer_ = tracer; }
  /// What other workers wait in, in words: said by timeouts.
  void set_elsewhere(const std::string& words) { elsewhere_ = words; }
  /// The error, and if it is a timeout what other workers wait in.
  Status with_elsewhere(const Status& why) const;

  /// Gives it a number and a deadline; it may be refused yet.
  void admit(Operation& operation);
  /// It is in flight.
  void begin(const OperationPtr& operation);
  /// Its ticket ends: now, or when its memory is free.
  void end(const OperationPtr& operation, const Status& status);
  /// Ends the tickets of those that waited for their memory, and have it.
  void end_free();

  /// Those in flight; of one tensor.
  std::vector<OperationPtr> all() const { return {in_flight_.begin(), in_flight_.end()}; }
  std::vector<OperationPtr> of_tensor(std::uint32_t id) const;
  std::size_t count() const { return in_flight_.size(); }
  /// True if none is in flight or waits for its memory.
  bool idle() const { return in_flight_.empty() && lingering_.empty(); }
  /// An ended operation's memory has been held for so long that only closing links can free it.
  bool stuck() const { return lingering_.stuck(clock_.now()); }

  /// One that is past its deadline, or null.
  const Operation* late(Time now) const;
  Patience& patience() { return patience_; }
  /// When to look for that, or for memory.
  Time next_due() const;
  /// The operation that was begun first, if that was before `before`; else null.
  const Operation* oldest(Time before) const;
  Time begun_at(const Operation& operation) const { return operation.deadline - patience_.lasts(); }
  /// "push_pull 'x'".
  std::string describe(const Operation& operation) const { return describe(trait_of(operation)); }
  /// The last one that was begun, and the last one that ended; empty if none was.
  std::string last_begun() const { return describe(last_begun_); }
  std::string last_ended() const { return describe(last_ended_); }

 private:
  void tell(const OperationPtr& operation, const Status& status);
  struct Label {
    std::uint32_t tensor = 0;
    std::string_view name;
  };
  static Label trait_of(const Operation& operation) {
    return {.tensor = operation.tensor.id, .name = name_of(operation)};
  }
  std::string describe(Label trait) const;
  void note_end(const Operation& operation) const;

  const Clock& clock_;
  Patience patience_;
  const Tensors& tensors_;
  Tracer* tracer_ = nullptr;
  OperationList in_flight_;  // By age, so by deadline.
  DeferredCompletions lingering_;
  std::uint64_t last_id_ = 0;
  Label last_begun_;
  Label last_ended_;
  std::string elsewhere_;
};

}  // namespace stretto
