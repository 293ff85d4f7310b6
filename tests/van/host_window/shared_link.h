// SPDX-License-Identifier: Apache-2.0
// SharedLink: endpoints of one host behind one link, in virtual time. Queues, pacers and seats are
// real. Bytes are serialized on a link of a given rate; credits return after a round trip.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "common/clock.h"
#include "van/host_window/host_window.h"
#include "van/pacing/pacer.h"

namespace stretto::host {

class SharedLink {
 public:
  static constexpr double kRate = 125e6;  // Bytes per second.
  static constexpr Duration kRoundTrip = std::chrono::microseconds(100);

  /// An endpoint's endless traffic, and the speed of its peer.
  struct Load {
    std::uint64_t job = 1;
    std::int32_t priority = 0;
    bool bulk = false;
    double path_rate = kRate;
  };

  /// Thread: loop.
  class Endpoint {
   public:
    Endpoint(SharedLink& link, HostPolicy policy, const Load& load)
        : link_(link), load_(load), window_({policy, load.job, link.path_}) {
      queue_.add_link(kLink);
      pacer_.add_link(kLink, link_.now_);
      window_.join(link_.now_);
    }

    void start() {
      endless_ = true;
      pump();
    }
    void stop() { endless_ = false; }
    void send(std::uint32_t bytes) {
      for (; bytes > 0; bytes -= std::min(bytes, kPart)) {
        push(std::min(bytes, kPart), load_.priority, load_.bulk);
      }
      pump();
    }
    /// Stops the endpoint silently.
    void kill() { killed_ = true; }
    void send_urgent(std::uint32_t bytes, std::int32_t priority) {
      push(bytes, priority, false);
      urgent_sent_.push_back(link_.now_);
      pump();
    }

    std::uint64_t taken_bytes() const { return taken_bytes_; }
    /// Latencies of urgent messages in milliseconds, sorted.
    std::vector<double> urgent_ms() const {
      std::vector<double> times = urgent_ms_;
      std::ranges::sort(times);
      return times;
    }

   private:
    static constexpr LinkId kLink = 1;
    static constexpr std::uint32_t kPart = 256 << 10;

    void push(std::uint32_t bytes, std::int32_t priority, bool bulk) {
      Frame frame;
      frame.header.kind = wire::Kind::kPush;
      frame.header.priority = priority;
      frame.bulk = bulk;
      frame.payload = part_.slice(0, bytes);
      queue_.push(kLink, std::move(frame));
    }

    // As Sender does.
    void pump() {
      if (killed_) return;
      while (endless_ && queue_.waiting(kLink) < 4) push(kPart, load_.priority, load_.bulk);
      const Time now = link_.now_;
      if (queue_.waiting() > 0) {
        if (window_.is_due(now)) {
          pacer_.set_share(window_.look(pacer_.entry(now), now), now);
        }
        pacer_.on_time(now);
        while (const auto pick = pacer_.next(now)) submit(*pick);
      }
      if (window_.must_tell(queue_.waiting() > 0, now)) {
        window_.tell(pacer_.entry(now), now);
      }
      const Time next_look = pacer_.next_look(now);
      if (next_look == Time::max() || std::exchange(looks_again_, true)) return;
      link_.at(std::max(next_look, now), [this] {
        looks_again_ = false;
        pump();
      });
    }

    void submit(const SendQueue::Pick& pick) {
      const SendQueue::Pick taken = pick;
      const Time now = link_.now_;
      const bool urgent = taken.frame->header.priority != load_.priority;
      pacer_.note_urgency(*taken.frame, taken.charge(), now);
      queue_.taken(taken);
      pacer_.on_sent(kLink, taken.charge(), now);
      const std::uint64_t sent = queue_.windows().sent(kLink);
      const Time left = link_.carry(taken.charge(), link_.free_at_, kRate);
      far_free_at_ =
          std::max(far_free_at_, left) +
          link_.time_of(taken.charge(),
                        std::min(load_.path_rate, kRate) == kRate ? 1e18 : load_.path_rate);
      link_.at(far_free_at_ + kRoundTrip, [this, sent, urgent] { on_credit(sent, urgent); });
    }

    void on_credit(std::uint64_t sent, bool urgent) {
      if (killed_) return;
      taken_bytes_ = sent;
      EXPECT_TRUE(queue_.windows().credited(kLink, sent));
      pacer_.on_credit(kLink, sent, link_.now_, [] { return std::nullopt; });
      if (urgent) {
        urgent_ms_.push_back(1e3 * seconds(link_.now_ - urgent_sent_.front()));
        urgent_sent_.erase(urgent_sent_.begin());
      }
      pump();
    }

    SharedLink& link_;
    const Load load_;
    Buffer part_ = Buffer::allocate(kPart);
    SendQueue queue_{1 << 20, 8 << 20};
    Pacer pacer_{queue_};
    HostWindow window_;
    bool endless_ = false;
    bool killed_ = false;
    bool looks_again_ = false;
    Time far_free_at_ = {};
    std::uint64_t taken_bytes_ = 0;
    std::vector<Time> urgent_sent_;
    std::vector<double> urgent_ms_;
  };

  SharedLink(std::string path, HostPolicy policy) : path_(std::move(path)), policy_(policy) {}

  Endpoint& add(const Load& load) { return endpoints_.emplace_back(*this, policy_, load); }
  void run(Duration length) {
    const Time end = now_ + length;
    while (!events_.empty() && events_.begin()->first <= end) {
      auto event = events_.extract(events_.begin());
      now_ = event.key();
      event.mapped()();
    }
    now_ = end;
  }
  void at(Time time, std::function<void()> what) { events_.emplace(time, std::move(what)); }

  /// Each endpoint's fraction of the link's capacity during the next `length`.
  std::vector<double> parts(Duration length) {
    std::vector<double> before;
    for (const Endpoint& each : endpoints_) before.push_back(taken(each));
    run(length);
    std::vector<double> parts;
    for (const Endpoint& each : endpoints_) {
      const double sent = taken(each) - before[parts.size()];
      parts.push_back(sent / kRate / seconds(length));
    }
    return parts;
  }

 private:
  static double taken(const Endpoint& endpoint) {
    return static_cast<double>(endpoint.taken_bytes());
  }
  static Duration time_of(std::uint64_t bytes, double rate) {
    return std::chrono::nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(bytes) / rate * 1e9));
  }
  // When `bytes` bytes that arrive now have left the link.
  Time carry(std::uint64_t bytes, Time& free_at, double rate) const {
    free_at = std::max(free_at, now_) + time_of(bytes, rate);
    return free_at;
  }

  const std::string path_;
  const HostPolicy policy_;
  Time now_{std::chrono::hours(1)};
  Time free_at_ = {};
  std::multimap<Time, std::function<void()>> events_;
  std::list<Endpoint> endpoints_;
};

}  // namespace stretto::host
