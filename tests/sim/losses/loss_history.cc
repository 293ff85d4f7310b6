// SPDX-License-Identifier: Apache-2.0
// What is told of an elastic job: to the second oracle, and to people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "tests/sim/losses/loss_job.h"

namespace stretto::sim {

void LossJob::begin_history() {
  History& history = board_.history;
  const Config config = config_of(Role::kScheduler, -1);
  history.tensors = plan_.tensors;
  history.workers = plan_.workers;
  history.min_workers = plan_.min_workers;
  history.part_elements = config.job.part_bytes / sizeof(std::int64_t);
  history.barrier_every = plan_.barrier_every;
  history.call_limit = config.operation_timeout;
}

void LossJob::note_kept(const Process& process) {
  History::Kept& kept = board_.history.kept[process.name];
  const std::string place =
      !plan_.servers_change()
          ? process.name
          : fmt::format("place {} of {}",
                        static_cast<std::uint32_t>(process.config.rank) % plan_.servers,
                        process.name.substr(std::min(process.name.find('.'), process.name.size())));
  process.shard->slots().for_each_slot([&](const Slot& slot) {
    board_.history.owners[slot.number()].insert(place);
    slot.for_each_part([&](const Part& part) {
      kept.senders = std::max(kept.senders, part.counted.workers());
      kept.waiting = std::max(kept.waiting, part.waiting.size());
    });
  });
}

History::End LossJob::end_of(const Status& status) const {
  return {.at = clock_.now(), .ok = status.ok(), .peer = status.peer(), .cause = status.cause()};
}

void LossJob::end_history() {
  History& history = board_.history;
  history.job = end_of(scheduler_->status());
  for (History::Place& place : history.places) {
    for (std::uint32_t& number : place.numbers) {
      const Rank told = number;
      for (const Return& each : returns_) {
        const bool is_it = each.out_since != 0 && each.number == told;
        if (is_it && place.epoch >= each.out_since) number = each.newcomer;
      }
    }
  }
  for (const auto& process : processes_) {
    if (process->user == nullptr || !process->alive) continue;
    if (!process->user->finished()) history.going.insert(process->number);
  }
}

std::string LossJob::describe() const {
  std::string text = fmt::format("{} workers, at least {}, {} links, lost {}; {}; ", plan_.workers,
                                 plan_.min_workers, plan_.worker_links,
                                 fmt::join(board_.lost, ", "), scheduler_->phase());
  if (servers_.lost() != 0) {
    text += fmt::format("{} servers lost, the last after {:.3f} ms; ", servers_.lost(),
                        seconds(servers_.last_loss() - began_) * 1e3);
  }
  if (returning_.came() != 0) {
    text += fmt::format("scheduler {}, all had found it after {:.3f} ms; ", returning_.came() + 1,
                        seconds(returning_.settled_at() - began_) * 1e3);
  }
  for (const LossPlan::Strike& strike : plan_.strikes) {
    text += fmt::format("{} after {:.3f} ms; ", name_of(strike.kind), seconds(strike.after) * 1e3);
  }
  for (const auto& process : processes_) {
    const bool failed = process->alive && process->user != nullptr && process->user->outcome() &&
                        !process->user->outcome()->ok();
    if (failed) text += fmt::format("{}: {}; ", process->name, process->user->outcome()->text());
    if (!process->alive || process->agent->over()) continue;
    text +=
        process->name + (process->user != nullptr ? ": " + process->user->describe() : "") + "; ";
  }
  return text;
}

void LossJob::report(const std::string& invariant, const std::string& text) {
  if (violation_ || watched_ == Watched::kByNobody) return;
  violation_ = Violation{
      invariant,
      fmt::format("at {} ms: {}",
                  std::chrono::duration<double, std::milli>(clock_.now() - began_).count(), text)};
}

}  // namespace stretto::sim
