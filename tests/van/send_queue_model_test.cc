// SPDX-License-Identifier: Apache-2.0
// The queue against a model that searches exhaustively: random pushes, credits, full links and
// changes of urgency, and after each operation the same pick.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "van/queue/send_queue.h"

namespace stretto {
namespace {

constexpr std::uint64_t kLinkWindow = 20'000;
constexpr std::uint64_t kTotalWindow = 70'000;
constexpr std::uint64_t kShapedLatency = 30'000;
constexpr std::uint64_t kShapedThroughput = 50'000;
constexpr WindowLimits kLatency{.window_bytes = 15'000, .quantum_bytes = 4'000};
constexpr WindowLimits kThroughput{.window_bytes = 25'000, .quantum_bytes = 9'000};
constexpr Urgency kModelBackground{1};
constexpr std::uint64_t kLookAfter = 128 << 10;
constexpr std::uint64_t kShare = 32;

struct ModelFrame {
  Urgency urgency;
  std::uint64_t order = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sent = 0;
  std::uint64_t tag = 0;
  bool bulk = false;
  bool abandoned = false;
};

struct ModelLink {
  std::map<Urgency, std::vector<ModelFrame>> lanes;
  std::vector<ModelFrame> paused;
  std::size_t control = 0;
  std::uint64_t sent = 0;
  std::uint64_t credited = 0;
  std::uint64_t wide_end = 0;
  bool full = false;
  bool shaped = false;
};

struct ModelPick {
  LinkId link = 0;
  std::uint64_t order = 0;
  std::uint64_t bytes = 0;
  bool control = false;
  bool last = true;
};

bool model_has_room(std::uint64_t in_flight, std::uint64_t half, std::uint64_t window) {
  return in_flight == 0 || in_flight + half <= window;
}

/// The rules of the queue, without any of its indexes.
class Model {
 public:
  std::map<LinkId, ModelLink> links;
  std::uint64_t orders = 0;
  bool latency_mode = false;

  /// `nothing_waits`: no data and no control frame is queued, on any link.
  void push(LinkId id, ModelFrame frame, bool nothing_waits) {
    if (nothing_waits) last_ = id - 1;
    frame.order = ++orders;
    links.at(id).lanes[frame.urgency].push_back(frame);
  }
  void put(ModelLink& link, const ModelFrame& frame) { link.lanes[frame.urgency].push_back(frame); }

  static std::vector<ModelFrame> take_out(ModelLink& link, std::uint64_t tag, bool abandoned) {
    std::vector<ModelFrame> taken;
    for (auto lane = link.lanes.begin(); lane != link.lanes.end();) {
      auto& frames = lane->second;
      for (auto it = frames.begin(); it != frames.end();) {
        const bool wanted = it->tag == tag && (abandoned || !it->abandoned);
        if (wanted) taken.push_back(*it);
        it = wanted ? frames.erase(it) : std::next(it);
      }
      lane = frames.empty() ? link.lanes.erase(lane) : std::next(lane);
    }
    in_order(taken);
    return taken;
  }
  /// Frames of one tag are moved in the order in which they were queued.
  static void in_order(std::vector<ModelFrame>& frames) {
    std::ranges::sort(frames, {}, &ModelFrame::order);
  }

  void set_urgency(std::uint64_t tag, const Urgency& urgency) {
    for (auto& [id, link] : links) {
      for (ModelFrame& frame : take_out(link, tag, true)) {
        frame.urgency = urgency;
        put(link, frame);
      }
      for (ModelFrame& frame : link.paused) {
        if (frame.tag == tag) frame.urgency = urgency;
      }
    }
  }
  void pause(std::uint64_t tag) {
    for (auto& [id, link] : links) {
      for (const ModelFrame& frame : take_out(link, tag, true)) link.paused.push_back(frame);
    }
  }
  void resume(std::uint64_t tag) {
    for (auto& [id, link] : links) {
      in_order(link.paused);
      for (const ModelFrame& frame : link.paused) {
        if (frame.tag == tag) put(link, frame);
      }
      std::erase_if(link.paused, [tag](const ModelFrame& frame) { return frame.tag == tag; });
    }
  }
  void cancel(std::uint64_t tag) {
    for (auto& [id, link] : links) {
      std::vector<ModelFrame> dropped = take_out(link, tag, false);
      for (const ModelFrame& frame : link.paused) {
        if (frame.tag == tag) dropped.push_back(frame);
      }
      in_order(dropped);
      std::erase_if(link.paused, [tag](const ModelFrame& frame) { return frame.tag == tag; });
      for (ModelFrame& frame : dropped) {
        if (frame.sent == 0) continue;
        frame.bytes = frame.tag = 0;
        frame.abandoned = true;
        put(link, frame);
      }
    }
  }

  std::uint64_t quantum(const ModelLink& link) const {
    if (!link.shaped) return wire::kMaxPayloadBytes / 5 * 4;
    return latency_mode ? kLatency.quantum_bytes : kThroughput.quantum_bytes;
  }
  bool is_urgent(const ModelFrame& frame) const {
    return latency_mode && !frame.bulk && frame.urgency < kModelBackground;
  }
  bool may_go(const ModelLink& link) const {
    if (link.full || link.lanes.empty()) return false;
    const ModelFrame& frame = link.lanes.begin()->second.front();
    const std::uint64_t half = (wire::kHeaderBytes + std::min(frame.bytes, quantum(link))) / 2;
    const bool urgent = is_urgent(frame);
    const bool wide = !latency_mode || (urgent && link.wide_end > link.credited);
    const auto& bounds = wide ? kThroughput : kLatency;
    const std::uint64_t own = link.shaped ? bounds.window_bytes : kLinkWindow;
    if (!model_has_room(link.sent - link.credited, half, own)) return false;
    std::uint64_t pooled = 0;
    bool pools_wide = false;
    for (const auto& [id, other] : links) {
      if (other.shaped != link.shaped) continue;
      pooled += other.sent - other.credited;
      pools_wide = pools_wide || other.wide_end > other.credited;
    }
    pools_wide = !latency_mode || (urgent && pools_wide);
    const std::uint64_t shaped = pools_wide ? kShapedThroughput : kShapedLatency;
    return model_has_room(pooled, half, link.shaped ? shaped : kTotalWindow);
  }
  ModelPick pick_of(LinkId id, const ModelLink& link, const ModelFrame& frame) const {
    const std::uint64_t most = quantum(link);
    const std::uint64_t left = frame.bytes - std::min(frame.sent, frame.bytes);
    const bool last = left <= most + most / 4;
    return {id, frame.order, last ? left : most, false, last};
  }
  std::optional<ModelPick> next() {
    for (auto& [id, link] : links) {
      if (!link.full && link.control > 0) return ModelPick{.link = id, .control = true};
    }
    if (since_oldest_ >= kLookAfter) {
      if (const auto aged = oldest()) return aged;
    }
    std::vector<LinkId> turns;
    for (const auto& [id, link] : links) turns.push_back(id);
    std::rotate(turns.begin(), std::upper_bound(turns.begin(), turns.end(), last_), turns.end());
    const ModelLink* best = nullptr;
    LinkId best_id = 0;
    for (const LinkId id : turns) {
      const ModelLink& link = links.at(id);
      if (!may_go(link)) continue;
      if (best != nullptr && !(link.lanes.begin()->first < best->lanes.begin()->first)) continue;
      best = &link;
      best_id = id;
    }
    if (best == nullptr) return std::nullopt;
    return pick_of(best_id, *best, best->lanes.begin()->second.front());
  }
  void taken(const ModelPick& pick) {
    ModelLink& link = links.at(pick.link);
    if (pick.control) {
      --link.control;
      return;
    }
    for (auto lane = link.lanes.begin(); lane != link.lanes.end(); ++lane) {
      ModelFrame& frame = lane->second.front();
      if (frame.order != pick.order) continue;
      link.sent += wire::kHeaderBytes + pick.bytes;
      if (!latency_mode) link.wide_end = link.sent;
      since_oldest_ += wire::kHeaderBytes + pick.bytes;
      last_ = pick.link;
      frame.sent += pick.bytes;
      if (!pick.last) return;
      lane->second.erase(lane->second.begin());
      if (lane->second.empty()) link.lanes.erase(lane);
      return;
    }
    ADD_FAILURE() << "no lane begins with frame " << pick.order;
  }

 private:
  std::optional<ModelPick> oldest() {
    std::optional<ModelPick> found;
    for (const auto& [id, link] : links) {
      if (!may_go(link)) continue;
      for (const auto& [urgency, lane] : link.lanes) {
        if (!found || lane.front().order < found->order) found = pick_of(id, link, lane.front());
      }
    }
    if (!found || since_oldest_ < kShare * (wire::kHeaderBytes + found->bytes)) return std::nullopt;
    since_oldest_ = 0;
    return found;
  }

  std::uint64_t since_oldest_ = 0;
  LinkId last_ = 0;
};

class Both {
 public:
  explicit Both(unsigned seed) : random_(seed) {
    queue_.windows().set_shaped(kShapedLatency, kShapedThroughput);
    for (LinkId id = 1; id <= kLinks; ++id) add(id);
  }
  void step() {
    const LinkId id = below(kLinks) + 1;
    const std::uint64_t tag = below(6) + 1;
    ModelLink& link = model_.links.at(id);
    switch (below(16)) {
      case 0:
        queue_.push_control(id, Frame{});
        ++link.control;
        return;
      case 1:
        queue_.full(id);
        link.full = true;
        return;
      case 2:
      case 3:
        queue_.writable(id);
        link.full = false;
        return;
      case 4: {
        const Urgency urgency = any_urgency();
        queue_.set_urgency(tag, urgency);
        return model_.set_urgency(tag, urgency);
      }
      case 5:
        queue_.pause(tag);
        return model_.pause(tag);
      case 6:
      case 7:
        queue_.resume(tag);
        return model_.resume(tag);
      case 8:
        if (below(4) != 0) return;
        queue_.cancel(tag);
        return model_.cancel(tag);
      case 9:
        if (below(20) != 0) return;
        queue_.remove_link(id);
        model_.links.erase(id);
        return add(id);
      case 10:
      case 11:
        link.credited += below(static_cast<unsigned>(link.sent - link.credited + 1));
        EXPECT_TRUE(queue_.windows().credited(id, link.credited));
        return;
      case 12:
        model_.latency_mode = below(2) == 0;
        return queue_.windows().set_latency_mode(
            model_.latency_mode ? std::optional(kModelBackground) : std::nullopt);
      default:
        return push(id, tag);
    }
  }
  /// Takes up to `most` frames, and compares each pick with the model's.
  void drain(int most) {
    for (int i = 0; i < most; ++i) {
      const auto expected = model_.next();
      const auto pick = queue_.next();
      ASSERT_EQ(pick.has_value(), expected.has_value());
      if (!pick) return;
      ASSERT_EQ(pick->link, expected->link);
      ASSERT_EQ(pick->control, expected->control);
      if (!pick->control) {
        ASSERT_EQ(pick->frame->order, expected->order);
        ASSERT_EQ(pick->bytes, expected->bytes);
        ASSERT_EQ(pick->last, expected->last);
      }
      queue_.taken(*pick);
      model_.taken(*expected);
    }
  }

 private:
  static constexpr LinkId kLinks = 7;

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  Urgency any_urgency() {
    return {static_cast<std::int32_t>(below(4)),
            below(3) == 0 ? Time(Duration(below(5))) : Time::max()};
  }
  void add(LinkId id) {
    queue_.add_link(id);
    model_.links[id].shaped = id % 2 == 0;
    if (id % 2 == 0) queue_.windows().shape(id, kLatency, kThroughput);
  }
  void push(LinkId id, std::uint64_t tag) {
    const Urgency urgency = any_urgency();
    const std::size_t bytes = below(3) == 0 ? below(30'000) : below(300);
    Frame frame;
    frame.header.priority = urgency.priority;
    frame.deadline = urgency.deadline;
    frame.payload = Buffer::allocate(bytes);
    frame.tag = tag;
    frame.bulk = below(3) == 0;
    model_.push(id, {.urgency = urgency, .bytes = bytes, .tag = tag, .bulk = frame.bulk},
                queue_.waiting() == 0);
    queue_.push(id, std::move(frame));
  }

  std::mt19937 random_;
  SendQueue queue_{kLinkWindow, kTotalWindow};
  Model model_;
};

TEST(SendQueueModel, PickMatchesExhaustiveSearch) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Both both(seed);
    for (int i = 0; i < 600; ++i) {
      both.step();
      if (i % 3 == 0) both.drain(static_cast<int>(seed % 5) + 1);
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace stretto
