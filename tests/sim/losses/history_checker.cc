// SPDX-License-Identifier: Apache-2.0
// The rules, one by one. Times decide which workers had to contribute: a worker counts from its
// admission until it left or was struck by a fault.
#include "tests/sim/losses/history_checker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "common/clock.h"

namespace stretto::sim {
namespace {

constexpr Duration kUndisturbed = 2s;  // Maximum duration of an undisturbed call.
constexpr Duration kAsleep = 20s;

using Call = History::Call;

bool names(const History::End& end, std::uint32_t worker) {
  const std::string name = fmt::format("worker {}", worker);
  return end.peer == name || end.cause.find(name) != std::string::npos;
}

std::string text_of(const History& history, const Call& call) {
  return fmt::format("worker {}, {} round {}", call.worker, history.tensors[call.tensor].name,
                     call.round);
}

Time when(const std::map<std::uint32_t, Time>& times, std::uint32_t worker) {
  const auto found = times.find(worker);
  return found == times.end() ? Time::max() : found->second;
}

}  // namespace

HistoryChecker::HistoryChecker(const History& history) : history_(history) {
  workers_ = history.workers;
  if (!history.came.empty()) workers_ = std::max(workers_, history.came.rbegin()->first + 1);
  if (!history.lost.empty()) workers_ = std::max(workers_, history.lost.rbegin()->first + 1);
  for (const Call& call : history.calls) workers_ = std::max(workers_, call.worker + 1);
  pushes_.assign(history.tensors.size(), std::vector<std::vector<const Call*>>(workers_));
  for (const Call& call : history.calls) {
    if (call.pushes) pushes_[call.tensor][call.worker].push_back(&call);
  }
}

std::optional<Violation> HistoryChecker::check() {
  all_ends();
  errors_name_who_was_hit();
  going_on_fails_nobody();
  barriers_are_of_all();
  ranks_are_agreed();
  little_is_kept();
  rounds_are_sums();
  pushes_count_once();
  return violation_;
}

void HistoryChecker::broken(const std::string& rule, const std::string& what) {
  if (!violation_) violation_ = Violation{"history: " + rule, what};
}

// ---- membership

// The rounds of a tensor before the worker joined; rounds go in turns over all tensors.
std::uint64_t HistoryChecker::rounds_before(std::size_t tensor, std::uint32_t worker) const {
  const auto found = history_.came.find(worker);
  if (found == history_.came.end()) return 0;
  std::uint64_t rounds = 0;
  for (std::uint64_t turn = 0; turn < found->second.turns; ++turn) {
    if (turn % history_.tensors.size() == tensor) ++rounds;
  }
  return rounds;
}

bool HistoryChecker::is_in(std::uint32_t worker, Time at) const {
  if (worker >= history_.workers) {
    const auto found = history_.came.find(worker);
    if (found == history_.came.end() || found->second.at > at) return false;
  }
  return at < when(history_.lost, worker) && at < when(history_.left, worker);
}

// ---- ends

Duration HistoryChecker::allowed(Time begun, Time ended) const {
  Duration all = kUndisturbed;
  for (const History::Disturbance& each : history_.disturbances) {
    if (each.at <= ended && each.at + each.costs >= begun) all += each.costs;
  }
  return std::min(all, history_.call_limit);
}

void HistoryChecker::all_ends() {
  if (!history_.going.empty()) {
    broken("all that live end", fmt::format("not worker {}", fmt::join(history_.going, ", ")));
  }
  const auto check = [this](std::uint32_t worker, Time begun, Time ended, const std::string& what) {
    if (!lives(worker)) return;
    if (ended == Time::max()) return broken("every call ends", what);
    if (ended - begun <= allowed(begun, ended)) return;
    broken("every call ends in time",
           fmt::format("{} took {:.3f} s, {:.3f} are allowed", what, seconds(ended - begun),
                       seconds(allowed(begun, ended))));
  };
  for (const Call& call : history_.calls) {
    check(call.worker, call.begun, call.end.at, text_of(history_, call));
  }
  for (const History::Barrier& barrier : history_.barriers) {
    check(barrier.worker, barrier.begun, barrier.end.at,
          fmt::format("worker {}, barrier {}", barrier.worker, barrier.number));
  }
}

// Every worker that an error blames was struck by then, and the error names such a worker.
void HistoryChecker::check_error(std::uint32_t worker, const History::End& end,
                                 const std::string& what) {
  if (end.at == Time::max() || end.ok) return;
  bool one = false;
  for (std::uint32_t other = 0; other < workers_; ++other) {
    const bool hit = when(history_.lost, other) <= end.at;
    const bool blamed = end.peer == fmt::format("worker {}", other);
    if (blamed && !hit) {
      broken("errors blame who was hit",
             fmt::format("{} blames worker {}: {}", what, other, end.cause));
    }
    one = one || (hit && names(end, other));
  }
  const bool deaf = history_.unheard.contains(worker);
  if (!one && !deaf) {
    broken("errors blame who was hit",
           fmt::format("{} blames nobody who was: {}", what, end.cause));
  }
}

void HistoryChecker::errors_name_who_was_hit() {
  check_error(workers_, history_.job, "the scheduler");
  for (const Call& call : history_.calls) {
    if (lives(call.worker)) check_error(call.worker, call.end, text_of(history_, call));
  }
  for (const auto& [worker, end] : history_.ends) {
    // A worker that was never admitted may have been refused.
    const bool in = worker < history_.workers || history_.came.contains(worker);
    if (lives(worker) && in) check_error(worker, end, fmt::format("worker {}", worker));
    const bool back = history_.asleep.contains(worker) && !history_.done.contains(worker);
    if (back && end.ok && end.at > after(when(history_.lost, worker), kAsleep / 2)) {
      broken("who is lost hears of it", fmt::format("worker {} left in order", worker));
    }
  }
}

// In a job that continues no survivor sees an error. It continues while enough are left.
void HistoryChecker::going_on_fails_nobody() {
  bool any = false;  // An initial worker, which knows the values, survives.
  for (std::uint32_t worker = 0; worker < history_.workers; ++worker) {
    any = any || (lives(worker) && !history_.left.contains(worker));
  }
  const bool enough = history_.lost.size() + history_.min_workers <= history_.workers;
  if (enough && any && !history_.job.ok) {
    broken("the job goes on while enough are left", history_.job.cause);
  }
  if (!history_.job.ok) return;
  for (const Call& call : history_.calls) {
    if (!lives(call.worker) || call.end.ok || call.end.at == Time::max()) continue;
    broken("no call fails because of a loss",
           fmt::format("{}: {}", text_of(history_, call), call.end.cause));
  }
  for (const auto& [worker, end] : history_.ends) {
    const bool in = worker < history_.workers || history_.came.contains(worker);
    if (in && lives(worker) && !end.ok) {
      broken("no call fails because of a loss", fmt::format("worker {}: {}", worker, end.cause));
    }
  }
}

// ---- rounds

// Each value is the sum of whole parts that workers sent for its round.
void HistoryChecker::rounds_are_sums() {
  std::map<std::pair<std::size_t, std::uint64_t>, const Call*> first;  // Of a round.
  for (const Call& call : history_.calls) {
    if (history_.tensors[call.tensor].options.mode != Mode::kSync) continue;
    if (!call.pulls || !call.end.ok) continue;
    check_round(call);
    // In direct exchanges a value may be lost with its last holder; the survivors make another.
    const bool is_gone = !lives(call.worker) || history_.left.contains(call.worker);
    const TensorSpec& spec = history_.tensors[call.tensor];
    if (is_gone && spec.options.exchange != Exchange::kServers) continue;
    const Call& other = *first.try_emplace({call.tensor, call.round}, &call).first->second;
    if (other.got != call.got) {
      broken("all get the same bytes",
             fmt::format("{}, and not what worker {} has", text_of(history_, call), other.worker));
    }
  }
}

void HistoryChecker::check_round(const Call& call) {
  std::vector<const Call*> pushes;
  for (std::uint32_t worker = 0; worker < workers_; ++worker) {
    for (const Call* push : pushes_[call.tensor][worker]) {
      if (push->round == call.round && push->begun <= call.end.at) pushes.push_back(push);
    }
  }
  std::uint32_t fewest = workers_;
  std::uint32_t of_part = 0;
  for (std::size_t element = 0; element < call.got.size(); ++element) {
    const std::uint32_t makers = makers_of(call, element, pushes);
    if (makers == 0) {
      return broken("values are sums of what was sent",
                    fmt::format("{} element {} is {:#x}", text_of(history_, call), element,
                                call.got[element]));
    }
    if (element % history_.part_elements == 0) {
      of_part = makers;
      check_makers(call, makers);
    }
    if (makers != of_part) {
      broken("a part is made by the same workers",
             fmt::format("{} element {}", text_of(history_, call), element));
    }
    fewest = std::min(fewest, static_cast<std::uint32_t>(std::popcount(makers)));
  }
  if (call.contributors != fewest) {
    broken("contributors are counted",
           fmt::format("{}: of {}, was told of {}", text_of(history_, call), fewest,
                       call.contributors));
  }
}

// A bit for each contributor; 0: the value is not such a sum.
std::uint32_t HistoryChecker::makers_of(const Call& call, std::size_t element,
                                        const std::vector<const Call*>& pushes) const {
  for (std::uint32_t chosen = 1; chosen < (std::uint32_t{1} << pushes.size()); ++chosen) {
    std::int64_t sum = 0;
    std::uint32_t makers = 0;
    for (std::size_t i = 0; i < pushes.size(); ++i) {
      if ((chosen >> i & 1) == 0) continue;
      sum += pushes[i]->sent[element];
      makers |= std::uint32_t{1} << pushes[i]->worker;
    }
    if (sum == call.got[element]) return makers;
  }
  return 0;
}

void HistoryChecker::check_makers(const Call& call, std::uint32_t makers) {
  for (std::uint32_t worker = 0; worker < workers_; ++worker) {
    const bool made = (makers >> worker & 1) != 0;
    const Call* push = nullptr;
    for (const Call* each : pushes_[call.tensor][worker]) {
      if (each->round == call.round) push = each;
    }
    const bool owes = is_in(worker, call.end.at) && rounds_before(call.tensor, worker) < call.round;
    if (!made && owes) {
      broken("a round is of all who are in",
             fmt::format("{} lacks worker {}", text_of(history_, call), worker));
    }
    // A lost worker's push is removed from an open round, even if it was acknowledged.
    if (!made && push != nullptr && push->end.ok && lives(worker)) {
      broken("what was acknowledged is in", fmt::format("{} lacks worker {}, whose push has ended",
                                                        text_of(history_, call), worker));
    }
    // Pushes that an awakened worker begins after the detection of its loss must not count.
    const bool awake = made && push->begun > after(when(history_.lost, worker), kAsleep / 2);
    // In direct exchanges two awakened workers may exchange until they learn of their expulsion.
    const bool among = history_.tensors[call.tensor].options.exchange != Exchange::kServers;
    const bool both = among && !lives(call.worker);
    if (awake && !both && history_.asleep.contains(worker)) {
      broken("who was lost changes nothing",
             fmt::format("{} has worker {} in it", text_of(history_, call), worker));
    }
  }
}

// ---- values that grow

void HistoryChecker::pushes_count_once() {
  for (std::size_t tensor = 0; tensor < history_.tensors.size(); ++tensor) {
    if (history_.tensors[tensor].options.mode == Mode::kSync) continue;
    std::vector<const Call*> calls;
    std::vector<std::vector<Counts>> counts;
    for (const Call& call : history_.calls) {
      if (call.tensor != tensor || !call.pulls || !call.end.ok) continue;
      calls.push_back(&call);
      std::vector<Counts>& all = counts.emplace_back();
      for (std::size_t element = 0; element < call.got.size(); ++element) {
        all.push_back(counts_in(call, element));
        if (violation_) return;
        if (element % history_.part_elements == 0) {
          check_counts(call, all.back());
        } else if (all.back() != all[element - 1]) {
          broken("a part is made by the same workers",
                 fmt::format("{} element {}", text_of(history_, call), element));
        }
      }
    }
    if (!is_eager(history_.tensors[tensor].options.mode)) reads_go_forward(tensor, calls, counts);
  }
}

// A worker's pushes count in order, so a value holds a prefix of each worker's. All pushes of a
// worker together are less than each push of the next worker: the solution is unique.
HistoryChecker::Counts HistoryChecker::counts_in(const Call& call, std::size_t element) {
  const auto& pushes = pushes_[call.tensor];
  std::vector<std::uint32_t> order;
  for (std::uint32_t worker = 0; worker < workers_; ++worker) {
    if (!pushes[worker].empty()) order.push_back(worker);
  }
  std::ranges::sort(order, std::greater<>(),
                    [&](std::uint32_t worker) { return pushes[worker].front()->sent[element]; });
  std::int64_t rest = call.got[element];
  Counts counts(workers_, 0);
  for (const std::uint32_t worker : order) {
    for (const Call* push : pushes[worker]) {
      if (rest < push->sent[element] || push->begun > call.end.at) break;
      rest -= push->sent[element];
      ++counts[worker];
    }
  }
  if (rest != 0) {
    broken("values are sums of what was sent",
           fmt::format("{} element {} is {:#x}: {} of each, and {:#x}", text_of(history_, call),
                       element, call.got[element], fmt::join(counts, ", "), rest));
  }
  return counts;
}

void HistoryChecker::check_counts(const Call& call, const Counts& counts) {
  const Mode mode = history_.tensors[call.tensor].options.mode;
  for (std::uint32_t worker = 0; worker < workers_; ++worker) {
    const auto& pushes = pushes_[call.tensor][worker];
    // Eager values, except the last, may lack acknowledged pushes. A lost worker's push is removed
    // from an open round.
    const bool surely = is_eager(mode) ? call.last && (lives(worker) || !has_rounds(mode)) : true;
    const Time known = surely ? call.begun : Time();
    std::uint64_t acknowledged = 0;
    for (std::size_t i = 0; i < pushes.size(); ++i) {
      if (pushes[i]->end.ok && pushes[i]->end.at <= known) acknowledged = i + 1;
    }
    if (counts[worker] < acknowledged) {
      broken("what was acknowledged is in",
             fmt::format("{} has {} pushes of worker {}, {} had ended", text_of(history_, call),
                         counts[worker], worker, acknowledged));
    }
    const bool woken =
        history_.asleep.contains(worker) && counts[worker] > 0 &&
        pushes[counts[worker] - 1]->begun > after(when(history_.lost, worker), kAsleep / 2);
    if (woken) {
      broken("who was lost changes nothing",
             fmt::format("{} has worker {} in it", text_of(history_, call), worker));
    }
  }
  if (mode == Mode::kBounded) check_bound(call, counts);
}

void HistoryChecker::check_bound(const Call& call, const Counts& counts) {
  const std::uint32_t bound = history_.tensors[call.tensor].options.bound;
  for (std::uint32_t worker = 0; worker < workers_; ++worker) {
    const std::uint64_t made = rounds_before(call.tensor, worker) + counts[worker];
    if (!is_in(worker, call.end.at) || made + bound >= call.round) continue;
    broken("no value is older than the bound",
           fmt::format("{} has {} rounds of worker {}, the bound is {}", text_of(history_, call),
                       made, worker, bound));
  }
}

// A value requested after another value arrived holds all pushes in that value.
void HistoryChecker::reads_go_forward(std::size_t tensor, const std::vector<const Call*>& calls,
                                      const std::vector<std::vector<Counts>>& counts) {
  std::vector<std::size_t> by_begin(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) by_begin[i] = i;
  std::vector<std::size_t> by_end = by_begin;
  std::ranges::stable_sort(by_begin, {}, [&](std::size_t i) { return calls[i]->begun; });
  std::ranges::stable_sort(by_end, {}, [&](std::size_t i) { return calls[i]->end.at; });
  std::vector<Counts> most(history_.tensors[tensor].elements, Counts(workers_, 0));
  std::size_t ended = 0;
  for (const std::size_t now : by_begin) {
    for (; ended < by_end.size() && calls[by_end[ended]]->end.at < calls[now]->begun; ++ended) {
      for (std::size_t element = 0; element < most.size(); ++element) {
        for (std::uint32_t worker = 0; worker < workers_; ++worker) {
          std::uint64_t& known = most[element][worker];
          known = std::max(known, counts[by_end[ended]][element][worker]);
        }
      }
    }
    for (std::size_t element = 0; element < most.size(); ++element) {
      if (std::ranges::equal(most[element], counts[now][element], std::less_equal<>())) continue;
      broken("values never go back",
             fmt::format("{} element {} has {} of each, others had {}",
                         text_of(history_, *calls[now]), element,
                         fmt::join(counts[now][element], ", "), fmt::join(most[element], ", ")));
    }
  }
}

// ---- barriers, ranks, memory

void HistoryChecker::barriers_are_of_all() {
  std::map<std::pair<std::uint32_t, std::uint64_t>, Time> entered;
  for (const History::Barrier& each : history_.barriers) {
    entered[{each.worker, each.number}] = each.begun;
  }
  for (const History::Barrier& each : history_.barriers) {
    if (!each.end.ok) continue;
    for (std::uint32_t worker = 0; worker < workers_; ++worker) {
      const auto came = history_.came.find(worker);
      const bool before =
          came == history_.came.end() || came->second.turns < each.number * history_.barrier_every;
      if (!is_in(worker, each.end.at) || !before) continue;
      const auto at = entered.find({worker, each.number});
      if (at != entered.end() && at->second <= each.end.at) continue;
      broken("barriers wait for all who are in",
             fmt::format("worker {} passed barrier {} without worker {}", each.worker, each.number,
                         worker));
    }
  }
}

// All workers of an epoch agree, ranks have no gaps, and survivors keep their order.
void HistoryChecker::ranks_are_agreed() {
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_epoch;
  for (const History::Place& place : history_.places) {
    const auto [known, is_new] = by_epoch.try_emplace(place.epoch, place.numbers);
    const bool agreed = is_new || known->second == place.numbers;
    const bool in = std::ranges::count(place.numbers, place.worker) > 0;
    const bool ours =
        !in || (place.rank < place.numbers.size() && place.numbers[place.rank] == place.worker);
    if (agreed && ours) continue;
    broken("ranks are agreed on",
           fmt::format("worker {} in epoch {}: rank {} of {}", place.worker, place.epoch,
                       place.rank, fmt::join(place.numbers, ", ")));
  }
  std::set<std::uint32_t> gone;
  const std::vector<std::uint32_t>* before = nullptr;
  for (const auto& [epoch, numbers] : by_epoch) {
    std::vector<std::uint32_t> stayed;
    if (before != nullptr) {
      for (const std::uint32_t worker : *before) {
        const bool stays = std::ranges::count(numbers, worker) > 0;
        if (stays) stayed.push_back(worker);
        if (!stays) gone.insert(worker);
      }
    }
    const bool kept = stayed.size() <= numbers.size() &&
                      std::equal(stayed.begin(), stayed.end(), numbers.begin());
    const bool back =
        std::ranges::any_of(numbers, [&](std::uint32_t worker) { return gone.contains(worker); });
    if (!kept || back) {
      broken("who stays keeps its order",
             fmt::format("epoch {} has {}", epoch, fmt::join(numbers, ", ")));
    }
    before = &numbers;
  }
}

// A worker has at most one open round of a part, and few pending pulls of the part.
void HistoryChecker::little_is_kept() {
  for (const auto& [slot, shards] : history_.owners) {
    if (shards.size() > 1) {
      broken("a slot has one owner", fmt::format("slot {}: {}", slot, fmt::join(shards, ", ")));
    }
  }
  std::uint32_t known = workers_;  // Includes members not yet notified at the end.
  for (const History::Place& place : history_.places) {
    for (const std::uint32_t number : place.numbers) known = std::max(known, number + 1);
  }
  for (const auto& [shard, kept] : history_.kept) {
    if (kept.senders <= known && kept.waiting <= std::size_t{3} * workers_) continue;
    broken("memory is bounded", fmt::format("{} knew {} senders of a part, and {} waited for one",
                                            shard, kept.senders, kept.waiting));
  }
}

}  // namespace stretto::sim
