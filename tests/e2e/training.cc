// SPDX-License-Identifier: Apache-2.0
// A worker for tests of whole jobs: rounds of push_pull over several tensors at once, each value
// compared with its expected value, progress on stdout, and faults by flag. Ends with one line
// `verified values=N wrong=W rounds=R`; status 1 with an ERROR line, or 3 for a wrong value.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <stretto/worker.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <vector>

DEFINE_int64(rounds, 100, "Rounds that each tensor goes through");
DEFINE_int64(elements, 1000, "Elements of each tensor");
DEFINE_int32(tensors, 8, "Tensors, and so operations, in flight");
DEFINE_string(mode, "sync", "sync, bounded or async");
DEFINE_int32(bound, 2, "bounded: rounds that a worker may be ahead");
DEFINE_string(exchange, "servers", "servers, direct, ring, halving or tree");
DEFINE_int64(progress, 50, "A line of progress every so many rounds");
DEFINE_string(until, "", "End early once this file exists: the workers agree on the round");
DEFINE_int64(slow_rank, -1, "Rank of a worker that computes for a random time between rounds");
DEFINE_int64(slow_most, 1'000'000, "Most steps of that computation");
DEFINE_int64(work, 0, "Steps of computation of every worker before each round");
DEFINE_int64(seed, 1, "Of the randomness");
DEFINE_string(fault, "",
              "What fault_rank does: exit, leave, finish_early, or a declaration that "
              "differs in elements, dtype, rule or mode");
DEFINE_int64(fault_rank, 1, "Rank of the worker with the fault");
DEFINE_int64(fault_round, 10, "Round in which it exits or leaves");

namespace stretto {
namespace {

constexpr int kWrongValueStatus = 3;
constexpr int kUsageStatus = 2;

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

Mode mode_named(const std::string& name) {
  if (name == "bounded") return Mode::kBounded;
  return name == "async" ? Mode::kAsync : Mode::kSync;
}

Exchange exchange_named(const std::string& name) {
  constexpr Exchange kAmong[] = {Exchange::kDirect, Exchange::kRing, Exchange::kHalving,
                                 Exchange::kTree, Exchange::kHierarchical};
  for (const Exchange exchange : kAmong) {
    if (name_of(exchange) == name) return exchange;
  }
  return Exchange::kServers;
}

// Small whole numbers: sums of them are exact, whatever their order.
float base_of(std::int64_t round, std::size_t tensor, std::size_t element) {
  const auto mixed = static_cast<std::uint64_t>(round) * 31 + tensor * 17 + element;
  return static_cast<float>(mixed % 1009);
}

struct Slot {
  Tensor tensor;
  std::vector<float> share;
  std::vector<float> value;
  Ticket ticket;
  std::int64_t rounds = 0;
};

class Training {
 public:
  explicit Training(Worker& worker)
      : worker_(worker),
        faulty_(worker.rank() == FLAGS_fault_rank),
        slow_(worker.rank() == FLAGS_slow_rank),
        sync_(mode_named(FLAGS_mode) == Mode::kSync),
        random_(static_cast<std::uint64_t>(FLAGS_seed)) {}

  Status run() {
    if (Status status = declare_all(); !status.ok()) return status;
    say("started");
    for (std::int64_t round = 0; round < rounds(); ++round) {
      if (slow_) compute(length_of_work());
      compute(FLAGS_work);
      for (Slot& slot : slots_) {
        if (Status status = finish(slot); !status.ok()) return status;
        begin(slot, round);
      }
      worker_.report("verified", static_cast<double>(verified_));
      if (faulty_ && round == FLAGS_fault_round && misbehave()) return {};
      if ((round + 1) % FLAGS_progress != 0) continue;
      say(fmt::format("progress round={}", round + 1));
      Result<bool> enough = agree_to_end();
      if (!enough.ok()) return enough.status();
      if (*enough) break;
    }
    for (Slot& slot : slots_) {
      if (Status status = finish(slot); !status.ok()) return status;
    }
    return sync_ ? Status() : check_totals();
  }

  std::uint64_t wrong() const { return wrong_; }
  std::string report() const {
    return fmt::format("verified values={} wrong={} rounds={} work={:.1f}", verified_, wrong_,
                       FLAGS_rounds, work_);
  }

 private:
  std::int64_t rounds() const {
    return faulty_ && FLAGS_fault == "finish_early" ? FLAGS_fault_round : FLAGS_rounds;
  }

  Status declare_all() {
    auto elements = static_cast<std::size_t>(FLAGS_elements);
    Dtype dtype = Dtype::kF32;
    TensorOptions options{.mode = mode_named(FLAGS_mode),
                          .bound = static_cast<std::uint32_t>(FLAGS_bound),
                          .exchange = exchange_named(FLAGS_exchange)};
    if (options.mode != Mode::kBounded) options.bound = 0;
    if (faulty_ && FLAGS_fault == "elements") elements += 1;
    if (faulty_ && FLAGS_fault == "dtype") dtype = Dtype::kI32;
    if (faulty_ && FLAGS_fault == "rule") options.update.rule = Rule::kSgd;
    if (faulty_ && FLAGS_fault == "mode") options.mode = Mode::kAsync;
    slots_.resize(static_cast<std::size_t>(FLAGS_tensors));
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Result<Tensor> tensor =
          worker_.declare(fmt::format("tensor {}", i), dtype, elements, options);
      if (!tensor.ok()) return tensor.status();
      slots_[i].tensor = *tensor;
      slots_[i].share.resize(elements);
      slots_[i].value.resize(elements);
    }
    if (FLAGS_until.empty()) return {};
    Result<Tensor> votes = worker_.declare("votes to end", Dtype::kF32, 1,
                                           {.exchange = exchange_named(FLAGS_exchange)});
    if (votes.ok()) votes_ = *votes;
    return votes.status();
  }

  // True in all workers in the same round, once any of them has seen the file.
  Result<bool> agree_to_end() {
    if (FLAGS_until.empty()) return false;
    std::vector<float> votes(1, access(FLAGS_until.c_str(), F_OK) == 0 ? 1.0F : 0.0F);
    if (Status status = worker_.push_pull(votes_, votes, votes).wait(); !status.ok()) return status;
    return votes[0] > 0;
  }

  void begin(Slot& slot, std::int64_t round) {
    const auto index = static_cast<std::size_t>(&slot - slots_.data());
    const auto factor = static_cast<float>(worker_.rank() + 1);
    for (std::size_t i = 0; i < slot.share.size(); ++i) {
      slot.share[i] = sync_ ? factor * base_of(round, index, i) : factor;
    }
    ++slot.rounds;
    // As bytes: one worker's tensor has another type if that is the fault.
    slot.ticket = worker_.push_pull(slot.tensor, std::as_bytes(std::span(slot.share)),
                                    std::as_writable_bytes(std::span(slot.value)));
  }

  // Waits for the tensor's round, and compares its values with the expected values.
  Status finish(Slot& slot) {
    if (slot.rounds == 0) return {};
    if (Status status = slot.ticket.wait(); !status.ok()) return status;
    const auto index = static_cast<std::size_t>(&slot - slots_.data());
    const auto own = static_cast<double>(worker_.rank() + 1) * static_cast<double>(slot.rounds);
    const double most = total();
    for (std::size_t i = 0; i < slot.value.size(); ++i) {
      const auto value = static_cast<double>(slot.value[i]);
      const bool right =
          sync_ ? value == factors() * static_cast<double>(base_of(slot.rounds - 1, index, i))
                : value >= own && value <= most;
      count(right, slot, i);
    }
    return {};
  }

  // Without rounds only the totals are certain: every worker's contributions, each once.
  Status check_totals() {
    if (Status status = worker_.barrier(); !status.ok()) return status;
    for (Slot& slot : slots_) {
      if (Status status = worker_.pull(slot.tensor, slot.value).wait(); !status.ok()) return status;
      for (std::size_t i = 0; i < slot.value.size(); ++i) {
        count(static_cast<double>(slot.value[i]) == total(), slot, i);
      }
    }
    return {};
  }

  /// 1 + 2 + ... for every worker's factor, rank + 1.
  double factors() const {
    const double workers = worker_.size();
    return workers * (workers + 1) / 2;
  }
  double total() const { return factors() * static_cast<double>(FLAGS_rounds); }

  void count(bool right, const Slot& slot, std::size_t element) {
    ++verified_;
    if (right) return;
    if (wrong_++ == 0) {
      say(fmt::format("WRONG tensor {} round {} element {}: {}", slot.tensor.id, slot.rounds,
                      element, slot.value[element]));
    }
  }

  // Real work of a random length makes this worker a straggler.
  std::int64_t length_of_work() {
    return std::uniform_int_distribution<std::int64_t>(0, FLAGS_slow_most)(random_);
  }
  void compute(std::int64_t steps) {
    for (std::int64_t i = 0; i < steps; ++i) work_ = std::fma(work_, 0.999, 1.0);
  }

  // True if this worker's part is over.
  bool misbehave() {
    if (FLAGS_fault == "exit") _exit(0);
    if (FLAGS_fault != "leave") return false;
    say("left early");
    return true;
  }

  Worker& worker_;
  const bool faulty_;
  const bool slow_;
  const bool sync_;
  std::mt19937_64 random_;
  std::vector<Slot> slots_;
  Tensor votes_;
  std::uint64_t verified_ = 0;
  std::uint64_t wrong_ = 0;
  double work_ = 0;
};

int train() {
  Worker worker = Worker::join().or_exit();
  say(fmt::format("joined as {} of {}", worker.rank(), worker.size()));
  const auto start = std::chrono::steady_clock::now();
  Training training(worker);
  training.run().or_exit();
  worker.leave().or_exit();
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start);
  say(fmt::format("{} seconds={:.2f}", training.report(), seconds.count()));
  return training.wrong() == 0 ? 0 : kWrongValueStatus;
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::SetUsageMessage("trains nothing, and checks every number of it");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (argc > 1 || FLAGS_elements < 1 || FLAGS_tensors < 1 || FLAGS_progress < 1) {
    std::fprintf(stderr, "wanted flags only, and elements, tensors and progress of 1 at least\n");
    return stretto::kUsageStatus;
  }
  return stretto::train();
}
