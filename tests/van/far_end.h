// SPDX-License-Identifier: Apache-2.0
// A scripted transport and the scripted peers of its links. A role's handling of frames is tested
// one frame at a time, in virtual time, without other nodes.
//
//   fake::Wire wire;
//   Van van(fake::scripted_transport(wire), clock);
//   fake::FarEnd worker(wire, 101, 7);           // Node 7, on a link that it connects.
//   worker.connect();
//   worker.say(fake::hello(Role::kWorker, 0));   // The van's next step delivers both.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "tests/sim/sim_network.h"
#include "van/control/control_codec.h"
#include "van/transport/transport.h"

namespace stretto::fake {

struct Sent {
  LinkId link = 0;
  wire::Header header;
  Buffer payload;
};

/// The state of a scripted transport and the events of its next poll. Thread: loop.
struct Wire {
  std::deque<std::function<void(Transport::Sink&)>> events;
  std::vector<Sent> sent;              ///< Taken from the near end and not inspected yet.
  std::vector<std::string> connected;  ///< Targets of connects; link n has index n - 1.
  std::vector<LinkId> closed;          ///< By the near end.
  std::set<LinkId> full;               ///< Sending returns kFull,
  std::set<LinkId> broken;             ///< or kBroken.
  bool made = true;                    ///< Peers answer the near end's connections.
  bool local = true;                   ///< Windows are the settings', and frames are not sliced.
  Status refusal;                      ///< The result of listen and connect, unless ok.
  /// Sent payloads are the near end's own memory, as if still queued; else a copy, as after a send
  /// over TCP.
  bool lend = false;
  std::size_t wakes = 0;
};

/// Links that it connects are 1, 2, 3; the test chooses the ids of accepted links.
std::unique_ptr<Transport> scripted_transport(Wire& wire);

/// The peer of one link. Maintains the numbers in every frame, so that a test specifies only the
/// relevant fields. Thread: loop.
class FarEnd {
 public:
  FarEnd(Wire& wire, LinkId link, NodeId as) : node(as), wire_(wire), link_(link) {}

  /// The peer initiates the link.
  void connect();
  void say(const control::Message& message);
  /// Fills in sender, epoch, sequence, credit, acks and length.
  void send(wire::Header header, Buffer payload = {});
  /// Sends the frame unchanged, valid or not.
  void send_raw(const wire::Header& header, Buffer payload = {});
  void break_link(Code why = Code::kLinkBroken);

  /// Control messages and data frames received since the last call. Checks that all frames are
  /// numbered without a gap.
  std::vector<control::Message> controls();
  std::vector<Sent> data();
  /// As above, if exactly one is expected; any other frame fails the test.
  control::Message control();
  Sent datum();
  bool closed() const;
  LinkId link() const { return link_; }

  NodeId node;
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;  ///< Of the last frame that was sent.
  std::uint64_t pushes = 0;    ///< Sent.
  std::uint64_t credit = 0;    ///< Granted to the near end with the next frame.
  std::uint64_t acked = 0;     ///< Acknowledged with the next frame.
  std::uint64_t heard_sequence = 0;
  std::uint64_t heard_credit = 0;  ///< In the last frame received.
  std::uint64_t heard_acked = 0;
  std::size_t heard_credits = 0;  ///< Frames that carried only credit and acks,
  wire::Header last_credit;       ///< and the last of them.

 private:
  void listen();

  Wire& wire_;
  LinkId link_;
  std::vector<control::Message> controls_;
  std::vector<Sent> data_;
};

/// `role` in a job of `workers` workers and one server, with the token "secret".
Config config(Role role, std::int64_t rank = 0, std::uint32_t workers = 2);
control::Hello hello(Role role, std::int64_t rank, NodeId node = 0, std::uint32_t workers = 2);
control::Welcome welcome(NodeId node, Rank rank);
control::Leave leave();
control::Heartbeat heartbeat();
control::Barrier barrier(std::uint64_t number);
/// Workers are nodes 10, 11, ...; the shards of server 0 are nodes 50, 51, ... at "shard0:1".
Roster roster(std::uint32_t workers = 2, std::uint32_t shards = 1);
TensorSpec spec(const std::string& name, Dtype dtype, std::uint64_t elements,
                const TensorOptions& options = {});

Buffer bytes_of(const std::vector<float>& numbers);
std::vector<float> floats_of(std::span<const std::byte> bytes);

/// The header of a worker's valid push.
wire::Header push_header(wire::Key key, std::uint64_t round, unsigned flags = wire::kWantsValue,
                         Dtype dtype = Dtype::kF32);

}  // namespace stretto::fake
