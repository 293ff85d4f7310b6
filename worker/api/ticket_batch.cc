// SPDX-License-Identifier: Apache-2.0
// Posts a batch from a user's thread to the loop.
#include "worker/api/ticket_batch.h"

#include <chrono>
#include <utility>

#include "common/process/fork_guard.h"
#include "common/threads/completion.h"
#include "worker/operations/call_plan.h"

namespace stretto {

namespace {

// Searches on the caller's thread, before any part is sent.
void look_at(TicketBatch& batch, Rank worker) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Operation& operation = *batch.operation(i);
    if (operation.tensor.non_finite == NonFinite::kPass) continue;
    const std::optional<ops::NotFinite> found =
        ops::find_not_finite(operation.tensor.dtype, operation.source);
    if (found) operation.not_finite = {*found, worker};
  }
}

}  // namespace

std::string TicketBatch::waits_for() {
  constexpr Duration kPatience = 1s;  // The loop answers within milliseconds, unless it is stopped.
  if (done() || is_forked() || is_on_loop()) return {};
  const auto words = std::make_shared<Completion<std::string>>();
  door_->post([batch = shared_from_this(), words](WorkerNode& node) {
    std::string found;
    for (std::size_t i = 0; i < batch->size() && found.empty(); ++i) {
      found = node.work().exchange().missing(*batch->operation(i));
    }
    words->end({}, found);
  });
  door_->wait_until(*words, after(std::chrono::steady_clock::now(), kPatience));
  return words->value();
}

Ticket begin(detail::WorkerImpl& impl, Operation::Kind kind, std::span<const Transfer> transfers,
             const Standing::Root& root) {
  if (impl.loop().is_forked())
    return detail::ended_ticket(used_after_fork("Worker", name_of(kind)));
  auto batch =
      std::make_shared<TicketBatch>(impl.loop().door(), kind, transfers, root, impl.tracing());
  if (kind == Operation::Kind::kPush || kind == Operation::Kind::kPushPull)
    look_at(*batch, impl.standing().number());
  if (batch->size() == 1) {
    impl.loop().post(LoopRequest(batch->operation(0)));
  } else {
    impl.loop().post([batch](WorkerNode& node) {
      for (std::size_t i = 0; i < batch->size(); ++i) node.work().start(batch->operation(i));
    });
  }
  return Ticket(std::move(batch));
}

Ticket begin_call(detail::WorkerImpl& impl, const Tensor& group,
                  std::shared_ptr<const GroupCallArgs> call, int priority) {
  if (impl.loop().is_forked())
    return detail::ended_ticket(used_after_fork("Worker", name_of(Operation::Kind::kCall)));
  const Transfer transfer{
      .tensor = group, .source = call->source, .target = call->target, .priority = priority};
  const auto batch =
      std::make_shared<TicketBatch>(impl.loop().door(), Operation::Kind::kCall,
                                    std::span(&transfer, 1), Standing::Root(), impl.tracing());
  const OperationPtr operation = batch->operation(0);
  operation->call = std::move(call);
  impl.loop().post(LoopRequest(operation));
  return Ticket(batch);
}

}  // namespace stretto
