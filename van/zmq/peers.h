// SPDX-License-Identifier: Apache-2.0
// Peers: who has connected to our ROUTER, and over which descriptor, so that the end of a
// connection becomes the end of a link. Pure bookkeeping: what the monitor and the socket say comes
// in by calls.
//
// The monitor names connections by descriptor, messages name them by routing id, and descriptors
// are used again. What a message can be trusted to say: the monitor's events come in the order in
// which things happened, and a connection's messages are in the socket before its end is. So once
// the socket has been seen empty after an end, whatever comes from that descriptor later is from
// who has it now. Between the two it may be from either, unless the one that ended was known for
// certain; a peer that may be either is not `sure`.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "van/transport.h"
#include "van/zmq/batch.h"

namespace stretto::zmq {

struct Peer {
  LinkId link = 0;
  std::uint32_t number = 0;  ///< Its routing id, which the ROUTER gave it.
  int descriptor = -1;
  std::string address;
  bool local = false;          ///< Of this host.
  bool sure = false;           ///< It has its descriptor now, not somebody who came later.
  bool muted = false;          ///< Closed, or not one of ours: nothing from it is delivered.
  bool ended = false;          ///< Its connection is gone; what it sent before is still delivered.
  bool shut = false;           ///< Its connection has been shut down from here,
  bool told = false;           ///< or it has been asked to do so, since it is not sure.
  bool full = false;           ///< It answered kFull.
  Batch batch{true};           ///< Frames that leave together,
  bool batched = false;        ///< and that RouterLinks knows of them.
  Status why;                  ///< Of the end.
  std::uint64_t heard_at = 0;  ///< Messages that had come in all when its last came, or it ended.
};

/// Thread: loop.
class Peers {
 public:
  // What the monitor says.
  void accepted(int descriptor, Time now = {});
  void disconnected(int descriptor);

  // What messages say. The monitor's events have been told first if the number is a new one.
  Peer* find(std::uint32_t number);
  Peer& add(std::uint32_t number, LinkId link, int descriptor, std::string address);
  void heard(Peer& peer);
  /// The socket has been seen empty, with all events told before.
  void drained();

  Peer* find_link(LinkId link);
  void end(Peer& peer, Status why);
  /// True if a message that has just come by this descriptor is from who has it now.
  bool is_current(int descriptor) const;
  /// True if the number's peer has been removed not long ago: then this is a late word of it.
  bool is_gone(std::uint32_t number) const;
  /// Those that have ended and have nothing more to deliver, each told once: all of them if the
  /// socket has just been seen empty; else those that others have long overtaken (libzmq takes
  /// turns). They are to be removed.
  std::vector<LinkId> take_ended(bool empty);
  std::unique_ptr<Peer> remove(LinkId link);

  /// Connections that have said nothing since they were accepted: those accepted before `late`, and
  /// of those accepted before `early` the oldest beyond `most`.
  std::vector<int> silent(Time late, Time early, std::size_t most) const;

  std::size_t size() const { return by_link_.size(); }

 private:
  /// A descriptor, since it was first accepted.
  struct Wire {
    bool open = false;
    bool spoken = false;       ///< A message has come by it.
    Time since;                ///< When it was accepted.
    bool unsettled = false;    ///< Messages of who had it before may still be in the socket.
    std::vector<Peer*> peers;  ///< Who may have it now.
  };

  std::unordered_map<LinkId, std::unique_ptr<Peer>> by_link_;
  std::unordered_map<std::uint32_t, Peer*> by_number_;
  std::unordered_map<int, Wire> wires_;
  std::vector<int> unsettled_;
  std::vector<LinkId> ended_;
  std::deque<std::uint32_t> gone_;  // Numbers of those removed last.
  std::uint64_t messages_ = 0;
};

}  // namespace stretto::zmq
