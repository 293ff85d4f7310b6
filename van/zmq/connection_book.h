// SPDX-License-Identifier: Apache-2.0
// ConnectionBook: the accepted connections, by descriptor, and the links over them, by routing id,
// so that the end of a connection becomes the end of a link. Pure: what the monitor and the socket
// say comes in by calls.
//
// The monitor names connections by descriptor, and descriptors are used again. What a message can
// be trusted to say: the monitor's events come in the order in which things happened, and a
// connection's messages are in the socket before its end is. So once the socket has been seen empty
// after an end, whatever comes from that descriptor later is from the connection that has it now.
// Between the two it may be from either, unless the one that ended was known for certain; a link
// that may be over either is not `sure`.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "van/transport/transport.h"
#include "van/zmq/frame_format.h"
#include "van/zmq/keep_alives.h"
#include "van/zmq/receive_progress.h"

namespace stretto::zmq {

struct AcceptedLink {
  LinkId link = 0;
  std::string id;  ///< Its routing id at the ROUTER.
  int descriptor = -1;
  std::string address;
  bool local = false;  ///< Of this host.
  bool sure = false;   ///< It has its descriptor now, not a connection that came later.
  bool muted = false;  ///< Closed, or not one of ours: nothing from it is delivered.
  bool ended = false;  ///< Its connection is gone; what it sent before is still delivered.
  bool shut = false;   ///< Its connection has been shut down from here,
  bool told = false;   ///< or it has been asked to do so, since it is not sure.
  bool full = false;   ///< It answered kFull.
  ReceiveProgress progress;
  KeepAlives keep_alives;
  FrameBatch batch{true};      ///< Frames that leave together,
  bool batched = false;        ///< and that AcceptedLinks knows of them.
  Status why;                  ///< Of the end.
  std::uint64_t heard_at = 0;  ///< Messages that had come in all when its last came, or it ended.
};

/// Thread: loop.
class ConnectionBook {
 public:
  // What the monitor says.
  void accepted(int descriptor);
  void disconnected(int descriptor);

  // What messages say. The monitor's events have been told first if the id is a new one.
  AcceptedLink* find(std::string_view id);
  AcceptedLink& add(LinkId link, std::string_view id, int descriptor, std::string address);
  void heard(AcceptedLink& link);
  /// The socket has been seen empty, with all events told before.
  void drained();

  AcceptedLink* find_link(LinkId link) const;
  void admit(LinkId link);
  void end(AcceptedLink& link, Status why);
  /// True if a message that has just come by this descriptor is from the connection that has it.
  bool is_current(int descriptor) const;
  /// True if a connection has this descriptor.
  bool is_open(int descriptor) const;
  /// The number of the connection that has this descriptor, as Stranger::order; 0: none has.
  std::uint64_t order_of(int descriptor) const;
  /// True if the id's link has been removed not long ago: then this is a late message of it.
  bool is_gone(std::string_view id) const { return gone_.contains(id); }
  /// Those that have ended and have nothing more to deliver, each told once: all of them if the
  /// socket has just been seen empty; else those that others have long overtaken (libzmq takes
  /// turns). They must be removed.
  std::vector<LinkId> take_ended(bool empty);
  /// Some have ended that take_ended() has not told.
  bool has_ended() const { return !ended_.empty(); }
  std::unique_ptr<AcceptedLink> remove(LinkId link);
  const std::unordered_map<LinkId, std::unique_ptr<AcceptedLink>>& links() const {
    return by_link_;
  }

  /// A connection that has not been admitted.
  struct Stranger {
    int descriptor;
    std::uint64_t order;  ///< Its number among all that were accepted, from 1.
    std::uint32_t age;    ///< Calls of grow_older() since it was accepted.
    /// Its messages that have come whole have been delivered.
    bool heard_out;
  };
  std::size_t strangers() const { return strangers_; }
  /// The oldest first, without those of which note_shut() was told.
  std::vector<Stranger> list_strangers() const;
  void grow_older() { ++age_; }
  /// The connection has been shut down, and its end will be told.
  void note_shut(int descriptor) { wires_[descriptor].shut = true; }

 private:
  /// A descriptor, since it was first accepted.
  struct Wire {
    bool open = false;
    bool admitted = false;
    bool shut = false;
    bool unsettled = false;  ///< Messages of who had it before may still be in the socket.
    std::uint32_t since = 0;
    std::uint64_t order = 0;
    std::uint64_t accepted_at = 0;     ///< Messages that had come in all.
    std::vector<AcceptedLink*> links;  ///< Which may be over it now.
  };

  std::uint64_t overtaken() const { return 4 * by_link_.size() + 64; }
  void close(Wire& wire);

  std::unordered_map<LinkId, std::unique_ptr<AcceptedLink>> by_link_;
  std::unordered_map<std::string_view, AcceptedLink*> by_id_;
  std::unordered_map<int, Wire> wires_;
  std::vector<int> unsettled_;
  std::vector<LinkId> ended_;
  std::set<std::string, std::less<>> gone_;  // Ids of those removed since the socket was empty.
  std::uint64_t messages_ = 0;
  std::uint64_t order_ = 0;
  std::uint32_t age_ = 0;
  std::size_t strangers_ = 0;
};

}  // namespace stretto::zmq
