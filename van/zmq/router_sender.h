// SPDX-License-Identifier: Apache-2.0
// RouterSender: sends frames through the ROUTER: small ones together, at the next flush; the others
// immediately, as far as libzmq takes them.
#pragma once

#include <deque>
#include <vector>

#include "van/zmq/connection_book.h"

namespace stretto::zmq {

/// Thread: loop. Socket and book must outlive it.
class RouterSender {
 public:
  RouterSender(ZmqSocket& socket, ConnectionBook& book) : socket_(socket), book_(book) {}

  Transport::Sent send(LinkId link, const wire::Header& header, const Buffer& payload);
  /// Submits all batches to libzmq.
  void flush();
  void flush(AcceptedLink& link);
  /// Lets full links retry every millisecond: libzmq does not report which of them have room.
  void offer_room(Transport::Sink& sink, Time now);
  /// How long the caller may wait before offer_room(), at most `wait`.
  Duration may_wait(Duration wait) const;

 private:
  Transport::Sent failed(AcceptedLink& link, int error);

  ZmqSocket& socket_;
  ConnectionBook& book_;
  std::deque<LinkId> full_;      // Returned kFull.
  std::vector<LinkId> batched_;  // Have a batch.
  Time next_offer_;
};

}  // namespace stretto::zmq
