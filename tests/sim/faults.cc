// SPDX-License-Identifier: Apache-2.0
// The faults of a simulated job: the plan's timeline, strike by strike.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/sim_cluster.h"
#include "van/control/control_codec.h"

namespace stretto::sim {
namespace {

constexpr int kMostHostileTurns = 100;

}  // namespace

Time SimCluster::next_strike() const {
  const bool over = struck_ == plan_.timeline.size();
  return over ? Time::max() : began_ + plan_.timeline[struck_].after;
}

void SimCluster::strike() {
  const Strike& strike = plan_.timeline[struck_++];
  switch (strike.fault) {
    case Fault::kCrash:
    case Fault::kSilence:
      end_abruptly(strike);
      break;
    case Fault::kCut:
    case Fault::kLoss:
      cut_some_link(strike);
      break;
    case Fault::kPause:
      pause(*nodes_[random_.below(nodes_.size())], strike);
      break;
    case Fault::kHostile:
      begin_hostility();
      break;
    default:
      break;
  }
}

// A process ends, with all of its shards.
void SimCluster::end_abruptly(const Strike& strike) {
  std::string victim = nodes_[random_.below(nodes_.size())]->name;
  victim = victim.substr(0, victim.find(" shard"));
  bool harmed = false;
  for (const auto& node : nodes_) {
    if (node->name != victim && !node->name.starts_with(victim + " ")) continue;
    if (node->gone || !node->alive) continue;
    node->alive = false;
    harmed = true;
    if (strike.fault == Fault::kSilence) {
      network_.silence(node->name);
    } else {
      network_.kill(node->name);
    }
  }
  if (harmed) harms_.push_back({.strike = strike, .at = clock_.now(), .victims = {victim}});
}

// Each node pauses at most once: two pauses in quick succession could exceed the dead time.
void SimCluster::pause(Node& node, const Strike& strike) {
  if (node.paused_until != Time()) return;
  node.paused_until = clock_.now() + strike.pause;
  paused_ += strike.pause;
}

const SimCluster::Node* SimCluster::some_busy_worker() {
  std::vector<const Node*> busy;
  for (const auto& node : nodes_) {
    if (!node->gone && node->user != nullptr && node->user->in_flight() > 0) {
      busy.push_back(node.get());
    }
  }
  return busy.empty() ? nullptr : busy[random_.below(busy.size())];
}

// Resets or corrupts a link of a worker with operations in flight: the session must survive.
void SimCluster::cut_and_mend(LinkCut how) {
  const Node* worker = some_busy_worker();
  if (worker == nullptr) return;
  const Node& other = *nodes_[random_.below(nodes_.size())];
  if (other.gone) return;
  bool done = false;
  if (how == LinkCut::kFlip) {
    // The scheduler cannot retransmit its last message.
    if (other.scheduler != nullptr) return;
    const std::size_t bits = 8 * wire::kHeaderBytes * (random_.chance(0.5) ? 1 : 4);
    const bool comes = random_.chance(0.5);
    done = network_.flip_next(comes ? other.name : worker->name, comes ? worker->name : other.name,
                              random_.below(bits));
  } else {
    done = network_.cut(worker->name, other.name);
  }
  if (done) ++mended_;
}

void SimCluster::dip(const Strike& strike) {
  const Node* worker = some_busy_worker();
  if (worker == nullptr || dip_) return;
  const Node& other = *nodes_[random_.below(nodes_.size())];
  if (other.gone || !network_.hush(worker->name, other.name, 0)) return;
  dip_ = Dip{worker->name, other.name, clock_.now() + strike.pause};
  ++mended_;
  const std::uint64_t directions = random_.below(3);
  if (directions > 0) network_.hush(other.name, worker->name, 0);
  if (directions > 1) network_.unhush(worker->name, other.name);
}

void SimCluster::end_dip() {
  if (!dip_ || dip_->until > clock_.now()) return;
  dip_->until = Time::max();
  network_.unhush(dip_->a, dip_->b);
  network_.unhush(dip_->b, dip_->a);
}

// True if a reset of the link must be survived: from the first roster until members leave. A paused
// node cannot reconnect in time, and frames added by a fault belong to no session.
bool SimCluster::lasts(const Node& a, const Node& b) const {
  const auto lives = [](const Node& node) {
    return node.alive && !node.gone && (node.user == nullptr || node.user->in_flight() > 0);
  };
  bool busy = false;
  for (const auto& node : nodes_) {
    if (node->worker == nullptr) continue;
    if (node->agent == nullptr || node->gone || !node->worker->joined()) return false;
    busy = busy || node->user->in_flight() > 0;
  }
  return busy && lives(a) && lives(b) && !plan_.has(Fault::kPause) && !plan_.has(Fault::kHostile);
}

void SimCluster::cut_some_link(const Strike& strike) {
  const bool mends = strike.cut == LinkCut::kMended || strike.cut == LinkCut::kFlip;
  if (mends) return cut_and_mend(strike.cut);
  if (strike.cut == LinkCut::kDip) return dip(strike);
  for (int attempt = 0; attempt < 50; ++attempt) {
    const Node& a = *nodes_[random_.below(nodes_.size())];
    const Node& b = *nodes_[random_.below(nodes_.size())];
    if (a.name == b.name || !a.alive || !b.alive) continue;
    if (strike.fault == Fault::kLoss) {
      network_.lose_next(a.name, b.name);
    } else if (!cut(a.name, b.name, strike.cut)) {
      continue;
    } else if (strike.cut == LinkCut::kReset && lasts(a, b)) {
      ++mended_;
      return;
    }
    harms_.push_back({.strike = strike, .at = clock_.now(), .victims = {a.name, b.name}});
    return;
  }
}

bool SimCluster::cut(const std::string& a, const std::string& b, LinkCut how) {
  constexpr std::size_t kLarge = 256;
  switch (how) {
    case LinkCut::kReset:
      return network_.cut(a, b);
    case LinkCut::kSilent:
      return network_.hush(a, b, 0) && network_.hush(b, a, 0);
    case LinkCut::kOneWay:
      return network_.hush(a, b, 0);
    case LinkCut::kBlackHole:
      return network_.hush(a, b, kLarge);
    case LinkCut::kMended:
    case LinkCut::kFlip:
    case LinkCut::kDip:
      break;  // See cut_and_mend() and dip().
  }
  return false;
}

// Injects pending connections, repeated frames of members, and frames about unknown tensors.
void SimCluster::begin_hostility() {
  if (stranger_ != nullptr) return;
  stranger_ = network_.endpoint("stranger");
  network_.set_tamper([this](const std::string&, const std::string&, const wire::Header& header) {
    // Slices refer to their frame by its number, which copies in between would change.
    const bool share = header.kind == wire::Kind::kPush && plan_.network.local;
    return share && random_.chance(0.2) ? 2 : 1;
  });
}

void SimCluster::hostile_turn() {
  if (hostile_turns_ > kMostHostileTurns || !random_.chance(0.02)) return;
  ++hostile_turns_;
  const Node& target = *nodes_[random_.below(nodes_.size())];
  if (target.gone || !target.alive) return;
  control::Message message;
  const std::uint64_t choice = random_.below(5);
  if (choice == 0) message = control::Leave{};
  if (choice == 1) message = control::Failure{{Code::kCancelled, "a stranger says so"}};
  if (choice == 2) message = control::Hello{.token = "wrong"};
  if (choice == 3) message = control::Barrier{.number = 1};
  Buffer payload =
      choice == 4 ? Buffer::copy_of(std::as_bytes(std::span("garbage"))) : control::encode(message);
  wire::Header header;
  header.sequence = 1;
  header.bytes = static_cast<std::uint32_t>(payload.size());
  if (target.scheduler != nullptr || target.shard != nullptr) {
    const std::string door = network_.address_of(target.name);
    if (auto link = stranger_->connect(door); link.ok()) {
      (void)stranger_->try_send(*link, header, payload);
    }
  }
  const Node& member = *nodes_[random_.below(nodes_.size())];
  if (member.worker == nullptr || member.gone || !member.alive) return;
  if (!member.worker->joined()) return;
  if (target.scheduler != nullptr && !barriers_.empty()) {  // Repeats its last barrier.
    for (auto barrier = barriers_.rbegin(); barrier != barriers_.rend(); ++barrier) {
      const auto& [number, ranks] = *barrier;
      if (ranks.count(member.worker->membership().number()) == 0) continue;
      wire::Header repeat;
      repeat.sender = member.worker->membership().node();
      const Buffer bytes = control::encode(control::Barrier{.number = number});
      repeat.bytes = static_cast<std::uint32_t>(bytes.size());
      network_.inject(member.name, target.name, repeat, bytes);
      break;
    }
  } else if (target.shard != nullptr) {  // Pushes to an undeclared tensor.
    wire::Header unknown;
    unknown.kind = wire::Kind::kPush;
    unknown.flags = wire::kWantsValue;
    unknown.dtype = static_cast<std::uint8_t>(Dtype::kF32);
    unknown.sender = member.worker->membership().node();
    unknown.epoch = 1;
    unknown.key = {9999, 0};
    unknown.version = 1;
    unknown.bytes = 4;
    network_.inject(member.name, target.name, unknown,
                    Buffer::copy_of(std::as_bytes(std::span("abc"))));
  }
}

}  // namespace stretto::sim
