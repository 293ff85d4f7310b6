// SPDX-License-Identifier: Apache-2.0
// Rounds, barriers, and checks of the values received.
#include "tests/sim/losses/loss_user.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::sim {
namespace {

constexpr std::size_t kMostInFlight = 3;

struct Lent {
  std::vector<std::int64_t> source;
  std::vector<std::int64_t> target;
  bool in_place = false;
};

}  // namespace

LossUser::LossUser(const LossPlan& plan, std::uint32_t number, WorkerNode& node, LossBoard& board,
                   const std::string& address, std::uint64_t seed)
    : plan_(plan),
      number_(number),
      node_(node),
      board_(board),
      random_(seed),
      tensors_(plan.tensors.size()) {
  const auto joined = [this](const Status& status) {
    if (!status.ok()) {
      outcome_ = status;
      return;
    }
    joined_ = true;
    for (std::size_t index = 0; index < tensors_.size(); ++index) declare(index);
  };
  node_.join(joined, address);
}

void LossUser::declare(std::size_t index) {
  node_.work().declare(plan_.tensors[index], [this, index](const Result<Tensor>& tensor) {
    if (tensor.ok()) {
      tensors_[index].tensor = *tensor;
    } else if (tensor.status().code() == Code::kInvalidArgument) {
      board_.report("set-up", tensor.status().text());
    }
    tensors_[index].least.assign(plan_.tensors[index].elements, 0);
  });
}

bool LossUser::is_ready() const {
  return std::ranges::all_of(tensors_,
                             [](const Progress& progress) { return progress.tensor.has_value(); });
}

LossPhase LossUser::phase() const {
  if (leaving_) return LossPhase::kLeaving;
  if (node_.work().exchange().members().chooses()) return LossPhase::kChoosing;
  if (!is_ready()) return LossPhase::kDeclaring;
  if (in_barrier_) return LossPhase::kInABarrier;
  return reading_ ? LossPhase::kReading : LossPhase::kInRounds;
}

void LossUser::leave() {
  leaving_ = true;
  node_.leave([this](const Status& status) { outcome_ = status; });
}

void LossUser::act() {
  if (!steps_before_ && node_.membership().node() != 0) steps_before_ = board_.steps;
  if (node_.over() && !outcome_) outcome_ = node_.membership().status();
  if (!joined_ || outcome_ || !is_ready() || leaving_) return;
  if (goes_) {
    if (in_flight_ > 0) return;
    board_.left.insert(number_);
    board_.history.left[number_] = board_.clock.now();
    return leave();
  }
  const std::uint64_t steps = plan_.rounds * tensors_.size();
  const std::uint64_t barrier_at = (barriers_ + 1) * plan_.barrier_every;
  if (in_step_) return;
  if (!step_known_ && is_newcomer()) return begin_step();
  const auto next_step = [&] { return steps_begun_ * plan_.step_of; };
  while (in_flight_ < kMostInFlight && step_ < std::min({steps, barrier_at, next_step()}) &&
         random_.chance(0.7)) {
    start_round(step_++ % tensors_.size());
  }
  // A worker in a barrier begins no step: the barrier occupies the program's thread.
  const bool begins = step_ == next_step() && step_ < std::min(steps, barrier_at);
  if (begins && !in_barrier_) return begin_step();
  if (in_flight_ > 0 || step_ < std::min(steps, barrier_at)) return;
  if (step_ == barrier_at || (step_ == steps && !reading_)) {
    reading_ = step_ == steps;
    return enter_barrier();
  }
  for (std::size_t index = 0; index < tensors_.size(); ++index) {
    const bool is_read = std::exchange(tensors_[index].read, true);
    if (!is_read && !LossPlan::is_among_workers(plan_.tensors[index])) {
      return launch(index, Operation::Kind::kPull, plan_.rounds);
    }
  }
  leave();
}

// A worker that joins before a program's step makes none of the rounds before that step.
std::uint64_t LossUser::first_round(std::size_t index, std::uint32_t number) const {
  if (number < plan_.workers) return 1;
  const auto came = board_.came.find(number);
  if (came == board_.came.end()) return plan_.rounds + 1;
  return (came->second + tensors_.size() - 1 - index) / tensors_.size() + 1;
}

// Sometimes with operations in flight: joining workers wait for them.
void LossUser::begin_step() {
  in_step_ = true;
  const std::uint64_t step = node_.work().steps().gate().count()->begun() + 1;
  if (!is_newcomer() && step != steps_begun_ + 1) board_.report("steps", "of others");
  node_.work().steps().gate().begin(step, [this](const Result<StepBegin>& begins) {
    in_step_ = false;
    if (!begins.ok()) return;
    steps_begun_ = begins->step;
    board_.steps = std::max(board_.steps, steps_begun_);
    if (begins->comes_in != (is_newcomer() && !step_known_)) {
      board_.report("newcomers are told", fmt::format("worker {}", number_));
    }
    step_known_ = true;
    if (!begins->comes_in) return;
    step_ = (begins->step - 1) * plan_.step_of;
    barriers_ = step_ / plan_.barrier_every;
    board_.came[number_] = step_;
    board_.history.came[number_] = {.at = board_.clock.now(), .turns = step_};
    for (std::size_t index = 0; index < tensors_.size(); ++index) {
      tensors_[index].begun = first_round(index, number_) - 1;
    }
  });
}

void LossUser::start_round(std::size_t index) {
  const std::uint64_t round = ++tensors_[index].begun;
  board_.begun[{index, number_}] = round;
  const bool among = LossPlan::is_among_workers(plan_.tensors[index]);
  if (random_.chance(0.7) || among) return launch(index, Operation::Kind::kPushPull, round);
  launch(index, Operation::Kind::kPush, round);
  if (random_.chance(0.5)) launch(index, Operation::Kind::kPull, round);
}

void LossUser::launch(std::size_t index, Operation::Kind kind, std::uint64_t round) {
  const TensorSpec& spec = plan_.tensors[index];
  auto lent = std::make_shared<Lent>();
  auto operation = std::make_shared<Operation>();
  operation->kind = kind;
  operation->tensor = *tensors_[index].tensor;
  operation->priority = static_cast<std::int32_t>(random_.below(3));
  if (operation->pushes()) {
    lent->source.assign(spec.elements, LossPlan::share_of(spec, number_, round));
    operation->source = std::as_bytes(std::span(lent->source));
  }
  lent->in_place = operation->pushes() && random_.chance(0.5);
  if (operation->wants_value()) {
    if (!lent->in_place) lent->target.assign(spec.elements, -1);
    operation->target =
        std::as_writable_bytes(std::span(lent->in_place ? lent->source : lent->target));
  }
  operation->ticket = std::make_shared<detail::TicketState>(1);
  ++in_flight_;
  auto* raw = operation.get();  // Alive while its ticket can end.
  const bool is_last = reading_;
  const std::size_t call = write_down(index, *raw, round, lent->source);
  operation->ticket->on_done([this, index, round, lent, raw, is_last, call](const Status& status) {
    --in_flight_;
    board_.history.calls[call].end = end_of(status);
    const bool by_losses = status.code() != Code::kMalformed && status.code() != Code::kMismatch;
    if (!status.ok() && !by_losses) board_.report("no error without a cause", status.text());
    if (!status.ok()) return;
    if (raw->pushes()) tensors_[index].acknowledged = round;
    if (!raw->wants_value()) return;
    const std::vector<std::int64_t>& got = lent->in_place ? lent->source : lent->target;
    board_.history.calls[call].got = got;
    board_.history.calls[call].contributors = raw->info.contributors;
    look_at(index, round, got, *raw, is_last);
  });
  node_.work().start(operation);
}

// ---- records for the second oracle

std::size_t LossUser::write_down(std::size_t index, const Operation& operation, std::uint64_t round,
                                 const std::vector<std::int64_t>& sent) {
  std::vector<History::Call>& calls = board_.history.calls;
  calls.push_back({.worker = number_,
                   .tensor = index,
                   .round = round,
                   .begun = board_.clock.now(),
                   .pushes = operation.pushes(),
                   .pulls = operation.wants_value(),
                   .last = reading_,
                   .sent = operation.pushes() ? sent : std::vector<std::int64_t>()});
  return calls.size() - 1;
}

History::End LossUser::end_of(const Status& status) const {
  return {
      .at = board_.clock.now(), .ok = status.ok(), .peer = status.peer(), .cause = status.cause()};
}

// ---- values received

void LossUser::look_at(std::size_t index, std::uint64_t round,
                       const std::vector<std::int64_t>& values, const Operation& operation,
                       bool is_last) {
  std::uint32_t fewest = LossPlan::kMostWorkers;
  for (std::uint64_t element = 0; element < values.size(); ++element) {
    if (LossPlan::grows(plan_.tensors[index])) {
      look_at_growth(index, element, values[element], is_last);
    } else {
      look_at_round(index, round, element, values[element], fewest);
    }
  }
  const std::uint32_t told = operation.info.contributors;
  if (!LossPlan::grows(plan_.tensors[index]) && told != fewest) {
    board_.report("contributors are told",
                  fmt::format("worker {}: {}, and was told of {}", number_, fewest, told));
  }
}

// A round's own sum: each worker's contribution is whole or absent, this worker's is in it, and
// departed workers stay out. All receivers get the same value.
void LossUser::look_at_round(std::size_t index, std::uint64_t round, std::uint64_t element,
                             std::int64_t value, std::uint32_t& fewest) {
  const auto wrong = [&](const std::string& what) {
    board_.report("sums are of their contributors",
                  fmt::format("worker {}, {} round {} element {} is {:#x}: {}", number_,
                              plan_.tensors[index].name, round, element, value, what));
  };
  const LossBoard::Place place{index, round, element};
  const auto [known, is_new] = board_.values.try_emplace(place, value);
  std::set<std::uint32_t>& holders = board_.known_to[place];
  if (!is_new && known->second != value) {
    // In direct exchanges a value may be lost with its last holder; the survivors make another.
    const auto stays = [this](std::uint32_t each) { return board_.stays(each); };
    const bool among = LossPlan::is_among_workers(plan_.tensors[index]);
    const bool gone = among && std::ranges::none_of(holders, stays);
    const bool we_go = among && !stays(number_);
    if (!gone && !we_go) wrong(fmt::format("others have {:#x}", known->second));
    if (gone) {
      known->second = value;
      holders.clear();
    }
  }
  if (known->second == value) holders.insert(number_);
  std::int64_t& out = tensors_[index].least[element];
  std::uint32_t count = 0;
  for (std::uint32_t number = 0; number < LossPlan::kMostWorkers; ++number) {
    const std::uint64_t digit = LossPlan::digit_of(value, number);
    const std::int64_t bit = std::int64_t{1} << number;
    if (digit != 0 && digit != round) wrong("a part of a share");
    const bool comes_later = round < first_round(index, number);
    if (digit != 0 && comes_later) wrong("somebody who had not come in");
    if (digit != 0 && (out & bit) != 0) wrong("somebody came back");
    if (comes_later) continue;
    if (digit == 0) out |= bit;
    const bool left = board_.left.contains(number) && round > board_.begun[{index, number}];
    if (digit == 0 && !left && !board_.lost.contains(number)) {
      wrong("a share of who lives is missing");
    }
    if (digit != 0) ++count;
  }
  fewest = std::min(fewest, count);
}

// A growing value holds as many rounds of each worker as the worker's digit says.
void LossUser::look_at_growth(std::size_t index, std::uint64_t element, std::int64_t value,
                              bool is_last) {
  const auto wrong = [&](std::uint32_t of, const std::string& what) {
    board_.report("pushes count once",
                  fmt::format("worker {}, {} element {} is {:#x}; of worker {}: {}", number_,
                              plan_.tensors[index].name, element, value, of, what));
  };
  std::int64_t& least = tensors_[index].least[element];
  for (std::uint32_t number = 0; number < LossPlan::kMostWorkers; ++number) {
    const std::uint64_t digit = LossPlan::digit_of(value, number);
    const bool lives = board_.stays(number);
    const std::uint64_t before = first_round(index, number) - 1;
    if (digit > std::max(board_.begun[{index, number}], before) - before)
      wrong(number, "more than it has begun");
    // Eager values may overtake each other, and eager_async values wait for no worker.
    const Mode mode = plan_.tensors[index].options.mode;
    const bool ours = number == number_ && !is_eager(mode);
    if (is_last && lives && mode != Mode::kEagerAsync && digit != plan_.rounds - before) {
      wrong(number, "not all that it has pushed");
    }
    if (ours && digit + before < tensors_[index].acknowledged)
      wrong(number, "less than acknowledged");
    if (!is_eager(mode) && digit < LossPlan::digit_of(least, number)) {
      wrong(number, "less than before");
    }
  }
  least = value;
}

// ---- barriers

void LossUser::enter_barrier() {
  const std::uint64_t number = ++barriers_;
  board_.barriers[number].insert(number_);
  ++in_flight_;
  in_barrier_ = true;
  std::vector<History::Barrier>& written = board_.history.barriers;
  written.push_back({.worker = number_, .number = number, .begun = board_.clock.now()});
  node_.work().barrier([this, number, &written, at = written.size() - 1](const Status& status) {
    --in_flight_;
    in_barrier_ = false;
    written[at].end = end_of(status);
    if (!status.ok()) return;
    for (std::uint32_t other = 0; other < LossPlan::kMostWorkers; ++other) {
      if (board_.barriers[number].contains(other) || !board_.stays(other)) continue;
      const auto came = board_.came.find(other);
      const bool there = other < plan_.workers ||
                         (came != board_.came.end() && came->second < number * plan_.barrier_every);
      if (!there) continue;
      board_.report(
          "barriers wait for all who are in",
          fmt::format("worker {} passed barrier {} without worker {}", number_, number, other));
    }
  });
}

std::string LossUser::describe() const {
  return fmt::format("{} of {} rounds, {} barriers, {} in flight{}", step_,
                     plan_.rounds * tensors_.size(), barriers_, in_flight_,
                     joined_ ? "" : ", not joined");
}

}  // namespace stretto::sim
