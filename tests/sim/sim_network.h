// SPDX-License-Identifier: Apache-2.0
// SimNetwork: a network in virtual time. It is one more transport (it passes the conformance
// suite), with delays, rates and faults that come from a seed. Everything runs on one thread.
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
  /// Everybody waits so long for a processor.
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
  std::size_t link_capacity_bytes = 1 << 20;  ///< More than this in flight is kFull.
  bool local = false;  ///< Says that all are on one host: then paths are not measured.
  bool lend = true;  ///< Receivers get the sender's memory; else a copy of their own, as from TCP.
};

class SimTransport;

/// Thread: the simulation's.
class SimNetwork {
 public:
  SimNetwork(VirtualClock& clock, std::uint64_t seed, const NetworkOptions& options = {});
  ~SimNetwork();

  /// A new endpoint. `name` is for traces and faults.
  std::unique_ptr<Transport> endpoint(const std::string& name);

  /// When something is due to arrive at the endpoint; Time::max() if nothing is.
  Time next_arrival(const std::string& name) const;
  /// True if something has arrived at the endpoint and waits for its poll.
  bool has_arrived(const std::string& name) const;

  // Faults. All take effect for what is sent from now on, unless said otherwise.
  /// The endpoint is gone, as after a crash: far ends see their links broken.
  void kill(const std::string& name);
  /// The endpoint neither sends nor hears any more, and nobody is told.
  void silence(const std::string& name);
  /// Breaks one link between two endpoints, if there is one. Both ends are told.
  bool cut(const std::string& a, const std::string& b);
  /// From now on frames of so many bytes and more are lost on the way from one endpoint to the
  /// other, and what follows them never comes either, as over TCP. With 0, acknowledgments are
  /// lost too. Nobody is told: both ends have but PathLiveness. False if there is no link.
  bool hush(const std::string& from, const std::string& to, std::size_t least_bytes);
  /// That ends: what was held up comes now, and who was not told of an end hears of it.
  void unhush(const std::string& from, const std::string& to);
  /// When the first frame was lost so; until then only acknowledgments can have been. Time::max():
  /// none.
  Time first_lost_at(const std::string& from, const std::string& to) const;
  /// Loses the next frame between two endpoints, as a transport that reconnects silently does.
  void lose_next(const std::string& from, const std::string& to);
  /// Flips a bit of the next frame between two endpoints on its way: the first 1024 are its
  /// header's, from the lowest of the first byte on, the others its payload's, and behind these the
  /// header's again. False if there is no link.
  bool flip_next(const std::string& from, const std::string& to, std::size_t bit);
  /// No flip waits any more for a frame from or to this endpoint.
  void flip_none(const std::string& name);
  /// Sees and may rewrite each frame before it travels; returns how often it is delivered. The
  /// sequence numbers of what follows are made to fit, as if the sender had sent it so often.
  using Tamper = std::function<int(const std::string& from, const std::string& to,
                                   const wire::Header& header)>;
  void set_tamper(Tamper tamper) { tamper_ = std::move(tamper); }
  /// Puts a frame into the stream from one endpoint to another, as if that had sent it.
  bool inject(const std::string& from, const std::string& to, wire::Header header, Buffer payload);

  /// Where an endpoint listens; empty if it does not.
  std::string address_of(const std::string& name) const { return endpoints_.at(name).address; }
  std::uint64_t frames_delivered() const { return frames_delivered_; }
  std::size_t bytes_in_flight() const;
  /// Folds something into the trace's hash.
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
    bool extra = false;  // Added by a fault: the sender does not know of it.
    Status why = {};
  };
  struct End {  // One end of a link, at one endpoint.
    std::string peer;
    LinkId peer_link = 0;
    Time last_arrival;  // Of anything sent from here: order is kept.
    // First slices, by the number that their sender and their receiver know them by.
    std::map<std::uint64_t, std::uint64_t> begun;
    std::size_t in_flight = 0;  // Bytes sent from here that have not been delivered.
    bool told_full = false;
    bool broken = false;  // Nothing more can be sent.
    bool stuck = false;   // A frame from here was lost, which all others must follow.
    std::vector<std::pair<wire::Header, Buffer>> held;  // Those, until they come through again.
    Time heard_at;                                      // The last frame that came here.
    PathLiveness liveness;
    std::optional<std::size_t> flip;  // A bit of the next frame sent from here.
    std::uint64_t last_sequence = 0;  // Of what was sent from here.
    int extra_frames = 0;             // Frames that a fault added to what was sent from here,
    std::uint64_t extra_came = 0;     // and such frames that have arrived here,
    std::uint64_t extra_taken = 0;    // and their bytes.
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
