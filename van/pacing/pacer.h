// SPDX-License-Identifier: Apache-2.0
// Pacer: sets the send queue's windows and quanta for each path, and for the uplink of all paths.
// Links that share an uplink share its window, so that urgency holds across peers.
#pragma once

#include <map>
#include <optional>

#include "van/host_window/downlink.h"
#include "van/host_window/window_plan.h"
#include "van/host_window/yield_policy.h"
#include "van/pacing/urgency_detector.h"
#include "van/path/path_estimator.h"
#include "van/path/return_delay.h"
#include "van/queue/send_queue.h"

namespace stretto {

/// Paces only links that were added. Thread: loop.
class Pacer {
 public:
  explicit Pacer(SendQueue& queue) : queue_(queue) {}

  /// Upper limit of each window.
  void set_limit(std::uint64_t window_bytes) { limit_bytes_ = window_bytes; }

  void add_link(LinkId link, Time now);
  void remove_link(LinkId link);

  /// Call as time passes: bytes that have left this host make room for others.
  void on_time(Time now);
  /// The next slice to submit; none if no slice may leave.
  std::optional<SendQueue::Pick> next(Time now);
  /// When the last next() may find more without a credit: other processes have yielded, or sent
  /// bytes have left the host. Time::max(): nothing depends on time.
  Time next_look(Time now) const;
  /// For the next slice of data: true if the peer should send a credit immediately.
  bool wants_credit(LinkId link, std::uint64_t charge);
  void on_sent(LinkId link, std::uint64_t charge, Time now);
  /// The frame of that slice, of `bytes`: an urgent frame keeps latency mode on for a while.
  void note_urgency(const Frame& frame, std::uint64_t bytes, Time now);
  /// `ask()` returns the kernel's measurements of the link's round trips.
  template <typename Ask>
  void on_credit(LinkId link, std::uint64_t taken_bytes, Time now, const Ask& ask);
  /// Data arrived; `urgent` is its sender's flag.
  void on_data(LinkId link, std::uint64_t bytes, std::int32_t priority, bool urgent, Time now);
  bool is_urgent(const Frame& frame) const {
    return links_.contains(frame.link) && urgency_.is_urgent(frame.urgency(), frame.bulk);
  }
  /// Fields of a credit frame: the window that this receiver grants, whether urgent data arrives,
  /// and the loop's scheduling delay.
  void tell(LinkId link, wire::Header& credit, Time now);
  void hear(LinkId link, const wire::Header& credit, Time now);
  /// Scheduling delay of this end's loop.
  void set_own_wait(Duration wait) { own_wait_ = wait; }

  /// The share of the host's window that other processes leave.
  void set_share(const host::WindowShare& share, Time now);
  /// This process's entry for others, without time and job.
  host::HostEntry entry(Time now) const;

  /// State of a link's path, or null.
  const PathEstimator* find(LinkId link) const;

 private:
  struct Shaped {
    PathEstimator path;
    ReturnDelay returns;
    Duration waits{};         // Scheduling delays of the loops at both ends.
    std::uint64_t grant = 0;  // The peer's; 0: no limit.
    std::uint64_t credit_step_bytes = 0;
    std::uint64_t asked_bytes = 0;  // Sent when a credit was last requested.

    PathEstimate estimate_at(double rate) const {
      return estimate(rate, path.round_trip(), returns.get(), waits);
    }
    // The grant counts queued bytes: bytes in transit without a queue are added.
    std::uint64_t granted() const {
      const PathEstimate own = estimate_at(path.rate());
      return grant == 0 ? 0 : grant + own.product_bytes + own.wait_bytes + own.queue_bytes;
    }
  };

  void note_taken(LinkId link, std::uint64_t taken_bytes, Time now);
  PathEstimate estimate_of(const Shaped& link) const;
  void choose_mode(Time now);
  void shape(LinkId id, Shaped& link);
  void shape_all(Time now);

  SendQueue& queue_;
  std::map<LinkId, Shaped> links_;
  DeliveryRate uplink_{std::chrono::milliseconds(500)};  // Of all links together.
  PathEstimate estimate_;                                // Of all links with bytes in flight.
  std::uint64_t taken_bytes_ = 0;
  std::size_t busy_links_ = 0;  // Links with bytes in flight.
  host::WindowShare share_;
  host::YieldPolicy yielding_;
  bool yields_ = false;  // The last next() found only data that yields to another process.
  UrgencyDetector urgency_;
  UrgencyDetector coming_;  // Of incoming data.
  Downlink downlink_;
  Time other_urgent_until_ = {};  // At other processes and peers.
  bool may_grow_ = false;         // Other processes exceed their shares of the host's window.
  Duration own_wait_{};
  std::uint64_t limit_bytes_ = 8 << 20;
  Time shaped_all_at_ = {};
  Time departs_at_ = Time::max();  // Next departure of bytes then in flight.
};

template <typename Ask>
void Pacer::on_credit(LinkId link, std::uint64_t taken_bytes, Time now, const Ask& ask) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  if (found->second.path.wants_packets(now)) found->second.path.note_packets(ask(), now);
  note_taken(link, taken_bytes, now);
}

}  // namespace stretto
