// SPDX-License-Identifier: Apache-2.0
// The program's states, from restoring to the last step.
#include "tests/sim/saving/saving_user.h"

#include <algorithm>

namespace stretto::sim {

SavingUser::SavingUser(const SavingPlan& plan, const SavingPlan::Life& life, std::uint32_t number,
                       WorkerNode& node, Disks disks, SavingPast& past, Report report)
    : plan_(plan),
      life_(life),
      number_(number),
      node_(node),
      disks_(disks),
      past_(past),
      report_(std::move(report)),
      from_(past.steps.size()),
      tensors_(plan.tensors.size()),
      made_(from_) {
  node_.join([this](const Status& status) {
    joined_ = status.ok();
    if (!status.ok()) outcome_ = status;
    for (std::size_t index = 0; joined_ && index < tensors_.size(); ++index) {
      node_.work().declare(plan_.tensors[index], [this, index](const Result<Tensor>& made) {
        if (made.ok()) tensors_[index] = *made;
        if (!made.ok()) failed_ = made.status();
      });
    }
    at_ = At::kDeclares;
  });
}

void SavingUser::act() {
  if (node_.over() && !outcome_) outcome_ = node_.membership().status();
  if (!joined_ || outcome_ || at_ == At::kLeaves) return;
  if (!failed_.ok()) {  // The program ends with the error.
    outcome_ = failed_;
    return node_.abandon();
  }
  if (waits_ || in_flight_ > 0) return;
  switch (at_) {
    case At::kDeclares:
      if (std::ranges::all_of(tensors_, [](const auto& tensor) { return tensor.has_value(); })) {
        meet(At::kLooks);
      }
      return;
    case At::kLooks:  // No worker pushes before all have read.
      at_ = At::kHasLooked;
      return from_ > 0 ? look_at_all() : meet(At::kSteps);
    case At::kHasLooked:
      return meet(At::kSteps);
    case At::kSteps:
      return made_ < from_ + life_.steps ? begin_step() : meet(At::kLooksAgain);
    case At::kSaves:
      return save();
    case At::kLooksAgain:
      if (saving_ > 0) return;
      at_ = At::kLeaves;
      return look_at_all();
    default:
      return;
  }
}

void SavingUser::meet(At then) {
  waits_ = true;
  node_.work().barrier([this, then](const Status& status) {
    waits_ = false;
    at_ = then;
    if (!status.ok()) failed_ = status;
  });
}

// The servers' values must hold exactly the contributions of these steps.
void SavingUser::look_at_all() {
  for (std::size_t index = 0; index < tensors_.size(); ++index) {
    if (keeps(index)) launch(index, Operation::Kind::kPull);
  }
  if (at_ == At::kLeaves && in_flight_ == 0) end_step();
}

void SavingUser::look_at(std::size_t index, const std::vector<std::int64_t>& got) {
  Lineage steps = past_.steps;
  steps.resize(made_, life_.workers);
  for (std::uint64_t i = 0; i < got.size(); ++i) {
    const std::int64_t wanted = kept_after(steps, i);
    if (got[i] == wanted) continue;
    return report_(made_ == from_ ? "a restore is one cut" : "sums are exact",
                   fmt::format("worker {}, tensor {} after step {}, element {}: {}, wanted {}",
                               number_, index, made_, i, got[i], wanted));
  }
}

void SavingUser::begin_step() {
  ++made_;
  for (std::size_t index = 0; index < tensors_.size(); ++index) {
    launch(index, keeps(index) ? Operation::Kind::kPush : Operation::Kind::kPushPull);
  }
  at_ = made_ % plan_.every == 0 ? At::kSaves : At::kSteps;
}

// Ends the last step, after all have read.
void SavingUser::end_step() {
  waits_ = true;
  node_.work().barrier([this](const Status& status) {
    waits_ = false;
    if (!status.ok()) failed_ = status;
    node_.leave([this](const Status& left) { outcome_ = failed_.ok() ? left : failed_; });
  });
}

void SavingUser::save() {
  if (plan_.waits && saving_ > 0) return;
  waits_ = true;
  const std::string alike = attached_text(-1, made_);
  const Attachment attachment{
      .name = "alike", .bytes = std::as_bytes(std::span(alike)), .held = Held::kAlike};
  const std::uint64_t digest = checkpoint::digest_of_alike({&attachment, 1});
  node_.work().checkpoints().begin(made_, digest, [this](const Result<CheckpointShare>& share) {
    waits_ = false;
    at_ = At::kSteps;
    if (!share.ok()) {
      ++past_.failures;  // The error costs this checkpoint, if the job survives.
      return;
    }
    ++saving_;
    if (share->cut) return write(*share);
    written(*share, checkpoint::WrittenFile());
  });
}

// As Checkpoints::begin() does: from a copy, and on another thread.
void SavingUser::write(const CheckpointShare& share) {
  Lineage steps = past_.steps;
  steps.resize(made_, life_.workers);
  past_.begun[share.cut->number] = steps;
  disks_.work.post([this, share, step = made_] {
    const std::string own = attached_text(number_, step);
    const std::string alike = attached_text(-1, step);
    const Attachment attachments[] = {
        {.name = "own", .bytes = std::as_bytes(std::span(own))},
        {.name = "alike", .bytes = std::as_bytes(std::span(alike)), .held = Held::kAlike}};
    const std::vector<NodeId>& workers = share.cut->workers;
    const auto place = std::ranges::find(workers, node_.membership().node());
    if (place == workers.end()) return report_("workers are counted", "one is not");
    const checkpoint::StripeOwner seat{
        .position = static_cast<std::uint32_t>(place - workers.begin()),
        .of = static_cast<std::uint32_t>(workers.size()),
        .striped = share.cut->alike};
    checkpoint::Folder folder(disks_.disk, "run");
    written(
        share,
        checkpoint::write_pieces(
            folder, {.job = share.cut->job, .number = share.cut->number, .step = share.cut->step},
            seat.position, checkpoint::pieces_to_write(attachments, seat)));
  });
}

void SavingUser::written(const CheckpointShare& share,
                         const Result<checkpoint::WrittenFile>& file) {
  if (node_.over()) return;
  const std::uint64_t number = share.cut ? share.cut->number : 0;
  node_.work().checkpoints().end(share, file, [this, number](const Status& status) {
    --saving_;
    if (status.ok()) past_.complete = std::max(past_.complete, number);
    if (!status.ok()) ++past_.failures;
  });
}

void SavingUser::launch(std::size_t index, Operation::Kind kind) {
  const std::uint64_t elements = plan_.tensors[index].elements;
  auto source = std::make_shared<std::vector<std::int64_t>>();
  auto target = std::make_shared<std::vector<std::int64_t>>(elements, -1);
  auto operation = std::make_shared<Operation>();
  operation->kind = kind;
  operation->tensor = *tensors_[index];
  if (operation->pushes()) {
    for (std::uint64_t i = 0; i < elements; ++i) {
      source->push_back(given_in_step(number_, made_, i));
    }
    operation->source = std::as_bytes(std::span(*source));
  }
  if (operation->wants_value()) operation->target = std::as_writable_bytes(std::span(*target));
  operation->ticket = std::make_shared<detail::TicketState>(1);
  ++in_flight_;
  operation->ticket->on_done([this, index, kind, source, target](const Status& status) {
    --in_flight_;
    if (!status.ok()) failed_ = status;
    if (status.ok() && kind == Operation::Kind::kPull) look_at(index, *target);
    if (at_ == At::kLeaves && in_flight_ == 0) end_step();
  });
  node_.work().start(operation);
}

}  // namespace stretto::sim
