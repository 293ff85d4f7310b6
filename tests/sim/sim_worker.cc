// SPDX-License-Identifier: Apache-2.0
// The script of a simulated user, and its checks.
#include "tests/sim/sim_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stretto::sim {

SimWorker::SimWorker(const Plan& plan, Rank rank, WorkerNode& node, BarrierBoard& board,
                     Report report)
    : plan_(plan),
      rank_(rank),
      node_(node),
      board_(board),
      report_(std::move(report)),
      random_(plan.seed * 1000 + rank),
      tensors_(plan.tensors.size()),
      sat_out_(plan.uneven_steps == 0) {
  join();
}

void SimWorker::join() {
  node_.join([this](const Status& status) {
    if (!status.ok()) {
      outcome_ = status;
      return;
    }
    joined_ = true;
    if (node_.membership().number() != rank_)
      report_("ranks", fmt::format("worker {} got another rank", rank_));
    declare_all();
  });
}

void SimWorker::declare_all() {
  std::vector<std::size_t> order(tensors_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
  for (std::size_t index : order) {
    TensorSpec spec = plan_.tensors[index].spec;
    if (plan_.has(Fault::kMismatch) && index == 0 && rank_ == plan_.workers - 1) {
      spec.elements += 1;
    }
    node_.work().declare(spec, [this, index](const Result<Tensor>& tensor) {
      if (tensor.ok()) {
        tensors_[index].tensor = *tensor;
      } else {
        tensors_[index].refused = true;
        codes_.insert(tensor.status().code());
      }
    });
  }
}

void SimWorker::act() {
  if (node_.over() && !outcome_) {
    outcome_ = node_.membership().status().ok() ? Status(Code::kCancelled, "over without a word")
                                                : node_.membership().status();
  }
  if (!joined_ || outcome_ || !all_declared()) return;
  change_minds();
  if (!hasty_.empty()) give_up_hasty_pulls();
  while (in_flight_ < plan_.most_in_flight && keeps_pace() && start_something()) {
  }
  if (!sat_out_) {
    if (next_ == plan_.uneven_steps && !sitting_) sit_out();
    return;
  }
  if (!in_barrier_ && barriers_entered_ < plan_.barriers && random_.chance(0.05)) enter_barrier();
  if (!all_started() || in_flight_ > 0 || in_barrier_ || leaving_) return;
  if (barriers_entered_ < plan_.barriers) return enter_barrier();
  leaving_ = true;
  node_.leave([this](const Status& status) { outcome_ = status; });
}

// Changes priorities, pauses and resumes operations in flight, and cancels pulls. Every value must
// still be right, and every ticket must end.
void SimWorker::change_minds() {
  using Kind = detail::Change::Kind;
  std::erase_if(steerable_, [](const auto& one) { return one.operation.expired(); });
  for (Steerable& one : steerable_) {
    const std::shared_ptr<Operation> operation = one.operation.lock();
    if (one.paused ? random_.chance(0.5) : random_.chance(0.9)) {
      if (one.paused) node_.work().steer(operation, {.kind = Kind::kResume});
      one.paused = false;
      continue;
    }
    if (one.paused) continue;
    detail::Change change;
    change.kind = static_cast<Kind>(random_.below(5));
    change.priority = static_cast<std::int32_t>(random_.below(9)) - 4;
    change.deadline = plan_time_ + random_.between(0us, 50ms);
    if (change.kind == Kind::kCancel && operation->pushes()) continue;
    one.paused = change.kind == Kind::kPause;
    node_.work().steer(operation, change);
  }
}

bool SimWorker::all_declared() const {
  return std::all_of(tensors_.begin(), tensors_.end(), [](const TensorProgress& progress) {
    return progress.tensor || progress.refused;
  });
}

bool SimWorker::start_something() {
  if (next_ == plan_.uneven_steps && !sat_out_) return false;
  if (next_ < plan_.order.size()) {
    const std::size_t index = plan_.order[next_++];
    const bool takes_part = plan_.tensors[index].takes_part(rank_, tensors_[index].next_step + 1);
    if (!takes_part) {
      ++tensors_[index].next_step;
    } else if (!tensors_[index].refused) {
      start_step(index);
    }
    return true;
  }
  if (final_pulls_ == tensors_.size()) return false;
  const std::size_t index = final_pulls_++;
  if (!tensors_[index].refused) start_pull(index);
  return true;
}

// These pulls may wait for this worker's own contribution, which is queued behind them.
void SimWorker::give_up_hasty_pulls() {
  if (!random_.chance(0.5)) return;
  for (const std::weak_ptr<Operation>& hasty : std::exchange(hasty_, {})) {
    const std::shared_ptr<Operation> pull = hasty.lock();
    if (pull != nullptr) node_.work().steer(pull, {.kind = detail::Change::Kind::kCancel});
  }
}

void SimWorker::start_step(std::size_t index) {
  if (tensors_[index].next_step == 0 && (plan_.tensors[index].hasty >> rank_ & 1) != 0) {
    start_pull(index);
    hasty_.push_back(steerable_.back().operation);
  }
  const std::uint64_t round = ++tensors_[index].next_step;
  const Step& step = plan_.tensors[index].steps[round - 1];
  Operation::Kind kind = Operation::Kind::kPushPull;
  if (step.broadcast) {
    kind =
        step.root == rank_ ? Operation::Kind::kBroadcastRoot : Operation::Kind::kBroadcastReceiver;
  } else if (random_.chance(0.35)) {
    kind = Operation::Kind::kPush;
  }
  launch(index, kind, round);
  const bool eager = plan_.tensors[index].spec.options.mode == Mode::kEagerAsync;
  if ((eager || kind == Operation::Kind::kPush) && random_.chance(0.5)) start_pull(index);
  if (random_.chance(0.1)) start_probe(index);
}

void SimWorker::start_pull(std::size_t index) {
  launch(index, Operation::Kind::kPull, tensors_[index].next_step);
}

void SimWorker::start_probe(std::size_t index) {
  launch(index, Operation::Kind::kProbe, tensors_[index].next_step);
}

void SimWorker::launch(std::size_t index, Operation::Kind kind, std::uint64_t round) {
  const TensorPlan& plan = plan_.tensors[index];
  const Tensor tensor = *tensors_[index].tensor;
  auto memory = std::make_shared<Memory>();
  auto operation = std::make_shared<Operation>();
  operation->kind = kind;
  operation->tensor = tensor;
  if (operation->broadcasts()) operation->root = plan.steps[round - 1].root;
  operation->priority = static_cast<std::int32_t>(random_.below(5)) - 2;
  const bool brings = operation->pushes() && kind != Operation::Kind::kBroadcastReceiver;
  if (brings) {
    memory->source.resize(tensor.bytes());
    for (std::uint64_t i = 0; i < tensor.elements; ++i) {
      store(tensor.dtype, memory->source.data(), i,
            static_cast<double>(share_of(plan, rank_, round, i)));
    }
    operation->source = memory->source;
  }
  memory->in_place = brings && random_.chance(0.3);
  if (operation->wants_value()) {
    if (memory->in_place) {
      operation->target = memory->source;
    } else {
      memory->target.assign(tensor.bytes(), std::byte{0x77});
      operation->target = memory->target;
    }
  }
  operation->ticket = std::make_shared<detail::TicketState>(1);
  ++in_flight_;
  auto ends = std::make_shared<int>(0);
  auto* raw = operation.get();  // Alive while its ticket can end.
  operation->ticket->on_done([this, index, kind, round, memory, ends, raw](const Status& status) {
    if (++*ends != 1) report_("tickets end once", "a ticket has ended twice");
    if (raw->leases.load() != 0 && !status.ok()) {
      report_("leases return", "a ticket failed while frames still held its memory");
    }
    memory->operation = raw->id;
    ended(index, kind, round, *memory, *raw, status);
  });
  node_.work().start(operation);
  steerable_.push_back({operation, false});
}

void SimWorker::ended(std::size_t index, Operation::Kind kind, std::uint64_t round, Memory& memory,
                      const Operation& operation, const Status& status) {
  --in_flight_;
  const bool cancelled = !operation.pushes() && status.code() == Code::kCancelled;
  if (!cancelled) codes_.insert(status.code());
  TensorProgress& progress = tensors_[index];
  if (cancelled) {
    // Cancelled on request.
  } else if (!status.ok()) {
    progress.refused = true;  // A failed tensor stays failed.
  } else {
    if (operation.pushes()) progress.acknowledged = round;
    if (kind == Operation::Kind::kProbe) check_probe(index, operation.info);
    if (operation.wants_value()) got_value(index, kind, round, memory, operation);
  }
  // The memory is the user's again: overwriting it exposes late readers.
  std::ranges::fill(memory.source, std::byte{0x5A});
  memory.source = {};
  memory.target = {};
}

void SimWorker::got_value(std::size_t index, Operation::Kind kind, std::uint64_t round,
                          const Memory& memory, const Operation& operation) {
  const std::byte* value = memory.in_place ? memory.source.data() : memory.target.data();
  const ValueInfo& info = operation.info;
  const Mode mode = plan_.tensors[index].spec.options.mode;
  if (has_rounds(mode)) {
    check_rounds(index, round, value, info);
  } else {
    check_growth(index, kind, round, value, operation);
  }
  const bool apart = mode == Mode::kEagerAsync && kind == Operation::Kind::kPull;
  auto& last = apart ? tensors_[index].last_eager_pull : tensors_[index].last;
  if (memory.operation <= last.operation) return;
  if (info.version < last.version) {
    report_("versions never go back",
            fmt::format("worker {}: {} went from version {} to {}", rank_,
                        plan_.tensors[index].spec.name, last.version, info.version));
  }
  last = {info.version, memory.operation};
}

void SimWorker::check_probe(std::size_t index, const ValueInfo& info) {
  const std::uint64_t begun = tensors_[index].next_step;
  if (info.applied > begun || info.slowest > plan_.tensors[index].steps.size()) {
    report_(
        "values equal the oracle",
        fmt::format("worker {}: a probe of {} tells of {} own rounds, {} of the slowest, and {} "
                    "have begun",
                    rank_, plan_.tensors[index].spec.name, info.applied, info.slowest, begun));
  }
}

void SimWorker::check_rounds(std::size_t index, std::uint64_t round, const std::byte* value,
                             const ValueInfo& info) {
  const TensorPlan& plan = plan_.tensors[index];
  for (std::uint64_t i = 0; i < plan.spec.elements; ++i) {
    const double found = load(plan.spec.dtype, value, i);
    const double wanted = value_after(plan, plan_.workers, round, i);
    if (found == wanted) continue;
    report_("values equal the oracle",
            fmt::format("worker {}: {}[{}] after round {} is {}, wanted {}", rank_, plan.spec.name,
                        i, round, found, wanted));
    return;
  }
  if (info.applied != round || info.version != round) {
    report_("values equal the oracle",
            fmt::format("worker {}: a value of {} after round {} says version {}, {} own rounds",
                        rank_, plan.spec.name, round, info.version, info.applied));
  }
}

// Checks each part's number of contributions, and this worker's among them.
void SimWorker::check_growth(std::size_t index, Operation::Kind kind, std::uint64_t round,
                             const std::byte* value, const Operation& operation) {
  const TensorPlan& plan = plan_.tensors[index];
  const std::size_t element = bytes_of(plan.spec.dtype);
  const bool eager_pull =
      plan.spec.options.mode == Mode::kEagerAsync && kind == Operation::Kind::kPull;
  std::vector<PartInfo> parts = operation.ticket->parts();
  if (parts.empty()) parts.push_back({0, 0, operation.tensor.bytes(), operation.info});
  std::uint64_t bytes = 0;
  for (const PartInfo& part : parts) {
    std::uint64_t fewest = ~std::uint64_t{0};
    const std::uint64_t own = eager_pull ? part.info.applied : round;
    for (std::uint64_t i = part.offset / element; i < (part.offset + part.bytes) / element; ++i) {
      const double counts = counted_up(plan, plan_.workers, own, load(plan.spec.dtype, value, i));
      fewest = std::min(fewest, check_counts(index, own, i, counts, part.info.version));
    }
    if (fewest != part.info.version || own > tensors_[index].next_step) {
      report_("values equal the oracle",
              fmt::format("worker {}: a value of {} says version {} and holds {} shares, {} of its "
                          "own",
                          rank_, plan.spec.name, part.info.version, fewest, own));
    }
    bytes += part.bytes;
  }
  if (bytes != operation.tensor.bytes()) {
    report_("values equal the oracle",
            fmt::format("worker {}: {} of {} bytes of {} are told of", rank_, bytes,
                        operation.tensor.bytes(), plan.spec.name));
  }
}

// Bounded and async values are sums in which every worker has its own digits. Returns the number of
// contributions in the value.
std::uint64_t SimWorker::check_counts(std::size_t index, std::uint64_t round, std::uint64_t i,
                                      double value, std::uint64_t version) {
  const TensorPlan& plan = plan_.tensors[index];
  const auto complain = [&](const std::string& invariant, const std::string& text) {
    report_(invariant, fmt::format("worker {}: {}[{}] after round {} is {}: {}", rank_,
                                   plan.spec.name, i, round, value, text));
  };
  if (value < 0 || value != std::floor(value) || value >= std::ldexp(1.0, 6 * 4)) {
    complain("values equal the oracle", "not a count");
    return 0;
  }
  const auto digits = static_cast<std::uint64_t>(value);
  const Base base = base_of(plan, plan_.workers, round);
  std::uint64_t slowest = ~std::uint64_t{0};
  std::uint64_t shares = base.version;
  std::uint64_t progress = 0;  // All workers' rounds, as in a value without broadcasts.
  for (Rank rank = 0; rank < plan_.workers; ++rank) {
    const std::uint64_t counted = (digits >> (6 * rank)) & 63;
    const std::uint64_t count = base.rounds(rank, counted);
    shares += counted;
    progress += count << (6 * rank);
    slowest = std::min(slowest, count);
    if (count > plan.steps.size()) complain("values equal the oracle", "a share counts twice");
    if (rank == rank_ && count != round) {
      complain("values equal the oracle",
               fmt::format("{} of its own {} rounds are in it", count, round));
    }
  }
  const TensorOptions& options = plan.spec.options;
  // After a loss a worker may abandon a tensor and leave; the bound then does not apply.
  if (options.mode == Mode::kBounded && !plan_.has(Fault::kLoss) &&
      round > slowest + options.bound) {
    complain("the bound holds",
             fmt::format("the slowest is at {}, the bound is {}", slowest, options.bound));
  }
  // Operations may end in a different order than their values arrived: an operation ends after the
  // last frame that holds the worker's memory.
  auto& last = tensors_[index].last_seen;
  last.resize(tensors_[index].tensor->elements);  // The plan's, except with a mismatch.
  auto& [last_version, last_progress] = last[i];
  if (version >= last_version) {
    if (progress < last_progress) {
      complain("versions never go back",
               fmt::format("rounds {:#o}, they were {:#o}", progress, last_progress));
    }
    last[i] = {version, progress};
  }
  return shares;
}

// Rounds of other workers need nothing from the program until all are paused.
void SimWorker::sit_out() {
  sitting_ = true;
  ++in_flight_;
  node_.work().sit_out([this](const Result<Rank>& last) {
    --in_flight_;
    sat_out_ = true;
    codes_.insert(last.status().code());
    if (last.ok() && *last >= plan_.workers) {
      report_("ranks", fmt::format("worker {} came last of {}", *last, plan_.workers));
    }
  });
}

void SimWorker::enter_barrier() {
  const std::uint32_t number = ++barriers_entered_;
  in_barrier_ = true;
  board_[number].insert(rank_);
  ++in_flight_;
  node_.work().barrier([this, number](const Status& status) {
    --in_flight_;
    in_barrier_ = false;
    codes_.insert(status.code());
    // The next call retries the same barrier; after three failures the worker gives up.
    if (!status.ok()) barriers_entered_ = ++barriers_failed_ < 3 ? number - 1 : plan_.barriers;
    if (status.ok() && board_[number].size() != plan_.workers) {
      report_("barriers wait for all",
              fmt::format("worker {} passed barrier {} when only {} of {} were there", rank_,
                          number, board_[number].size(), plan_.workers));
    }
  });
}

}  // namespace stretto::sim
