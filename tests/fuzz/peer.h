// SPDX-License-Identifier: Apache-2.0
// Peer: an endpoint of the simulated network that a fuzzer's input controls. It follows the
// protocol far enough to reach deep code: sequence numbers and credits of its frames are right
// unless the input changes them.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/input.h"
#include "tests/fuzz/messages.h"
#include "tests/sim/sim_network.h"
#include "van/transport/transport.h"

namespace stretto::fuzz {

/// Thread: the simulation's.
class Peer final : public Transport::Sink {
 public:
  /// One link of the peer's, with the counters that make its frames valid.
  struct Line {
    LinkId link = 0;
    NodeId sender = 0;              ///< The member id that the peer claims.
    std::uint64_t sequence = 0;     ///< Frames sent,
    std::uint64_t pushes = 0;       ///< pushes among them,
    std::uint64_t pushes_in = 0;    ///< pushes received,
    std::uint64_t taken_bytes = 0;  ///< and bytes of data received.
    std::uint64_t frames_in = 0;
    bool open = true;
    bool welcomed = false;
    bool in_roster = false;               ///< A roster was received: the job has begun.
    std::deque<wire::Header> asked = {};  ///< The latest received pushes and pulls.
  };
  /// Called for each received control message.
  using OnControl = std::function<void(Line& line, const control::Message& message)>;

  Peer(sim::SimNetwork& network, const Clock& clock, std::string name);

  const std::string& name() const { return name_; }
  std::string listen(const std::string& address);
  void on_control(OnControl then) { then_ = std::move(then); }
  void poll() { transport_->poll(*this, Duration::zero()); }
  bool due() const { return next_due() <= clock_.now(); }
  /// When the next frame arrives that the peer reads.
  Time next_due() const { return deaf_ ? Time::max() : network_.next_arrival(name_); }
  /// A deaf peer reads nothing: frames for it pile up.
  void set_deaf(bool deaf) { deaf_ = deaf; }

  Line& connect(const std::string& address);
  std::vector<std::unique_ptr<Line>>& lines() { return lines_; }
  /// One of the lines, chosen by the input; null if there is none yet.
  Line* line_from(Input& input);

  /// Sends, after filling in all counters of the header.
  bool send(Line& line, wire::Header header, const Buffer& payload);
  bool send_control(Line& line, const wire::Control& message);
  bool send_control(Line& line, const control::Message& message);
  /// Like send(), but with wrong values in the fields that the input chooses.
  void send_bent(Line& line, wire::Header header, const Buffer& payload, Input& input);
  void close(Line& line);

  /// The number of links over which the scheduler or a shard has accepted this peer.
  std::size_t welcomes() const;

 private:
  void on_link(LinkId link) override;
  void on_frame(LinkId link, wire::HeaderView bytes, Buffer payload) override;
  void on_broken(LinkId link, Status why) override;
  void on_writable(LinkId) override {}
  Line* find(LinkId link);
  static void stamp(const Line& line, wire::Header& header, std::size_t payload_bytes);
  bool submit(Line& line, const wire::Header& header, const Buffer& payload);

  sim::SimNetwork& network_;
  const Clock& clock_;
  std::string name_;
  std::unique_ptr<Transport> transport_;
  std::vector<std::unique_ptr<Line>> lines_;
  OnControl then_;
  bool deaf_ = false;
};

/// Fails the run unless `holds`: the input has violated a guarantee.
void require(bool holds, const char* what);

}  // namespace stretto::fuzz
