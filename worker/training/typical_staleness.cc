// SPDX-License-Identifier: Apache-2.0
// Sums that all workers add to, one small frame each way at a time.
#include "worker/training/typical_staleness.h"

#include <memory>
#include <utility>

namespace stretto {

void RecentMean::add(double sum, double count) {
  totals_.push_back({sum, count});
  while (totals_.size() > 2 && count - totals_[1].count >= figures_) totals_.pop_front();
}

double RecentMean::value(double otherwise) const {
  const double count = totals_.back().count - totals_.front().count;
  return count > 0 ? (totals_.back().sum - totals_.front().sum) / count : otherwise;
}

Result<std::unique_ptr<TypicalStaleness>> TypicalStaleness::open(Worker& worker,
                                                                 const std::string& name,
                                                                 double expected) {
  const Result<Tensor> tensor = worker.declare(name, Dtype::kF64, 2, {.mode = Mode::kAsync});
  if (!tensor.ok()) return tensor.status();
  return std::unique_ptr<TypicalStaleness>(new TypicalStaleness(worker, *tensor, expected));
}

// Figures that arrive while others are in flight go with the next ones. An error is the job's, and
// every other operation gets it, too.
void TypicalStaleness::note(double staleness) {
  noted_[0] += staleness;
  noted_[1] += 1;
  if (!ticket_.done()) return;
  if (std::exchange(asked_, true) && ticket_.wait().ok()) recent_.add(totals_[0], totals_[1]);
  told_ = std::exchange(noted_, {});
  ticket_ = worker_.push_pull(tensor_, std::as_bytes(std::span(told_)),
                              std::as_writable_bytes(std::span(totals_)));
}

}  // namespace stretto
