// SPDX-License-Identifier: Apache-2.0
// OperationTable: this worker's operations in flight, by age and so by deadline, and how they end.
// A ticket ends once, when its caller's memory is not read any more.
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
  /// An operation may take `timeout`. The tensors, whose names errors contain, outlive this.
  OperationTable(const Clock& clock, Duration timeout, const Tensors& tensors)
      : clock_(clock), patience_(timeout), tensors_(tensors) {}

  /// Traces operations there. It outlives this.
  void set_tracer(Tracer* tracer) { tracer_ = tracer; }
  /// What other workers wait in, in words, for timeout errors.
  void set_elsewhere(const std::string& words) { elsewhere_ = words; }
  /// The error; a timeout with what other workers wait in.
  Status with_elsewhere(const Status& why) const;

  /// Assigns an id and a deadline; the operation may still be refused.
  void admit(Operation& operation);
  /// The operation is in flight from now on.
  void begin(const OperationPtr& operation);
  /// Ends its ticket: now, or when its memory is free.
  void end(const OperationPtr& operation, const Status& status);
  /// Ends the tickets of ended operations whose memory has become free.
  void end_free();

  /// The operations in flight; those of one tensor.
  std::vector<OperationPtr> all() const { return {in_flight_.begin(), in_flight_.end()}; }
  std::vector<OperationPtr> of_tensor(std::uint32_t id) const;
  std::size_t count() const { return in_flight_.size(); }
  /// True if no operation is in flight or waits for its memory.
  bool idle() const { return in_flight_.empty() && lingering_.empty(); }
  /// True if only closing links can free an ended operation's memory.
  bool stuck() const { return lingering_.stuck(clock_.now()); }

  /// An operation past its deadline, or null.
  const Operation* late(Time now) const;
  Patience& patience() { return patience_; }
  /// When to call late() or end_free() next.
  Time next_due() const;
  /// The operation that was begun first, if that was before `before`; else null.
  const Operation* oldest(Time before) const;
  Time begun_at(const Operation& operation) const { return operation.deadline - patience_.lasts(); }
  /// "push_pull 'x'".
  std::string describe(const Operation& operation) const { return describe(trait_of(operation)); }
  /// The operation that began last, and the one that ended last; empty if there is none.
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
