// SPDX-License-Identifier: Apache-2.0
// A worker of an elastic job, for tests that kill some of them: pushes whole numbers whose sum
// identifies the contributors, alternating between in place and not, until all have been told to
// stop. Compares every element of every sum; a digest of all results shows that survivors got the
// same. Replacements get that digest and the last sums as their state.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <stretto/notices.h>
#include <stretto/step_state.h>
#include <stretto/worker.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"

DEFINE_string(until, "", "A file: once it is there all stop after the same round");
DEFINE_int64(elements, 100'000, "Elements of the tensor");
DEFINE_string(exchange, "servers", "How the tensor goes");
DEFINE_bool(leaves, false, "Leaves in order when it is asked to by SIGTERM");
DEFINE_int64(number, -1, "Whose digit is ours; -1: STRETTO_RANK says");

namespace stretto {
namespace {

constexpr int kDigits = 12;  // Bits of a worker's own digit in a sum: a round's number, truncated.
constexpr std::int64_t kDigit = (std::int64_t{1} << kDigits) - 1;
constexpr std::uint32_t kMostWorkers = 5;  // Including replacements.

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void fail(const std::string& line) {
  say("wrong: " + line);
  std::_Exit(3);
}

// Never 0.
std::int64_t digit_of(std::int64_t round) { return round % kDigit + 1; }

std::int64_t share_of(std::uint32_t number, std::int64_t round) {
  return digit_of(round) << (kDigits * static_cast<int>(number));
}

/// The contributors to the sums of one tensor's rounds, as bits; an absent worker stays absent.
class Sums {
 public:
  Sums(std::size_t elements, std::uint32_t self) : present_(elements, 0), self_(self) {}

  /// `come`: workers absent from all earlier sums may be included.
  void check(const std::vector<std::int64_t>& sums, std::int64_t round, std::uint32_t told,
             bool come) {
    std::uint32_t fewest = kMostWorkers;
    for (std::size_t i = 0; i + 1 < sums.size(); ++i) {
      std::uint32_t count = 0;
      for (std::uint32_t number = 0; number < kMostWorkers; ++number) {
        const std::int64_t digit = sums[i] >> (kDigits * static_cast<int>(number)) & kDigit;
        if (digit != 0 && digit != digit_of(round))
          fail(fmt::format("{} in round {}", sums[i], round));
        const auto bit = static_cast<std::uint8_t>(1U << number);
        if (digit != 0 && come) present_[i] |= bit;
        if (digit == 0) present_[i] &= static_cast<std::uint8_t>(~bit);
        if (digit != 0 && (present_[i] & bit) == 0) fail("somebody came back");
        if (digit != 0) ++count;
      }
      if ((present_[i] & 1U << self_) == 0) fail("our own share is missing");
      fewest = std::min(fewest, count);
    }
    if (fewest != told) fail(fmt::format("{} contributors, told {}", fewest, told));
  }

 private:
  std::vector<std::uint8_t> present_;  // By element.
  std::uint32_t self_;
};

std::uint64_t digest_of(std::uint64_t before, const std::vector<std::int64_t>& sums) {
  for (const std::int64_t sum : sums) {
    before = (before ^ static_cast<std::uint64_t>(sum)) * 0x100000001B3ULL;
  }
  return before;
}

// The state of a worker, also after its job has expelled it and it has rejoined.
struct Training {
  Training(std::size_t size, std::uint32_t self)
      : number(self), mine(size), apart(size), last(size), sums(size, self) {}

  const std::uint32_t number;
  std::vector<std::int64_t> mine, apart, last;
  std::array<std::uint64_t, 1> digest{};
  Sums sums;
  double longest_ms = 0;
};

// Our former member id, if the job continues without us.
NodeId lost_or_exit(const ProgramSteps& steps, const Status& status) {
  if (steps.lost_as() == 0) status.or_exit();
  say("lost: " + status.cause());
  return steps.lost_as();
}

// Until all stop. Not 0: the job has expelled this worker, which had that member id.
NodeId train(Worker& worker, Training& own) {
  using Clock = std::chrono::steady_clock;
  worker.on_view(
      [](const JobView& view) { say(fmt::format("view rank={} size={}", view.rank, view.size)); });
  const std::size_t elements = own.mine.size();
  const TensorOptions options{.exchange = exchange_named(FLAGS_exchange).or_exit()};
  const Tensor tensor = worker.declare("sums", Dtype::kI64, elements, options).or_exit();
  std::optional<Notices> notices;
  if (FLAGS_leaves) notices.emplace(worker);
  StepState state(worker);
  state.add("last", own.last);
  state.add("digest", own.digest);
  std::int64_t round = 0;
  for (bool stops = false; !stops;) {
    const Result<StepBegin> begun = state.next();
    if (!begun.ok()) return lost_or_exit(state.steps(), begun.status());
    const StepBegin begins = *begun;
    round = static_cast<std::int64_t>(begins.step);
    if (begins.newcomers > 0) {
      say(fmt::format("newcomers {} before round {}{}", begins.newcomers, round,
                      begins.comes_in ? ": us" : ""));
    }
    own.mine.assign(elements, share_of(own.number, round));
    own.mine.back() = ::access(FLAGS_until.c_str(), F_OK) == 0 ? 1 : 0;
    const bool in_place = round % 2 == 0;
    std::vector<std::int64_t>& target = in_place ? own.mine : own.apart;
    const auto before = Clock::now();
    const Ticket ticket = worker.push_pull(tensor, own.mine, target);
    const Status ended = ticket.wait();
    if (!ended.ok()) return lost_or_exit(state.steps(), ended);
    const std::chrono::duration<double, std::milli> took = Clock::now() - before;
    if (round > 1 && !begins.comes_in) own.longest_ms = std::max(own.longest_ms, took.count());
    own.sums.check(target, round, ticket.info().contributors, round == 1 || begins.newcomers > 0);
    own.digest[0] = digest_of(digest_of(own.digest[0], own.last), target);
    own.last = target;
    stops = target.back() != 0;
    if (round % 5 == 0) say(fmt::format("round {}", round));
    if (notices && !stops && notices->leave_if_told().or_exit()) return 0;
  }
  const JobView view = worker.on_view(nullptr);  // Before others leave.
  worker.barrier().or_exit();
  say(fmt::format("done rank={} size={} rounds={} digest={:x} longest_ms={:.1f}", view.rank,
                  view.size, round, own.digest[0], own.longest_ms));
  worker.leave().or_exit();
  return 0;
}

void run() {
  const auto number = static_cast<std::uint32_t>(
      FLAGS_number >= 0 ? FLAGS_number : std::stol(process_environment()("STRETTO_RANK").value()));
  Training own(static_cast<std::size_t>(FLAGS_elements), number);
  Options options = Options::from_environment().or_exit();
  do {
    Worker worker = Worker::join(options).or_exit();
    options.former = train(worker, own);
    options.rank = -1;
  } while (options.former != 0);
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  stretto::run();
}
