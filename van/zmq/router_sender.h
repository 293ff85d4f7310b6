// SPDX-License-Identifier: Apache-2.0
// RouterSender: how frames leave by the ROUTER: small ones together, at the next flush; the others
// at once, as far as libzmq takes them.
#pragma once

#include <deque>
#include <vector>

#include "van/zmq/connection_book.h"

namespace stretto::zmq {

/// Thread: loop. Socket and book outlive it.
class RouterSender {
 public:
  RouterSender(ZmqSocket& socket, ConnectionBook& book) : socket_(socket), book_(book) {}

  Transport::Sent send(LinkId link, const wire::Header& header, const Buffer& payload);
  /// Submits what waits to leave together to libzmq.
  void flush();
  void flush(AcceptedLink& link);
  /// Lets full links try again, every millisecond: libzmq does not tell which of them have room.
  void offer_room(Transport::Sink& sink, Time now);
  /// How long one may wait before offer_room(), at most `wait`.
  Duration may_wait(Duration wait) const;

 private:
  Transport::Sent failed(AcceptedLink& link, int error);

  ZmqSocket& socket_;
  ConnectionBook& book_;
  std::deque<LinkId> full_;      // Answered kFull.
  std::vector<LinkId> batched_;  // Have frames that leave together.
  Time next_offer_;
};

}  // namespace stretto::zmq
