// SPDX-License-Identifier: Apache-2.0
// TicketBatch: a ticket and its operations.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stretto/worker.h"
#include "worker/api/rank_view.h"
#include "worker/api/worker_impl.h"
#include "worker/operations/operation.h"
#include "worker/operations/ticket.h"

namespace stretto {

/// One allocation: a reference to one of them keeps all alive. Thread: any.
class TicketBatch final : public detail::TicketState,
                          public std::enable_shared_from_this<TicketBatch> {
 public:
  TicketBatch(std::shared_ptr<detail::WorkerImpl::Loop::Handle> door, Operation::Kind kind,
              std::span<const Transfer> transfers, const Standing::Root& root, bool traced)
      : TicketState(transfers.size(), traced),
        door_(std::move(door)),
        others_(transfers.size() - 1) {
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      Operation& operation = *at(i);
      operation.kind = kind;
      operation.tensor = transfers[i].tensor;
      operation.source = transfers[i].source;
      operation.target = transfers[i].target;
      operation.root = root.number;
      operation.root_view = root.view;
      if (kind == Operation::Kind::kBroadcastReceiver && root.view != 0) operation.come_together();
      operation.priority = transfers[i].priority;
      operation.ticket =
          std::shared_ptr<TicketState>(std::shared_ptr<void>(), this);  // Owns nothing.
    }
  }

  std::size_t size() const { return 1 + others_.size(); }
  std::string waits_for() override;
  std::shared_ptr<Operation> operation(std::size_t index) {
    return {shared_from_this(), at(index)};
  }

 private:
  Operation* at(std::size_t index) { return index == 0 ? &first_ : &others_[index - 1]; }
  bool is_on_loop() override { return door_->is_here(); }
  bool is_forked() override { return door_->is_forked(); }
  void wait_until(Awaited& awaited, Time deadline) override {
    door_->wait_until(awaited, deadline);
  }
  void pass_on(const detail::Change& change) override {
    door_->post([batch = shared_from_this(), change](WorkerNode& node) {
      for (std::size_t i = 0; i < batch->size(); ++i)
        node.work().steer(batch->operation(i), change);
    });
  }

  const std::shared_ptr<detail::WorkerImpl::Loop::Handle> door_;
  Operation first_;
  std::vector<Operation> others_;
};

/// Begins a call of the group that is declared as this tensor.
Ticket begin_call(detail::WorkerImpl& impl, const Tensor& group,
                  std::shared_ptr<const GroupCallArgs> call, int priority);

/// Begins operations of one kind, with one ticket.
Ticket begin(detail::WorkerImpl& impl, Operation::Kind kind, std::span<const Transfer> transfers,
             const Standing::Root& root = {});

}  // namespace stretto
