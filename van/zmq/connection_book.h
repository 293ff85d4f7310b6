// SPDX-License-Identifier: Apache-2.0
// ConnectionBook: the accepted connections, by descriptor, and the links over them, by routing id.
// It turns the end of a connection into the end of a link. Pure: the caller passes in what the
// monitor and the socket report.
//
// The monitor names connections by descriptor, and descriptors are reused. Two orders are reliable:
// the monitor's events come in the order of their causes, and a connection's messages are in the
// socket before its end. So if the socket has been seen empty after an end, later messages from
// that descriptor belong to its current connection. Before that they may belong to either, unless
// the ended one was known for certain. A link that may be over either is not `sure`.
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
  bool local = false;  ///< The peer is on this host.
  bool sure = false;   ///< It has its descriptor now; no later connection has taken it.
  bool muted = false;  ///< Closed, or malformed: nothing from it is delivered.
  bool ended = false;  ///< Its connection has ended; earlier frames are still delivered.
  bool shut = false;   ///< We have shut its connection down,
  bool told = false;   ///< or asked the peer to close, since it is not sure.
  bool full = false;   ///< It answered kFull.
  ReceiveProgress progress;
  KeepAlives keep_alives;
  FrameBatch batch{true};      ///< Frames that leave together.
  bool batched = false;        ///< AcceptedLinks knows that the batch has frames.
  Status why;                  ///< Why the link has ended.
  std::uint64_t heard_at = 0;  ///< The count of all messages when its last arrived or it ended.
};

/// Thread: loop.
class ConnectionBook {
 public:
  // Events of the monitor.
  void accepted(int descriptor);
  void disconnected(int descriptor);

  // Messages. Before a new id, the caller must have passed in all of the monitor's events.
  AcceptedLink* find(std::string_view id);
  AcceptedLink& add(LinkId link, std::string_view id, int descriptor, std::string address);
  void heard(AcceptedLink& link);
  /// The socket has been seen empty after all earlier events.
  void drained();

  AcceptedLink* find_link(LinkId link) const;
  void admit(LinkId link);
  void end(AcceptedLink& link, Status why);
  /// True if a message that just arrived by this descriptor is from its current connection.
  bool is_current(int descriptor) const;
  /// True if a connection has this descriptor.
  bool is_open(int descriptor) const;
  /// The order of the descriptor's connection, as Stranger::order; 0 if there is no connection.
  std::uint64_t order_of(int descriptor) const;
  /// True if the id's link was removed recently: then this is a late message of that link.
  bool is_gone(std::string_view id) const { return gone_.contains(id); }
  /// Ended links with nothing more to deliver, each reported once. If the socket has just been seen
  /// empty these are all ended links; otherwise those that later messages have long overtaken, as
  /// libzmq takes turns. The caller must remove them.
  std::vector<LinkId> take_ended(bool empty);
  /// There are ended links that take_ended() has not reported.
  bool has_ended() const { return !ended_.empty(); }
  std::unique_ptr<AcceptedLink> remove(LinkId link);
  const std::unordered_map<LinkId, std::unique_ptr<AcceptedLink>>& links() const {
    return by_link_;
  }

  /// A pending connection: accepted, not admitted.
  struct Stranger {
    int descriptor;
    std::uint64_t order;  ///< Its number among all accepted connections, from 1.
    std::uint32_t age;    ///< Calls of grow_older() since it was accepted.
    /// All of its complete messages have been delivered.
    bool heard_out;
  };
  std::size_t strangers() const { return strangers_; }
  /// The oldest first, without those that note_shut() reported.
  std::vector<Stranger> list_strangers() const;
  void grow_older() { ++age_; }
  /// The connection has been shut down; the monitor will report its end.
  void note_shut(int descriptor) { wires_[descriptor].shut = true; }

 private:
  /// A descriptor, from its first accepted connection on.
  struct Wire {
    bool open = false;
    bool admitted = false;
    bool shut = false;
    bool unsettled = false;  ///< Messages of its previous connection may still be in the socket.
    std::uint32_t since = 0;
    std::uint64_t order = 0;
    std::uint64_t accepted_at = 0;     ///< The count of all messages at that time.
    std::vector<AcceptedLink*> links;  ///< Links that may be over it now.
  };

  std::uint64_t overtaken() const { return 4 * by_link_.size() + 64; }
  void close(Wire& wire);

  std::unordered_map<LinkId, std::unique_ptr<AcceptedLink>> by_link_;
  std::unordered_map<std::string_view, AcceptedLink*> by_id_;
  std::unordered_map<int, Wire> wires_;
  std::vector<int> unsettled_;
  std::vector<LinkId> ended_;
  std::set<std::string, std::less<>> gone_;  // Ids of links removed since the socket was empty.
  std::uint64_t messages_ = 0;
  std::uint64_t order_ = 0;
  std::uint32_t age_ = 0;
  std::size_t strangers_ = 0;
};

}  // namespace stretto::zmq
