// SPDX-License-Identifier: Apache-2.0
// A transport under script, and the far ends of its links, played by hand: what a role does with
// each frame is tested one frame at a time, in virtual time, with nobody else there.
//
//   fake::Wire wire;
//   Van van(fake::scripted_transport(wire), clock);
//   fake::FarEnd worker(wire, 101, 7);           // Node 7, on a link that it makes itself.
//   worker.connect();
//   worker.say(fake::hello(Role::kWorker, 0));   // Both are told in the van's next step.
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

/// What a scripted transport has been told, and what its next poll tells. Thread: loop.
struct Wire {
  std::deque<std::function<void(Transport::Sink&)>> events;
  std::vector<Sent> sent;              ///< Taken from the near end and not looked at yet.
  std::vector<std::string> connected;  ///< Where the near end went; that of link n is n - 1.
  std::vector<LinkId> closed;          ///< By the near end.
  std::set<LinkId> full;               ///< These answer kFull,
  std::set<LinkId> broken;             ///< and these kBroken.
  bool made = true;                    ///< Far ends answer its connections.
  bool local = true;                   ///< Windows are the settings', and frames go whole.
  Status refusal;                      ///< What listen and connect answer, unless ok.
  /// What was sent is the near end's own memory, as if it had not left yet; else a copy, as after
  /// TCP has taken it.
  bool lend = false;
  std::size_t wakes = 0;
};

/// Its connect gives links 1, 2, 3; links that others make get whatever id the test says.
std::unique_ptr<Transport> scripted_transport(Wire& wire);

/// The far end of one link. Keeps the numbers that every frame carries, so that a test writes only
/// what it is about. Thread: loop.
class FarEnd {
 public:
  FarEnd(Wire& wire, LinkId link, NodeId as) : node(as), wire_(wire), link_(link) {}

  /// This far end makes the link.
  void connect();
  void say(const control::Message& message);
  /// Sender, epoch, sequence, credit, acks and length are filled in.
  void send(wire::Header header, Buffer payload = {});
  /// As it is, whatever is wrong with it.
  void send_raw(const wire::Header& header, Buffer payload = {});
  void break_link(Code why = Code::kLinkBroken);

  /// Control messages, and data frames, that have come since the last call. All frames are checked
  /// to be numbered without a gap.
  std::vector<control::Message> controls();
  std::vector<Sent> data();
  /// The same, when exactly one is wanted; what else came is an offence.
  control::Message control();
  Sent datum();
  bool closed() const;
  LinkId link() const { return link_; }

  NodeId node;
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;  ///< Of the last frame that was sent.
  std::uint64_t pushes = 0;    ///< Sent.
  std::uint64_t credit = 0;    ///< Told to the near end with the next frame.
  std::uint64_t acked = 0;     ///< The same.
  std::uint64_t heard_sequence = 0;
  std::uint64_t heard_credit = 0;  ///< In the last frame that came.
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

/// `role` of a job of `workers` workers and one server, with the token "secret".
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

/// A push as a worker sends it that keeps to the rules.
wire::Header push_header(wire::Key key, std::uint64_t round, unsigned flags = wire::kWantsValue,
                         Dtype dtype = Dtype::kF32);

}  // namespace stretto::fake
