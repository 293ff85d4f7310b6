// SPDX-License-Identifier: Apache-2.0
// The worker of elastic jobs in tools/chaos: exchanges tensors in one or several modes until all
// are told to stop, and compares every element of every value with a ledger, a file that all
// workers of the job map: the rounds that each has started and those acknowledged to it, also of
// killed workers.
//
// Elements form groups of 64. Worker n contributes to element n of each group, and a multiple of
// that to the last one, which all share: a value identifies the included contributions, and their
// number; a group is within one part, so it has a worker's whole contribution or none. Workers that
// join later contribute from their first step on.
#include <fcntl.h>
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <poll.h>
#include <stretto/steps.h>
#include <stretto/worker.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "common/config/config.h"

DEFINE_string(until, "", "A file: once it is there all stop after the same round");
DEFINE_string(ledger, "", "A file of 64 entries, at first zeros");
DEFINE_string(commits, "", "A file to which the time of each round's end is added, in seconds");
DEFINE_string(modes, "sync",
              "A tensor for each of them; ring and the like: sync, by that exchange");
DEFINE_int64(elements, 6400, "Elements of each tensor; a multiple of 64");
DEFINE_int64(pause_ms, 0, "Milliseconds from the end of a round to the next round");

namespace stretto {
namespace {

constexpr std::int64_t kGroup = 64;
constexpr std::int64_t kShared = kGroup - 1;  // The element to which all contribute.
constexpr std::int64_t kStopEvery = 20;       // Rounds; they also have a digest.

/// A worker in the ledger, by rounds of the job.
struct Entry {
  std::atomic<std::int64_t> begun;
  std::atomic<std::int64_t> acknowledged;
  std::atomic<std::int64_t> done;    ///< Its last round; 0: it has not stopped.
  std::atomic<std::int64_t> before;  ///< Rounds over before its first one.

  /// Its own number of rounds at that round of the job.
  std::int64_t own(std::int64_t rounds) const { return rounds - before; }
};

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void fail(const std::string& line) {
  say("wrong: " + line);
  std::_Exit(3);
}

Entry* ledger() {
  const int file = ::open(FLAGS_ledger.c_str(), O_RDWR | O_CLOEXEC);
  void* memory =
      ::mmap(nullptr, kGroup * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) fail("the ledger cannot be mapped");
  ::close(file);
  return static_cast<Entry*>(memory);
}

/// The strategy of a tensor.
struct Way {
  std::string name;
  Mode mode = Mode::kSync;
  Exchange exchange = Exchange::kServers;
};

/// One tensor and its results.
class Series {
 public:
  Series(Worker& worker, const Way& way, std::int64_t number, Entry* entries)
      : mode_(way.mode),
        among_(way.exchange != Exchange::kServers),
        number_(number),
        entries_(entries),
        tensor_(declared(worker, way)),
        mine_(static_cast<std::size_t>(FLAGS_elements)),
        apart_(mine_.size()),
        before_(mine_.size()) {}

  /// In place and not, in one call and in two, by turns.
  void begin(Worker& worker, std::int64_t round) {
    const std::int64_t share = mode_ == Mode::kSync ? round : 1;
    for (std::size_t i = 0; i < mine_.size(); ++i) {
      const std::int64_t slot = static_cast<std::int64_t>(i) % kGroup;
      mine_[i] = slot == number_ ? share : slot == kShared ? share * (number_ + 1) : 0;
    }
    in_place_ = round % 2 == 0;
    if (round % 3 == 0 && !among_) {
      first_ = worker.push(tensor_, mine_);
      last_ = worker.pull(tensor_, apart_);
      in_place_ = false;
    } else {
      last_ = first_ = worker.push_pull(tensor_, mine_, in_place_ ? mine_ : apart_);
    }
  }

  void end(std::int64_t round) {
    first_.wait().or_exit();
    last_.wait().or_exit();
    check(in_place_ ? mine_ : apart_, round, false);
  }

  /// After a barrier that follows the last round of all.
  void read(Worker& worker, std::int64_t round) {
    if (mode_ == Mode::kSync) return;
    last_ = worker.pull(tensor_, apart_);
    last_.wait().or_exit();
    check(apart_, round, true);
  }

  /// Of the results since the last call.
  std::uint64_t take_digest() { return std::exchange(digest_, 0); }

 private:
  static Tensor declared(Worker& worker, const Way& way) {
    TensorOptions options;
    options.mode = way.mode;
    options.exchange = way.exchange;
    if (way.mode == Mode::kBounded) options.bound = 2;
    return worker.declare(way.name, Dtype::kI64, static_cast<std::size_t>(FLAGS_elements), options)
        .or_exit();
  }

  void check(const std::vector<std::int64_t>& values, std::int64_t round, bool is_last) {
    std::uint32_t fewest = kGroup;
    for (std::size_t group = 0; group < values.size(); group += kGroup) {
      std::uint32_t count = 0;
      std::int64_t shared = 0;
      for (std::int64_t number = 0; number < kShared; ++number) {
        const std::size_t i = group + static_cast<std::size_t>(number);
        if (mode_ == Mode::kSync) {
          check_round(number, values[i], before_[i], round);
        } else {
          check_growth(number, values[i], before_[i], round, is_last);
        }
        shared += values[i] * (number + 1);
        if (values[i] != 0) ++count;
      }
      if (values[group + kShared] != shared) {
        fail(fmt::format("doubled: {} in group {} where {} is due", values[group + kShared], group,
                         shared));
      }
      fewest = std::min(fewest, count);
    }
    if (mode_ == Mode::kSync && fewest != last_.info().contributors) {
      fail(fmt::format("{} contributors, told {}", fewest, last_.info().contributors));
    }
    before_ = values;
    if (mode_ != Mode::kSync) return;
    for (const std::int64_t value : values) {
      digest_ = (digest_ ^ static_cast<std::uint64_t>(value)) * 0x100000001B3ULL;
    }
  }

  // A round's own sum: each contribution is whole or absent.
  void check_round(std::int64_t number, std::int64_t value, std::int64_t before,
                   std::int64_t round) const {
    const Entry& entry = entries_[number];
    const auto told = [&](const char* what) {
      fail(fmt::format("{}: worker {} has {} in sync round {}", what, number, value, round));
    };
    const bool ours_is_first = entries_[number_].own(round) == 1;
    const bool is_in = entry.own(round) == 1 || before != 0 || ours_is_first;
    if (value == round && entry.begun >= round && is_in) return;
    if (value == 0 && number != number_ && entry.acknowledged < round && entry.done < round) return;
    // Among workers the last common value can be lost with the only workers that got it.
    if (value == 0 && number != number_ && among_ && entry.acknowledged == round) return;
    if (value == round && entry.begun >= round) told("somebody came back");
    told(value == 0 ? "lost" : "doubled");
  }

  // A value that grows: a number of rounds of each worker.
  void check_growth(std::int64_t number, std::int64_t value, std::int64_t before,
                    std::int64_t round, bool is_last) const {
    const Entry& entry = entries_[number];
    const auto told = [&](const char* what) {
      fail(
          fmt::format("{}: worker {} has {} in a value of mode {} in round {}, begun {}, "
                      "acknowledged {}, before {}",
                      what, number, value, name_of(mode_), round, entry.begun.load(),
                      entry.acknowledged.load(), before));
    };
    if (value > entry.own(entry.begun)) told("doubled");
    if (value < 0) told("lost");
    if (is_eager(mode_) && !is_last) return;
    if (value < before && !is_eager(mode_)) told("lost");
    if (!is_last && number == number_ && value != entry.own(round)) told("lost");
    if (!is_last || mode_ == Mode::kEagerAsync) return;
    if (entry.done != 0 && value != entry.own(entry.done)) told("lost");
    if (!is_eager(mode_) && value < entry.own(entry.acknowledged)) told("lost");
  }

  const Mode mode_;
  const bool among_;  // It is exchanged among workers.
  const std::int64_t number_;
  const Entry* const entries_;
  const Tensor tensor_;
  std::vector<std::int64_t> mine_;
  std::vector<std::int64_t> apart_;
  std::vector<std::int64_t> before_;
  Ticket first_;
  Ticket last_;
  bool in_place_ = false;
  std::uint64_t digest_ = 0;
};

std::vector<Way> ways() {
  std::vector<Way> found;
  std::string rest = FLAGS_modes + ",";
  for (std::size_t comma = rest.find(','); comma != std::string::npos; comma = rest.find(',')) {
    Way way{.name = rest.substr(0, comma)};
    if (const Result<Exchange> exchange = exchange_named(way.name); exchange.ok()) {
      way.exchange = *exchange;
    } else {
      way.mode = mode_named(way.name).or_exit();
    }
    found.push_back(std::move(way));
    rest = rest.substr(comma + 1);
  }
  return found;
}

/// Asks all, every few rounds, whether any worker was told to stop.
bool is_over(Worker& worker, const Tensor& tensor) {
  std::vector<std::int64_t> stop(static_cast<std::size_t>(kGroup));
  stop[0] = ::access(FLAGS_until.c_str(), F_OK) == 0 ? 1 : 0;
  worker.push_pull(tensor, stop, stop).wait().or_exit();
  return stop[0] != 0;
}

void note_commit(int file) {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  const std::string line = fmt::format("{:.4f}\n", now.count());
  if (::write(file, line.data(), line.size()) < 0) fail("the time cannot be written");
}

void run() {
  const auto number =
      static_cast<std::int64_t>(std::stoul(process_environment()("STRETTO_RANK").value()));
  Entry* entries = ledger();
  Entry& own = entries[number];
  const int commits =
      ::open(FLAGS_commits.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  Worker worker = Worker::join().or_exit();
  worker.on_view([](const JobView& view) {
    say(fmt::format("view epoch={} rank={} size={}", view.epoch, view.rank, view.size));
  });
  const Tensor stops =
      worker.declare("stops", Dtype::kI64, static_cast<std::size_t>(kGroup)).or_exit();
  std::vector<Series> series;
  for (const Way& way : ways()) series.emplace_back(worker, way, number, entries);
  ProgramSteps steps(worker);
  std::int64_t round = 0;
  bool whole = true;  // A member since the last digest.
  for (bool over = false; !over;) {
    const StepBegin begins = steps.next().or_exit();
    round = static_cast<std::int64_t>(begins.step);
    if (begins.comes_in) {
      own.begun = round - 1;  // First, so that it is never less than `before`.
      own.before = round - 1;
      whole = round % kStopEvery == 1;
      say(fmt::format("came before round {}", round));
    }
    own.begun = round;
    for (Series& one : series) one.begin(worker, round);
    for (Series& one : series) one.end(round);
    own.acknowledged = round;
    note_commit(commits);
    if (FLAGS_pause_ms > 0) ::poll(nullptr, 0, static_cast<int>(FLAGS_pause_ms));
    if (round % kStopEvery != 0) continue;
    std::uint64_t digest = 0;
    for (Series& one : series) digest ^= one.take_digest();
    say(whole ? fmt::format("round {} digest={:x}", round, digest)
              : fmt::format("round {} digest=partial", round));
    whole = true;
    over = is_over(worker, stops);
  }
  own.done = round;
  worker.barrier().or_exit();
  for (Series& one : series) one.read(worker, round);
  const JobView view = worker.on_view(nullptr);
  worker.barrier().or_exit();
  say(fmt::format("done rank={} size={} rounds={}", view.rank, view.size, round));
  worker.leave().or_exit();
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  stretto::run();
}
