// SPDX-License-Identifier: Apache-2.0
// Pacer: keeps the send queue's windows and quanta as the paths to the far ends want them, and all
// of them together as the way out of this host wants it: links that share an uplink share its
// window, so that urgency holds across peers.
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

/// Thread: loop. Only links that were added are paced.
class Pacer {
 public:
  explicit Pacer(SendQueue& queue) : queue_(queue) {}

  /// No window may grow beyond this.
  void set_limit(std::uint64_t window_bytes) { limit_bytes_ = window_bytes; }

  void add_link(LinkId link, Time now);
  void remove_link(LinkId link);

  /// Time has passed: what has left this host by now makes room for others.
  void on_time(Time now);
  /// The slice to submit now; none if nothing may go.
  std::optional<SendQueue::Pick> next(Time now);
  /// When the last next() may find more without a credit: other processes of the host have given
  /// way, or what this one sent has left the host. Time::max(): nothing waits for time.
  Time next_look(Time now) const;
  /// A slice of data is about to go: true if the far end should tell at once that it has come.
  bool wants_credit(LinkId link, std::uint64_t charge);
  void on_sent(LinkId link, std::uint64_t charge, Time now);
  /// The same slice, of so many bytes, is of this frame: after an urgent one, latency mode lasts
  /// for a while.
  void note_urgency(const Frame& frame, std::uint64_t bytes, Time now);
  /// `ask()` is what the kernel has seen of the link's round trips.
  template <typename Ask>
  void on_credit(LinkId link, std::uint64_t taken_bytes, Time now, const Ask& ask);
  /// Data has come: `urgent` if its sender says so.
  void on_data(LinkId link, std::uint64_t bytes, std::int32_t priority, bool urgent, Time now);
  bool is_urgent(const Frame& frame) const {
    return links_.contains(frame.link) && urgency_.is_urgent(frame.urgency(), frame.bulk);
  }
  /// What one end tells the other in a credit frame: the window that this receiver grants, whether
  /// urgent data comes, and how long the loop waits for a processor.
  void tell(LinkId link, wire::Header& credit, Time now);
  void hear(LinkId link, const wire::Header& credit, Time now);
  /// How long this end's loop waits for a processor when it does.
  void set_own_wait(Duration wait) { own_wait_ = wait; }

  /// What other processes leave of this host's window.
  void set_share(const host::WindowShare& share, Time now);
  /// What they should know of this one, but for when and of which job it is.
  host::HostEntry entry(Time now) const;

  /// What is known of a link's path, or null.
  const PathEstimator* find(LinkId link) const;

 private:
  struct Shaped {
    PathEstimator path;
    ReturnDelay returns;
    Duration waits{};         // For processors, of the loops at both ends.
    std::uint64_t grant = 0;  // The far end's; 0: no limit.
    std::uint64_t credit_step_bytes = 0;
    std::uint64_t asked_bytes = 0;  // Sent when a credit was asked for.

    PathEstimate estimate_at(double rate) const {
      return estimate(rate, path.round_trip(), returns.get(), waits);
    }
    // The grant is of queue: what is on the way without a queue comes to it.
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
  PathEstimate estimate_;                                // The same, while bytes are in flight.
  std::uint64_t taken_bytes_ = 0;
  std::size_t busy_links_ = 0;  // Have bytes in flight.
  host::WindowShare share_;
  host::YieldPolicy yielding_;
  bool yields_ = false;  // The last next() found only what has to wait for another process.
  UrgencyDetector urgency_;
  UrgencyDetector coming_;  // Of what comes.
  Downlink downlink_;
  Time other_urgent_until_ = {};  // Of other processes, and at far ends.
  bool may_grow_ = false;         // Others have more of the host's window than their parts.
  Duration own_wait_{};
  std::uint64_t limit_bytes_ = 8 << 20;
  Time shaped_all_at_ = {};
  Time departs_at_ = Time::max();  // The next of what was in flight then.
};

template <typename Ask>
void Pacer::on_credit(LinkId link, std::uint64_t taken_bytes, Time now, const Ask& ask) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  if (found->second.path.wants_packets(now)) found->second.path.note_packets(ask(), now);
  note_taken(link, taken_bytes, now);
}

}  // namespace stretto
