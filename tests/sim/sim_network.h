// SPDX-License-Identifier: Apache-2.0
// SimNetwork: a transport in virtual time that passes the conformance suite, with delays, rates and
// faults drawn from a seed. Everything runs on one thread.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"
#include "tests/sim/random.h"
#include "van/transport/path_liveness.h"
#include "van/transport/transport.h"

namespace stretto::sim {

class VirtualClock final : public Clock {
 public:
  Time now() const override { return now_; }
  void advance_to(Time time) {
    if (time > now_) now_ = time;
  }
  Duration waited() const override { return waited_; }
  /// Delays every thread by `time`, as a busy processor does.
  void wait(Duration time) {
    now_ += time;
    waited_ += time;
  }

 private:
  Time now_{std::chrono::seconds(1000)};
  Duration waited_{};
};

struct NetworkOptions {
  Duration least_latency = 10us;
  Duration most_latency = 500us;
  double bytes_per_second = 1e9;
  std::size_t link_capacity_bytes = 1 << 20;  ///< Bytes in flight beyond which sends return kFull.
  bool local = false;  ///< All endpoints claim one host: paths are not measured.
  bool lend = true;    ///< Receivers get the sender's memory; else a copy, as from TCP.
};

class SimTransport;

/// Thread: the simulation's.
class SimNetwork {
 public:
  SimNetwork(VirtualClock& clock, std::uint64_t seed, const NetworkOptions& options = {});
  ~SimNetwork();

  /// Makes an endpoint. `name` is for traces and faults.
  std::unique_ptr<Transport> endpoint(const std::string& name);

  /// When the next event reaches the endpoint; Time::max() if none is pending.
  Time next_arrival(const std::string& name) const;
  /// True if an event has arrived at the endpoint and waits for its poll.
  bool has_arrived(const std::string& name) const;

  // Faults. All affect later sends only, unless stated otherwise.
  /// The endpoint ends, as after a crash: its peers see their links broken.
  void kill(const std::string& name);
  /// The endpoint neither sends nor receives any more; no peer is notified.
  void silence(const std::string& name);
  /// Breaks one link between two endpoints, if there is one. Both ends are notified.
  bool cut(const std::string& a, const std::string& b);
  /// From now on frames of `least_bytes` and more are lost from one endpoint to the other. All
  /// frames behind them are lost too, as over TCP. With 0, acknowledgments are lost too. Neither
  /// end is notified: only PathLiveness can tell. False if there is no link.
  bool hush(const std::string& from, const std::string& to, std::size_t least_bytes);
  /// Ends hush(): held frames arrive now, and ends that broke meanwhile are reported.
  void unhush(const std::string& from, const std::string& to);
  /// When hush() lost the first frame; earlier losses were acknowledgments. Time::max(): none.
  Time first_lost_at(const std::string& from, const std::string& to) const;
  /// Loses the next frame between two endpoints, as a transport that reconnects silently does.
  void lose_next(const std::string& from, const std::string& to);
  /// Flips a bit of the next frame between two endpoints in transit. Bits 0 to 1023 are the
  /// header's, from the lowest bit of the first byte on; then the payload's; then the header's
  /// again. False if there is no link.
  bool flip_next(const std::string& from, const std::string& to, std::size_t bit);
  /// Cancels pending flips of frames from or to this endpoint.
  void flip_none(const std::string& name);
  /// Sees and may rewrite each frame before it travels; returns the number of deliveries. Sequence
  /// numbers of later frames are adjusted, as if the sender had sent all copies.
  using Tamper = std::function<int(const std::string& from, const std::string& to,
                                   const wire::Header& header)>;
  void set_tamper(Tamper tamper) { tamper_ = std::move(tamper); }
  /// Inserts a frame into the stream between two endpoints, as if `from` had sent it.
  bool inject(const std::string& from, const std::string& to, wire::Header header, Buffer payload);

  /// The listening address of an endpoint; empty if it does not listen.
  std::string address_of(const std::string& name) const { return endpoints_.at(name).address; }
  std::uint64_t frames_delivered() const { return frames_delivered_; }
  std::size_t bytes_in_flight() const;
  /// Folds a value into the trace's hash.
  void trace(std::uint64_t value) { trace_ = (trace_ ^ value) * 0x100000001b3ULL; }
  std::uint64_t trace_hash() const { return trace_; }

 private:
  friend class SimTransport;

  struct Event {
    enum class Kind { kLink, kFrame, kBroken, kWritable } kind = Kind::kFrame;
    LinkId link = 0;
    wire::HeaderBytes header{};
    Buffer payload = {};
    std::size_t charge = 0;
    bool extra = false;  // Added by a fault: unknown to the sender.
    Status why = {};
  };
  struct End {  // One end of a link, at one endpoint.
    std::string peer;
    LinkId peer_link = 0;
    Time last_arrival;  // Of anything sent from here: order is kept.
    // First slices, by the frame's number at the sender and at the receiver.
    std::map<std::uint64_t, std::uint64_t> begun;
    std::size_t in_flight = 0;  // Bytes sent from here that have not been delivered.
    bool told_full = false;
    bool broken = false;  // Nothing more can be sent.
    bool stuck = false;   // A frame from here was lost: later ones are held.
    std::vector<std::pair<wire::Header, Buffer>> held;  // The held frames, until unhush().
    Time heard_at;                                      // The last frame that arrived here.
    PathLiveness liveness;
    std::optional<std::size_t> flip;  // A bit of the next frame sent from here.
    std::uint64_t last_sequence = 0;  // The last sequence number sent from here.
    int extra_frames = 0;             // Frames that a fault added to those sent from here,
    std::uint64_t extra_came = 0;     // and those of them that have arrived here,
    std::uint64_t extra_taken = 0;    // and that were delivered.
  };
  struct Endpoint {
    std::string address;
    bool alive = true;
    bool silent = false;
    LinkId next_link = 1;
    std::map<LinkId, End> ends;
    std::map<std::pair<Time, std::uint64_t>, Event> events;  // By arrival, then order of sending.
    bool woken = false;
    Time silent_since;
    Duration dead_after = JobSettings().dead_after;
    Time next_look;
  };
  struct Hush {
    std::size_t least_bytes = std::numeric_limits<std::size_t>::max();
    Time since;
    Time first_lost_at = Time::max();
  };

  Result<std::string> listen(const std::string& name, std::string_view address);
  Result<LinkId> connect(const std::string& name, std::string_view address);
  Transport::Sent try_send(const std::string& name, LinkId link, const wire::Header& header,
                           const Buffer& payload);
  void close(const std::string& name, LinkId link);
  void poll(const std::string& name, Transport::Sink& sink, Duration wait);

  void deliver(Endpoint& to, End& from, const wire::Header& header, Buffer payload, bool extra);
  static void flip(Event& event, std::size_t bit);
  void schedule(Endpoint& to, Time when, Event event);
  void give_memory_back(const End& end);
  void reset_orphans(const std::string& name, const std::string& far);
  void tell_of_end(const std::string& name, const End& end);
  void break_end(const std::string& name, LinkId link, const Status& why);
  void leave(const std::string& name);
  Hush* hush_of(const std::string& from, const std::string& to);
  const Hush* hush_of(const std::string& from, const std::string& to) const;
  PathSample signs_of(const std::string& name, const End& end) const;
  void look_at_paths(const std::string& name, Endpoint& endpoint);
  Duration latency() { return random_.between(options_.least_latency, options_.most_latency); }

  VirtualClock& clock_;
  Random random_;
  NetworkOptions options_;
  std::map<std::string, Endpoint> endpoints_;
  std::map<std::string, std::string> names_;  // By address.
  std::set<std::pair<std::string, std::string>> lossy_;
  std::map<std::pair<std::string, std::string>, Hush> hushed_;
  Tamper tamper_;
  std::uint64_t next_event_ = 1;
  std::uint16_t next_port_ = 1;
  std::uint64_t frames_delivered_ = 0;
  std::uint64_t trace_ = 0xcbf29ce484222325ULL;
};

}  // namespace stretto::sim
