// SPDX-License-Identifier: Apache-2.0
// Messages are sent in the order of readiness. Down, the child with the largest subtree goes first.
#include "collective/critical_path.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace stretto::collective {
namespace {

class Timeline {
 public:
  Timeline(const Tree& tree, double bytes, const Network& network, const BoundaryMap& borders)
      : tree_(tree),
        bytes_(bytes),
        network_(network),
        borders_(borders),
        handling_((network.frame_seconds + bytes * network.byte_seconds) / network.processors),
        out_(borders.size()),
        in_(borders.size()),
        processor_(tree.limit()),
        children_(tree.limit()),
        size_(tree.limit()) {
    for (const Place place : tree.downwards()) {
      if (place != tree.root()) children_[tree.parent(place)].push_back(place);
    }
    const std::vector<Place>& downwards = tree.downwards();
    for (std::size_t at = downwards.size(); at-- > 0;) {
      const Place place = downwards[at];
      size_[place] = 1;
      for (const Place child : children_[place]) size_[place] += size_[child];
      std::ranges::stable_sort(children_[place], std::greater(),
                               [this](Place child) { return size_[child]; });
    }
  }

  // The time when the last contribution is at the root.
  double up() {
    std::vector<std::size_t> missing(tree_.limit());
    Ready ready;
    for (const Place place : tree_.downwards()) {
      missing[place] = children_[place].size();
      if (missing[place] == 0) ready.emplace(0, place);
    }
    for (;;) {
      const auto [at, place] = ready.top();
      ready.pop();
      if (place == tree_.root()) return at;
      const Place parent = tree_.parent(place);
      const double there = send(place, parent, at);
      if (--missing[parent] == 0) ready.emplace(there, parent);
    }
  }

  // The time when the last place has the value that the root has at `begin`.
  double down(double begin) {
    Ready ready;
    ready.emplace(begin, tree_.root());
    double last = begin;
    while (!ready.empty()) {
      const auto [at, place] = ready.top();
      ready.pop();
      last = std::max(last, at);
      for (const Place child : children_[place]) ready.emplace(send(place, child, at), child);
    }
    return last;
  }

 private:
  using Moment = std::pair<double, Place>;
  using Ready = std::priority_queue<Moment, std::vector<Moment>, std::greater<>>;

  double handle(Place place, double from) {
    processor_[place] = std::max(processor_[place], from) + handling_;
    return processor_[place];
  }

  // The arrival time of a message that is ready at `ready`. A boundary passes one message after
  // another at its rate; one limited by a slower boundary leaves it free for others.
  double send(Place from, Place to, double ready) {
    const double begin = handle(from, ready);
    double there = begin;
    bool crosses = false;
    for (std::size_t each = 0; each < borders_.size(); ++each) {
      if (!borders_.between(each, from, to)) continue;
      crosses = true;
      double& busy = (borders_.inside(each, from) ? out_ : in_)[each];
      busy = std::max(busy, begin) + bytes_ / network_.boundaries[each].rate;
      there = std::max(there, busy);
    }
    return handle(to, there + (crosses ? network_.start_seconds : 0));
  }

  const Tree& tree_;
  const double bytes_;
  const Network& network_;
  const BoundaryMap& borders_;
  const double handling_;          // Processor seconds of a message.
  std::vector<double> out_;        // When each boundary is free,
  std::vector<double> in_;         // each way,
  std::vector<double> processor_;  // and each place's processor.
  std::vector<std::vector<Place>> children_;
  std::vector<std::uint32_t> size_;  // Size of each place's subtree.
};

std::uint32_t hops_of(const Tree& tree, const BoundaryMap& borders) {
  std::vector<std::uint32_t> hops(tree.limit());
  std::uint32_t most = 0;
  for (const Place place : tree.downwards()) {
    if (place == tree.root()) continue;
    const Place parent = tree.parent(place);
    bool crosses = false;
    for (std::size_t each = 0; each < borders.size(); ++each) {
      crosses = crosses || borders.between(each, place, parent);
    }
    hops[place] = hops[parent] + (crosses ? 1 : 0);
    most = std::max(most, hops[place]);
  }
  return 2 * most;
}

}  // namespace

CriticalPath path_of(const Tree& tree, double bytes, const Network& network,
                     const BoundaryMap& borders) {
  Timeline timeline(tree, bytes, network, borders);
  return {.seconds = timeline.down(timeline.up()), .hops = hops_of(tree, borders)};
}

}  // namespace stretto::collective
