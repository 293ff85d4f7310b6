// SPDX-License-Identifier: Apache-2.0
// The worker of the tests of standby servers: exchanges tensors in every mode, by rules with state
// and by codecs, with whole numbers. Checks every element: of the sums of rounds as they arrive,
// and of the servers' final values, which must contain each contribution once. Prints its progress,
// and at the end a digest of all bits that do not depend on the order of workers.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <stretto/worker.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

DEFINE_uint64(steps, 100, "Steps");
DEFINE_uint64(say_every, 20, "Steps from one line to the next");
DEFINE_uint64(elements, 150'000, "Elements of each tensor");

namespace stretto {
namespace {

using Values = std::vector<float>;

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// Whole numbers, so that sums are exact.
float given(std::size_t i, Rank rank, std::uint64_t step) {
  return static_cast<float>((i * 7 + (rank + 1) * 5 + step * 3) % 1009);
}

class Replicated {
 public:
  explicit Replicated(Worker& worker)
      : worker_(worker), mine_(FLAGS_elements), ones_(FLAGS_elements, 1), got_(FLAGS_elements) {
    const RuleOptions adam{.rule = Rule::kAdam, .rate = 0.001};
    const RuleOptions adds{.rule = Rule::kSum};
    sum_ = declare("sum", {});
    later_ = declare("pulled later", {});
    adam_ = declare("adam", {.update = adam});
    coded_ = declare(
        "coded",
        {.codec = CodecSpec{.codec = Codec::kOnebit, .scaling = true, .error_feedback = true}});
    set_ = declare("broadcast", {});
    async_ = declare("async", {.mode = Mode::kAsync, .update = adds});
    eager_async_ = declare("eager async", {.mode = Mode::kEagerAsync, .update = adds});
    bounded_ = declare("bounded", {.mode = Mode::kBounded, .bound = 2, .update = adds});
    eager_ = declare("eager", {.mode = Mode::kEager, .update = adds});
  }

  void step(std::uint64_t number) {
    fill(number);
    Values in_place = mine_;
    Values kept = mine_;
    Values coded = mine_;
    Values of_async = ones_;
    Ticket tickets[] = {worker_.push_pull(sum_, in_place, in_place),
                        worker_.push(later_, mine_),
                        worker_.push_pull(adam_, kept, kept),
                        worker_.push_pull(coded_, coded, coded),
                        worker_.push_pull(async_, of_async, of_async),
                        worker_.push(eager_async_, ones_),
                        worker_.push(bounded_, ones_),
                        worker_.push(eager_, ones_),
                        worker_.pull(later_, got_)};
    for (Ticket& ticket : tickets) ticket.wait().or_exit();
    check_sum(in_place, number);
    check_sum(got_, number);
    note(kept);
    note(coded);
    if (number % 3 == 0) worker_.pull(eager_, got_).wait().or_exit();
    if (number % 7 != 0) return;
    const Rank root = static_cast<Rank>(number / 7 % worker_.size());
    worker_.broadcast(set_, mine_, root).wait().or_exit();
    for (std::size_t i = 0; i < mine_.size(); ++i) expect(mine_[i], given(i, root, number), i);
  }

  // Each contribution has counted once.
  void check_all() {
    worker_.barrier().or_exit();
    const auto all = static_cast<float>(FLAGS_steps * worker_.size());
    for (const Tensor& tensor : {async_, eager_async_, bounded_, eager_}) {
      worker_.pull(tensor, got_).wait().or_exit();
      for (std::size_t i = 0; i < got_.size(); ++i) expect(got_[i], all, i);
    }
    worker_.barrier().or_exit();
  }

  std::uint64_t digest() const { return digest_; }

 private:
  Tensor declare(const char* name, const TensorOptions& options) {
    return worker_.declare(name, Dtype::kF32, FLAGS_elements, options).or_exit();
  }

  void fill(std::uint64_t number) {
    for (std::size_t i = 0; i < mine_.size(); ++i) mine_[i] = given(i, worker_.rank(), number);
  }

  void check_sum(const Values& values, std::uint64_t number) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      float sum = 0;
      for (Rank rank = 0; rank < worker_.size(); ++rank) sum += given(i, rank, number);
      expect(values[i], sum, i);
    }
    note(values);
  }

  void expect(float found, float wanted, std::size_t i) {
    if (found == wanted) return;
    say(fmt::format("WRONG element={} found={} wanted={}", i, found, wanted));
    std::_Exit(9);
  }

  void note(const Values& values) {
    for (const float value : values) {
      digest_ = (digest_ ^ std::bit_cast<std::uint32_t>(value)) * 1099511628211ULL;
    }
  }

  Worker& worker_;
  Tensor sum_, later_, adam_, coded_, set_, async_, eager_async_, bounded_, eager_;
  Values mine_;
  Values ones_;
  Values got_;
  std::uint64_t digest_ = 14695981039346656037ULL;
};

void run() {
  Worker worker = Worker::join().or_exit();
  Replicated replicated(worker);
  for (std::uint64_t number = 0; number < FLAGS_steps; ++number) {
    replicated.step(number);
    if (number % FLAGS_say_every == 0) say(fmt::format("step={}", number));
  }
  replicated.check_all();
  say(fmt::format("digest={:016x}", replicated.digest()));
  worker.leave().or_exit();
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  stretto::run();
  return 0;
}
