// SPDX-License-Identifier: Apache-2.0
// The invariants, checked after every step of a simulated job and at its end.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tests/sim/sim_cluster.h"

namespace stretto::sim {
namespace {

constexpr Duration kErrorWithin = 12s;  // Dead time, a suspicion's time, and latency.
constexpr Duration kGreetings = 10ms;
constexpr Duration kLongestJob = 600s;
constexpr std::uint64_t kStreamBytes = 8;  // The overhead of the plan's codec for a part.

}  // namespace

void SimCluster::check_after_step(const Node& node) {
  if (node.scheduler != nullptr) {
    check_windows(node, node.scheduler->van());
    check_view(node.scheduler->view());
  }
  if (node.worker != nullptr) check_windows(node, node.worker->van());
  if (node.shard != nullptr) {
    check_windows(node, node.shard->van());
    check_slots(node);
  }
  // Payloads in flight passed a window; the rest is headers and control messages.
  const std::size_t ends = nodes_.size() * nodes_.size();
  const std::size_t most =
      ends * (plan_.network.link_capacity_bytes + plan_.settings.part_bytes + 4096) + (1 << 20);
  if (network_.bytes_in_flight() > most) {
    report("memory is bounded",
           fmt::format("{} bytes are on the network", network_.bytes_in_flight()));
  }
}

void SimCluster::check_windows(const Node& node, const Van& van) {
  const std::uint64_t frame = plan_.settings.part_bytes + kStreamBytes + wire::kHeaderBytes;
  const std::uint64_t window =
      std::max(plan_.settings.total_window_bytes, plan_.settings.link_window_bytes);
  // Between hosts each link's window follows its path, up to the total limit.
  const std::uint64_t link_window = plan_.network.local ? plan_.settings.link_window_bytes : window;
  const bool has_roster = node.scheduler != nullptr || network_.frames_delivered() > 0;
  if (has_roster && plan_.network.local && van.queue().windows().in_flight() >= window + frame) {
    report("in flight within limits",
           fmt::format("{} has {} bytes in flight in all, the window is {}", node.name,
                       van.queue().windows().in_flight(), window));
  }
  if (van.queue().windows().most_in_flight() >= link_window + frame) {
    report("in flight within limits",
           fmt::format("{} has {} bytes in flight on one link, the window is {}", node.name,
                       van.queue().windows().most_in_flight(), link_window));
  }
}

void SimCluster::check_view(const View& view) {
  if (view.epoch == view_.epoch) return;
  for (const std::string& text : {violation(view), violation(view_, view)}) {
    if (!text.empty()) report("views hold together", text);
  }
  view_ = view;
}

void SimCluster::check_slots(const Node& node) {
  std::uint64_t held = 0;
  node.shard->slots().for_each_slot([&](const Slot& slot) {
    if (!slot.consistent()) {
      report("slots are consistent", fmt::format("{}: slot {}", node.name, slot.number()));
    }
    slot.for_each_part([&](const Part& part) { held += check_part(node, part); });
  });
  if (held > node.shard->slots().bytes()) {
    report("memory is bounded", fmt::format("{} holds {} bytes of values, {} are declared",
                                            node.name, held, node.shard->slots().bytes()));
  }
}

// Returns the bytes of the part's value.
std::uint64_t SimCluster::check_part(const Node& node, const Part& part) {
  const Value& value = part.store.value();
  const std::string& name = part.spec.name;
  std::uint64_t& last = part_versions_[{node.name, fmt::format("{}/{}", name, part.key.part)}];
  if (value.version < last) {
    report("versions never go back", fmt::format("{}: {} part {} went from {} to {}", node.name,
                                                 name, part.key.part, last, value.version));
  }
  if (value.version != last && has_rounds(part.spec.options.mode)) check_contributors(part);
  last = value.version;
  if (part.waiting.size() > 2 * plan_.workers) {
    report("memory is bounded",
           fmt::format("{}: {} part {} has {} waiters for {} workers", node.name, name,
                       part.key.part, part.waiting.size(), plan_.workers));
  }
  // A part that its codec would enlarge is sent and kept unencoded.
  const std::uint64_t bytes = value.bytes.size();
  return value.codec == Codec::kNone ? bytes : bytes - std::min(kStreamBytes, bytes);
}

// Each round is made by all workers, lost ones included, and each of them has begun it.
void SimCluster::check_contributors(const Part& part) {
  const Value& value = part.store.value();
  const auto known = [&](const TensorPlan& tensor) { return tensor.spec.name == part.spec.name; };
  const auto tensor =
      static_cast<std::size_t>(std::ranges::find_if(plan_.tensors, known) - plan_.tensors.begin());
  std::uint32_t found = 0;
  for (const auto& node : nodes_) {
    if (node->worker == nullptr || !value.from.contains(node->worker->membership().node()))
      continue;
    ++found;
    if (node->user->begun(tensor) < value.version) {
      report("rounds are of their contributors",
             fmt::format("{} is in round {} of {}, of which it has begun {}", node->name,
                         value.version, part.spec.name, node->user->begun(tensor)));
    }
  }
  if (found != plan_.workers || value.from.size() != plan_.workers) {
    report("rounds are of their contributors",
           fmt::format("round {} of {} is of {} nodes, {} of them workers", value.version,
                       part.spec.name, value.from.size(), found));
  }
}

// A push that was acknowledged to a worker must have counted in every part.
void SimCluster::check_acknowledged(const Node& node) {
  const bool all_shards_live = std::all_of(nodes_.begin(), nodes_.end(), [](const auto& other) {
    return other->shard == nullptr || (other->alive && !other->gone);
  });
  if (!all_shards_live) return;
  const NodeId worker = node.worker->membership().node();
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    const std::uint64_t told = node.user->acknowledged(i);
    if (told == 0) continue;
    const TensorSpec& wanted = plan_.tensors[i].spec;
    std::uint32_t parts = 0;
    for (const auto& other : nodes_) {
      if (other->shard == nullptr) continue;
      other->shard->slots().for_each_part([&](const Part& part) {
        const bool counted = part.collector.rounds().rounds_of(worker) >= told;
        if (part.spec.name == wanted.name && counted) ++parts;
      });
    }
    const std::uint32_t all = Cut(wanted, plan_.settings.part_bytes).parts();
    if (parts < all) {
      report("acked is applied", fmt::format("{} was told that its round {} of {} is applied, and "
                                             "{} of {} parts have it",
                                             node.name, told, wanted.name, parts, all));
    }
  }
}

// When the fault began to do harm; Time::max(): not yet. Some cuts lose only large frames and are
// harmless until the first one is lost.
Time SimCluster::harmed_at(const Harm& harm) const {
  const bool some_pass = harm.strike.fault == Fault::kCut && harm.strike.cut == LinkCut::kBlackHole;
  return some_pass ? network_.first_lost_at(harm.victims[0], harm.victims[1]) : harm.at;
}

bool SimCluster::harmless() const {
  return std::all_of(harms_.begin(), harms_.end(),
                     [this](const Harm& harm) { return harmed_at(harm) == Time::max(); });
}

// The time by which every process must have ended. Each fault may strike the processes about to
// report the previous fault, so the last fault counts.
Time SimCluster::deadline() const {
  Time deadline = after(began_, kLongestJob);
  bool ends = false;  // A fault that the job cannot survive.
  for (const Harm& harm : harms_) {
    const Time at = harmed_at(harm);
    // A link that is cut during the handshakes is connected again and the job continues; the same
    // may hold for a link that is reset.
    const bool cut = harm.strike.fault == Fault::kCut;
    const bool goes_on = cut && (at - began_ < kGreetings || harm.strike.cut == LinkCut::kReset);
    if (at == Time::max() || goes_on) continue;
    // An undetected loss ends by the operation's own deadline.
    const Duration limit = kErrorWithin + (harm.strike.fault == Fault::kLoss ? 60s : 0s) + paused_;
    deadline = ends ? std::max(deadline, at + limit) : at + limit;
    ends = true;
  }
  return deadline;
}

void SimCluster::check_liveness() {
  if (clock_.now() <= deadline()) return;
  for (const auto& node : nodes_) {
    if (node->alive && !node->gone) {
      report("no hang", harms_.empty()
                            ? "the job goes on for ever"
                            : fmt::format("{} goes on {} s after the fault at {}", node->name,
                                          seconds(clock_.now() - harms_.back().at),
                                          harms_.back().victims.front()));
    }
  }
}

Status SimCluster::status_of(const Node& node) const {
  if (node.scheduler != nullptr) return node.scheduler->status();
  if (node.shard != nullptr) return node.shard->status();
  return *node.user->outcome();
}

void SimCluster::check_end() {
  for (const auto& node : nodes_) {
    if (!node->alive) continue;
    check_survivor(*node, status_of(*node));
    if (node->user == nullptr) continue;
    for (Code code : node->user->codes()) {
      const bool told = plan_.has(Fault::kMismatch) && code == Code::kMismatch;
      const bool full = plan_.has(Fault::kOverBudget) && code == Code::kResource;
      // A worker whose tensor was refused leaves early; its peers may miss it in a round.
      const bool refusing = plan_.has(Fault::kMismatch) || plan_.has(Fault::kOverBudget);
      const bool alone = refusing && code == Code::kPeerLost;
      if (harmless() && code != Code::kOk && !told && !full && !alone) {
        report("no error without a cause", fmt::format("{} saw {}", node->name, name_of(code)));
      }
    }
  }
}

// Every survivor ends with ok, or with an error that names a lost process.
void SimCluster::check_survivor(const Node& node, const Status& status) {
  if (status.ok()) {
    // Only a process that needed nothing more from the victim may end with ok.
    return;
  }
  if (harmless()) {
    report("no error without a cause", fmt::format("{} ended with {}", node.name, status.text()));
    return;
  }
  if (status.code() == Code::kTimeout && plan_.has(Fault::kLoss)) return;
  std::vector<std::string> victims;
  for (const Harm& harm : harms_) {
    victims.insert(victims.end(), harm.victims.begin(), harm.victims.end());
  }
  const bool named = std::any_of(victims.begin(), victims.end(), [&](const std::string& victim) {
    const std::string process = victim.substr(0, victim.find(" shard"));
    return status.text().find(process) != std::string::npos ||
           status.peer().find(process) != std::string::npos || node.name == victim;
  });
  if (!named) {
    report("errors name the cause",
           fmt::format("{} ended with '{}' (peer {}), lost was {}", node.name, status.text(),
                       status.peer(), fmt::join(victims, ", ")));
  }
}

}  // namespace stretto::sim
