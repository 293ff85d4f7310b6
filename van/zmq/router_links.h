// SPDX-License-Identifier: Apache-2.0
// RouterLinks: the links of those who connected to us. One ROUTER under all of them; Peers says
// which connection is whose.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "van/zmq/frames.h"
#include "van/zmq/monitor.h"
#include "van/zmq/options.h"
#include "van/zmq/peers.h"

namespace stretto::zmq {

/// Hands out LinkIds; none twice. Thread: loop.
class LinkIds {
 public:
  LinkId next() { return ++last_; }

 private:
  LinkId last_ = 0;
};

/// Thread: loop.
class RouterLinks {
 public:
  static Result<std::unique_ptr<RouterLinks>> open(const Context& context,
                                                   const ZmqOptions& options, LinkIds& links);
  /// Once, and last of what can fail: from then on libzmq's thread must be listened to until the
  /// context ends.
  Status bind(std::string_view address);

  /// Where it listens, as others can connect to it.
  const std::string& address() const { return address_; }
  std::size_t size() const { return peers_.size(); }

  /// Delivers at most `limit` frames, and the ends of links once all that came before has been.
  Turn receive(Transport::Sink& sink, int limit);
  Transport::Sent send(LinkId link, const wire::Header& header, const Buffer& payload);
  /// Hands what waits to leave together to libzmq; true if there was something.
  bool flush();
  void close(LinkId link);
  bool is_local(LinkId link);
  /// Reads what the monitor has to say.
  void watch();
  /// True while a link that answered kFull waits for room. libzmq does not say when there is some.
  bool any_full() const { return !full_.empty(); }
  /// Hangs up on those who connected and say nothing: at most once a second, some time after they
  /// came, or at once if there are many. Until they speak they cost a descriptor each, and up to a
  /// frame of memory.
  void hang_up_on_silence();
  /// Lets every full link try again; true if there was one.
  bool offer_room(Transport::Sink& sink);

  int descriptor() const { return socket_.descriptor(); }
  int monitor_descriptor() const { return monitor_.descriptor(); }

 private:
  RouterLinks(const ZmqOptions& options, LinkIds& links, Socket socket, Monitor monitor);
  void take(Transport::Sink& sink, Shape shape);
  Peer* introduce(Transport::Sink& sink, std::uint32_t number, Shape shape);
  void ignore_stranger();
  void mute(Transport::Sink& sink, Peer& peer);
  void flush(Peer& peer);
  Transport::Sent failed(Peer& peer, int error);
  void shut(Peer& peer);
  void shut_descriptor(int descriptor);
  void say_goodbye(std::span<const std::byte> id);
  void report(Transport::Sink& sink, bool empty, Turn& turn);
  void count_refused(const char* what);

  ZmqOptions options_;
  LinkIds& links_;
  Socket socket_;
  Monitor monitor_;
  std::string address_;
  FrameReader reader_;
  Incoming in_;
  Peers peers_;
  std::vector<LinkId> full_;
  std::vector<LinkId> batched_;  // Have frames that leave together.
  std::uint64_t refused_ = 0;
  const SteadyClock clock_;
  Time next_hang_up_;
  bool empty_ = false;  // The last read found nothing: who has spoken has been heard.
};

}  // namespace stretto::zmq
