// SPDX-License-Identifier: Apache-2.0
// Rounds of all kinds, and checks of their values.
#include "tests/sim/servers/returns_user.h"

#include <algorithm>

namespace stretto::sim {
namespace {

constexpr std::uint32_t kMostOfATensor = 3;  // Operations in flight.
constexpr std::uint64_t kFromMeetingToMeeting = 3;

std::int64_t given(std::uint32_t worker, std::uint64_t round, std::uint64_t element) {
  return static_cast<std::int64_t>((worker + 1) * 10'000'000 + round * 10'000 + element);
}

// The same for all workers.
bool is_broadcast(std::size_t index, std::uint64_t round) { return (index * 5 + round) % 4 == 0; }

}  // namespace

struct ReturnsUser::Memory {
  std::vector<std::int64_t> source;
  std::vector<std::int64_t> target;
  bool in_place = false;
  const std::vector<std::int64_t>& got() const { return in_place ? source : target; }
};

ReturnsUser::ReturnsUser(const ReturnsPlan& plan, std::uint32_t number, WorkerNode& node,
                         std::uint64_t seed, Report report)
    : plan_(plan),
      number_(number),
      node_(node),
      random_(seed),
      report_(std::move(report)),
      tensors_(plan.tensors.size()) {
  node_.join([this](const Status& status) {
    joined_ = status.ok();
    if (!status.ok()) outcome_ = status;
    for (std::size_t index = 0; joined_ && index < tensors_.size(); ++index) {
      if (!plan_.scheduler_returns) declare(index);
    }
  });
}

std::uint64_t ReturnsUser::may_begin() const {
  return plan_.scheduler_returns ? std::min(plan_.rounds, kFromMeetingToMeeting * (met_ + 1))
                                 : plan_.rounds;
}

// All workers enter the same number of barriers, each between the same rounds of all tensors.
bool ReturnsUser::meet() {
  if (meeting_) return true;
  if (!plan_.scheduler_returns || may_begin() == plan_.rounds) return false;
  for (const Progress& one : tensors_) {
    if (one.in_flight != 0 || one.begun < may_begin()) return false;
  }
  meeting_ = true;
  node_.work().barrier([this](const Status& status) {
    meeting_ = false;
    ++met_;
    if (!status.ok()) failed_ = status;
  });
  return true;
}

void ReturnsUser::declare(std::size_t index) {
  tensors_[index].declared = true;
  node_.work().declare(plan_.tensors[index], [this, index](const Result<Tensor>& made) {
    if (made.ok()) tensors_[index].tensor = *made;
    if (!made.ok()) failed_ = made.status();
  });
}

void ReturnsUser::act() {
  if (node_.over() && !outcome_) outcome_ = node_.membership().status();
  if (!joined_ || outcome_ || leaving_) return;
  if (!failed_.ok()) {  // The program ends with the error.
    outcome_ = failed_;
    node_.abandon();
    return;
  }
  if (meet()) return;
  bool done = true;
  for (std::size_t index = 0; index < tensors_.size(); ++index) {
    Progress& progress = tensors_[index];
    const bool more = failed_.ok() && progress.begun < may_begin();
    done = done && !more && progress.in_flight == 0;
    if (plan_.scheduler_returns && !progress.declared && random_.chance(0.3)) declare(index);
    if (!more || !progress.tensor || progress.in_flight >= kMostOfATensor) continue;
    if (random_.chance(0.5)) start_round(index);
  }
  if (!done) return;
  leaving_ = true;
  // A worker that has left cannot send its values to a restarted server.
  if (!failed_.ok() || plan_.may_lose) return leave();
  node_.work().barrier([this](const Status& status) {
    if (!status.ok()) failed_ = status;
    look_at_all();
  });
}

// The servers' values must hold all contributions, each once.
void ReturnsUser::look_at_all() {
  for (std::size_t index = 0; failed_.ok() && index < tensors_.size(); ++index) {
    if (plan_.tensors[index].options.mode == Mode::kSync) continue;
    ++last_looks_;
    launch(index, Operation::Kind::kPull, plan_.rounds + 1);
  }
  if (last_looks_ == 0) finish();
}

void ReturnsUser::finish() {
  if (!failed_.ok() || (plan_.replicas == 1 && !plan_.moves)) return leave();
  node_.work().barrier([this](const Status& status) {
    if (!status.ok()) failed_ = status;
    leave();
  });
}

void ReturnsUser::leave() {
  node_.leave([this](const Status& status) { outcome_ = failed_.ok() ? status : failed_; });
}

void ReturnsUser::start_round(std::size_t index) {
  const std::uint64_t round = ++tensors_[index].begun;
  if (plan_.tensors[index].options.mode != Mode::kSync) {
    const bool both = !is_eager(plan_.tensors[index].options.mode) && random_.chance(0.5);
    launch(index, both ? Operation::Kind::kPushPull : Operation::Kind::kPush, round);
    if (random_.chance(0.3)) launch(index, Operation::Kind::kPull, round);
    return;
  }
  if (is_broadcast(index, round)) {
    const bool root = round % plan_.workers == number_;
    return launch(
        index, root ? Operation::Kind::kBroadcastRoot : Operation::Kind::kBroadcastReceiver, round);
  }
  if (!plan_.may_lose || random_.chance(0.6)) {
    return launch(index, Operation::Kind::kPushPull, round);
  }
  launch(index, Operation::Kind::kPush, round);
  if (random_.chance(0.7)) launch(index, Operation::Kind::kPull, round);
}

void ReturnsUser::launch(std::size_t index, Operation::Kind kind, std::uint64_t round) {
  const std::uint64_t elements = plan_.tensors[index].elements;
  auto memory = std::make_shared<Memory>();
  auto operation = std::make_shared<Operation>();
  operation->kind = kind;
  operation->tensor = *tensors_[index].tensor;
  operation->priority = static_cast<std::int32_t>(random_.below(3));
  operation->root = static_cast<std::uint32_t>(round % plan_.workers);
  if (operation->pushes() && kind != Operation::Kind::kBroadcastReceiver) {
    for (std::uint64_t i = 0; i < elements; ++i) {
      memory->source.push_back(given(number_, round, i));
    }
    operation->source = std::as_bytes(std::span(memory->source));
    memory->in_place = operation->broadcasts() || random_.chance(0.5);
  }
  if (operation->wants_value()) {
    if (!memory->in_place) memory->target.assign(elements, -1);
    operation->target =
        std::as_writable_bytes(std::span(memory->in_place ? memory->source : memory->target));
  }
  operation->ticket = std::make_shared<detail::TicketState>(1);
  ++in_flight_;
  ++tensors_[index].in_flight;
  auto* raw = operation.get();  // Alive while its ticket can end.
  operation->ticket->on_done([this, index, round, memory, raw](const Status& status) {
    --in_flight_;
    --tensors_[index].in_flight;
    if (!status.ok()) failed_ = status;
    if (status.ok() && raw->wants_value()) look_at(index, *raw, round, memory->got());
    if (round > plan_.rounds && --last_looks_ == 0) finish();
  });
  node_.work().start(operation);
}

void ReturnsUser::look_at(std::size_t index, const Operation& operation, std::uint64_t round,
                          const std::vector<std::int64_t>& got) {
  ++values_;
  const bool keeps = plan_.tensors[index].options.mode != Mode::kSync;
  if (keeps && round <= plan_.rounds) return;  // Some contributions are in it.
  for (std::uint64_t i = 0; i < got.size(); ++i) {
    std::int64_t wanted = 0;
    for (std::uint64_t each = 1; keeps && each <= plan_.rounds; ++each) {
      for (std::uint32_t worker = 0; worker < plan_.workers; ++worker) {
        wanted += given(worker, each, i);
      }
    }
    for (std::uint32_t worker = 0; !keeps && worker < plan_.workers; ++worker) {
      const bool counts = !operation.broadcasts() || worker == operation.root;
      if (counts) wanted += given(worker, round, i);
    }
    if (got[i] == wanted) continue;
    return report_("sums are exact",
                   fmt::format("worker {}, tensor {}, round {}, element {}: {}, wanted {}", number_,
                               index, round, i, got[i], wanted));
  }
  if (keeps) return;
  const bool all = operation.info.contributors == plan_.workers || operation.broadcasts();
  if (!all) report_("all contribute", fmt::format("{} do", operation.info.contributors));
  if (operation.info.version != round) {
    report_("versions are rounds", fmt::format("{} of {}", operation.info.version, round));
  }
}

}  // namespace stretto::sim
