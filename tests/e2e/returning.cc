// SPDX-License-Identifier: Apache-2.0
// A worker for tests of restarted servers and schedulers. It exchanges tensors in place, out of
// place, by pushes with later pulls and by broadcasts, and checks every element of each sum. Prints
// its progress, and at the end a digest of all bits.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <stretto/worker.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

DEFINE_uint64(steps, 100, "Steps");
DEFINE_uint64(say_every, 20, "Steps from one line to the next");
DEFINE_uint64(elements, 300'000, "Elements of each tensor");
DEFINE_uint64(meet_every, 0, "Steps from one barrier and one new tensor to the next; 0: none");
DEFINE_bool(rule, false, "Has the servers keep a value too");
DEFINE_bool(push_only, false, "Pushes one tensor, and pulls it at the end only");

namespace stretto {
namespace {

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// Integers, so that sums are exact.
float given(std::size_t i, Rank rank, std::uint64_t step) {
  return static_cast<float>((i * 7 + (rank + 1) * 5 + step * 3) % 1009);
}

class Exchanged {
 public:
  explicit Exchanged(Worker& worker)
      : worker_(worker), mine_(FLAGS_elements), sums_(FLAGS_elements) {
    for (const char* name : {"in place", "beside", "broadcast"}) {
      tensors_.push_back(worker.declare(name, Dtype::kF32, FLAGS_elements, {}).or_exit());
    }
    const TensorOptions kept{.update = {.rule = Rule::kSgd, .rate = 0.1}};
    if (FLAGS_rule) worker.declare("kept", Dtype::kF32, 100, kept).or_exit();
    if (FLAGS_push_only) pushed_ = worker.declare("pushed", Dtype::kF32, 100, {}).or_exit();
  }

  void step(std::uint64_t number) {
    if (FLAGS_meet_every != 0 && number % FLAGS_meet_every == 0) meet(number);
    fill(mine_, number);
    std::vector<float> beside = mine_;
    Ticket first = worker_.push_pull(tensors_[0], mine_, mine_);
    Ticket second = worker_.push_pull(tensors_[1], beside, sums_);
    first.wait().or_exit();
    second.wait().or_exit();
    check(mine_, number);
    check(sums_, number);
    if (FLAGS_push_only) worker_.push(pushed_, std::span(beside).first(100)).wait().or_exit();
    if (number % 7 != 0) return;
    const Rank root = static_cast<Rank>(number / 7 % worker_.size());
    if (worker_.rank() == root) fill(mine_, number);
    worker_.broadcast(tensors_[2], mine_, root).wait().or_exit();
    for (std::size_t i = 0; i < mine_.size(); ++i) expect(mine_[i], given(i, root, number), i);
  }

  std::uint64_t digest() const { return digest_; }

 private:
  // Operations that need the scheduler.
  void meet(std::uint64_t number) {
    worker_.barrier().or_exit();
    const Tensor fresh =
        worker_.declare(fmt::format("of step {}", number), Dtype::kF32, FLAGS_elements, {})
            .or_exit();
    fill(mine_, number);
    worker_.push_pull(fresh, mine_, sums_).wait().or_exit();
    check(sums_, number);
    say(fmt::format("met={}", number));
  }

  void fill(std::vector<float>& values, std::uint64_t number) const {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = given(i, worker_.rank(), number);
  }

  void check(const std::vector<float>& values, std::uint64_t number) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      float sum = 0;
      for (Rank rank = 0; rank < worker_.size(); ++rank) sum += given(i, rank, number);
      expect(values[i], sum, i);
    }
  }

  void expect(float found, float wanted, std::size_t i) {
    if (found != wanted) {
      say(fmt::format("WRONG element={} found={} wanted={}", i, found, wanted));
      std::_Exit(9);
    }
    digest_ = (digest_ ^ static_cast<std::uint64_t>(found)) * 1099511628211ULL;
  }

  Worker& worker_;
  std::vector<Tensor> tensors_;
  Tensor pushed_;
  std::vector<float> mine_;
  std::vector<float> sums_;
  std::uint64_t digest_ = 14695981039346656037ULL;
};

void run() {
  Worker worker = Worker::join().or_exit();
  Exchanged exchanged(worker);
  for (std::uint64_t number = 0; number < FLAGS_steps; ++number) {
    exchanged.step(number);
    if (number % FLAGS_say_every == 0) say(fmt::format("step={}", number));
  }
  say(fmt::format("digest={:016x}", exchanged.digest()));
  worker.leave().or_exit();
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  stretto::run();
  return 0;
}
