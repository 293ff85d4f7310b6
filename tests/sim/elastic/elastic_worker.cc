// SPDX-License-Identifier: Apache-2.0
// A worker that runs rounds one after another, in lockstep over its parts.
#include "tests/sim/elastic/elastic_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stretto::sim {

void ElasticWorker::enter(NodeId node, std::uint64_t first_round, const SharedView& view) {
  node_ = node;
  view_ = view;
  round_ = first_round;
  rounds_ = std::max(rounds_, first_round);  // Other workers may count on its first round.
  ledger_.starts(node, first_round);
  if (first_round == 1) {
    state_ = State::kWorking;
    round_ = 0;
    return begin_round();
  }
  state_ = State::kPulling;
  open_ = {keys_.begin(), keys_.end()};
  resend();
}

void ElasticWorker::on_view(const SharedView& view) {
  if (state_ == State::kOut || view->epoch <= view_->epoch) return;
  view_ = view;
  if (view->find(node_) == nullptr) {  // Expelled: the job continues without it.
    state_ = State::kOut;
    return;
  }
  // The first view without this contributor names the round from which on it is not awaited.
  const View::Contributors& contributors = view->contributors;
  if (!contributors.nodes.contains(node_)) rounds_ = std::min(rounds_, contributors.from_round - 1);
  resend();
}

std::string ElasticWorker::describe() const {
  return fmt::format("node {} {} round {} of {}, in epoch {}, and waits for {} parts{}", node_,
                     state_ == State::kPulling ? "reads before" : "is in", round_, rounds_,
                     view_->epoch, open_.size(), held_ ? ", held" : "");
}

std::uint64_t ElasticWorker::hold() {
  held_ = true;
  return round_;
}

void ElasticWorker::go_on() {
  const bool waits = std::exchange(held_, false) && state_ == State::kWorking && open_.empty();
  if (waits) begin_round();
}

void ElasticWorker::begin_round() {
  if (held_) return;
  if (round_ >= rounds_) return finish();
  ++round_;
  ledger_.begins(node_, round_);
  open_ = {keys_.begin(), keys_.end()};
  for (const wire::Key& key : keys_) push(key);
}

void ElasticWorker::finish() {
  state_ = State::kDone;
  ledger_.ends(node_);
  way_.leave(node_);
}

void ElasticWorker::push(const wire::Key& key) {
  way_.push({.id = {node_, key, round_}, .epoch = view_->epoch});
}

// Sends all unanswered requests again.
void ElasticWorker::resend() {
  for (const wire::Key& key : open_) {
    if (state_ == State::kPulling) {
      way_.pull({.worker = node_, .key = key, .least_round = round_ - 1, .epoch = view_->epoch});
    } else {
      push(key);
    }
  }
}

void ElasticWorker::on_answer(const ElasticAnswer& answer) {
  const bool pulling = state_ == State::kPulling;
  if ((!pulling && state_ != State::kWorking) || open_.count(answer.key) == 0) return;
  const std::uint64_t wanted = pulling ? round_ - 1 : round_;
  if (answer.version < wanted) return;  // Answers an earlier request.
  ledger_.answered(node_, answer.key, wanted, answer.version, answer.numbers);
  open_.erase(answer.key);
  if (!open_.empty()) return;
  if (pulling) {
    state_ = State::kWorking;
    --round_;
  }
  begin_round();
}

}  // namespace stretto::sim
