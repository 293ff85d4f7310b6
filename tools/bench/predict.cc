// SPDX-License-Identifier: Apache-2.0
// Three resources, the processor and the link's two directions; what ends first is handled first,
// and then whoever is idle takes what may begin.
#include "tools/bench/predict.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

namespace stretto::bench {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Part {
  std::uint32_t tensor = 0;
  double seconds = 0;
};

/// One direction.
class Direction {
 public:
  void add(int priority, const Part& part) { waiting_.insert({-priority, next_++, part}); }
  void start(double now) {
    if (ends_ != kNever || waiting_.empty()) return;
    current_ = waiting_.begin()->part;
    waiting_.erase(waiting_.begin());
    ends_ = now + current_.seconds;
  }
  double ends() const { return ends_; }
  Part finish() {
    ends_ = kNever;
    return current_;
  }

 private:
  struct Waiting {
    int after;
    std::uint64_t order;
    Part part;
    bool operator<(const Waiting& other) const {
      return std::tie(after, order) < std::tie(other.after, other.order);
    }
  };
  std::set<Waiting> waiting_;
  std::uint64_t next_ = 0;
  Part current_;
  double ends_ = kNever;
};

class Simulation {
 public:
  explicit Simulation(const Ideal& ideal) : ideal_(ideal), layers_(ideal.tensors.size()) {
    parts_.resize(ideal.bytes.size());
    for (std::uint32_t i = 0; i < ideal.bytes.size(); ++i) {
      for (std::uint64_t left = ideal.bytes[i]; left > 0;) {
        const std::uint64_t part = std::min(left, ideal.part_bytes);
        parts_[i].push_back({i, static_cast<double>(part) / ideal.bytes_per_second});
        left -= part;
      }
    }
    to_push_.assign(parts_.size(), 0);
    to_pull_.assign(parts_.size(), 0);
  }

  /// When the iteration of that number begins.
  double run_until(std::uint32_t iteration) {
    while (true) {
      dispatch();
      if (iteration_ == iteration) return now_;
      now_ = std::min({computed_, push_.ends(), pull_.ends()});
      if (now_ == kNever) return now_;  // Nothing is left: a tensor that nobody needs.
      if (computed_ == now_) finish_step();
      if (push_.ends() == now_) finish_push();
      if (pull_.ends() == now_) --to_pull_[pull_.finish().tensor];
    }
  }

 private:
  void dispatch() {
    if (computed_ == kNever && may_begin()) begin_step();
    push_.start(now_);
    pull_.start(now_);
  }

  // Steps 0 to layers - 1 are forward, the others backward. After the last comes a barrier, or the
  // next iteration's first.
  bool may_begin() {
    if (step_ == 2 * layers_ && is_through(to_push_) && is_through(to_pull_)) {
      if (is_late(ideal_.flow)) push_all();
      if (ideal_.flow == Flow::kEagerPull) pull_all();
      next_iteration();
    }
    if (step_ == 2 * layers_) return false;
    if (step_ >= layers_ || is_late(ideal_.flow)) return true;
    return std::all_of(ideal_.tensors[step_].begin(), ideal_.tensors[step_].end(),
                       [this](auto tensor) { return to_pull_[tensor] == 0; });
  }

  void next_iteration() {
    step_ = 0;
    ++iteration_;
  }

  static bool is_through(const std::vector<std::size_t>& left) {
    return std::all_of(left.begin(), left.end(), [](std::size_t count) { return count == 0; });
  }

  void begin_step() {
    const bool forward = step_ < layers_;
    const std::size_t layer = forward ? step_ : 2 * layers_ - 1 - step_;
    if (step_ == 0) priorities_ = ideal_.priorities(iteration_);
    computed_ = now_ + (forward ? ideal_.forward_s[layer] : ideal_.backward_s[layer]);
  }

  void finish_step() {
    computed_ = kNever;
    const std::size_t layer = 2 * layers_ - 1 - step_;
    const bool backward = step_++ >= layers_;
    if (!backward) return;
    if (ideal_.flow == Flow::kPushPull || ideal_.flow == Flow::kBarrier) push_layer(layer);
    if (step_ < 2 * layers_) return;
    if (ideal_.flow == Flow::kSerial) push_all();
    if (ideal_.flow == Flow::kPushPull) next_iteration();
  }

  void push_all() {
    for (std::size_t i = 0; i < layers_; ++i) push_layer(i);
  }

  void push_layer(std::size_t layer) {
    for (const std::uint32_t tensor : ideal_.tensors[layer]) {
      to_push_[tensor] = to_pull_[tensor] = parts_[tensor].size();
      for (const Part& part : parts_[tensor]) push_.add(priorities_[tensor], part);
    }
  }

  void finish_push() {
    const Part part = push_.finish();
    --to_push_[part.tensor];
    if (ideal_.flow == Flow::kPushPull || ideal_.flow == Flow::kEager) {
      pull_.add(priorities_[part.tensor], part);
    } else if (ideal_.flow != Flow::kEagerPull && step_ == 2 * layers_ && is_through(to_push_)) {
      pull_all();
    }
  }

  void pull_all() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      for (const Part& part : parts_[i]) pull_.add(priorities_[i], part);
    }
    if (ideal_.flow == Flow::kBarrier) next_iteration();  // Forward goes on as values come.
  }

  const Ideal& ideal_;
  const std::size_t layers_;
  std::vector<std::vector<Part>> parts_;  // Of each tensor.
  std::vector<std::size_t> to_push_;      // Parts of each tensor that have not been pushed,
  std::vector<std::size_t> to_pull_;      // and that are not back.
  std::vector<int> priorities_;
  Direction push_;
  Direction pull_;
  double now_ = 0;
  double computed_ = kNever;  // When the computation that runs will have ended.
  std::size_t step_ = 0;
  std::uint32_t iteration_ = 0;
};

}  // namespace

double predicted_s(const Ideal& ideal, std::uint32_t warm_up, std::uint32_t measured) {
  Simulation simulation(ideal);
  const double begun = simulation.run_until(warm_up);
  return (simulation.run_until(warm_up + measured) - begun) / measured;
}

}  // namespace stretto::bench
