// SPDX-License-Identifier: Apache-2.0
// AcceptedLinks: the links of those who connected to us. One ROUTER under all of them;
// ConnectionBook knows which connection is whose. libzmq bounds neither the parts of a message nor
// the number of handshakes, so connections that are not admitted are watched from here: how many
// they are, how long, and how many bytes the kernel has received of each.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/complaint.h"
#include "common/logged_count.h"
#include "van/link_liveness.h"
#include "van/polling.h"
#include "van/zmq/connection_book.h"
#include "van/zmq/listening_port.h"
#include "van/zmq/monitor.h"
#include "van/zmq/options.h"

namespace stretto::zmq {

/// Thread: loop.
class AcceptedLinks {
 public:
  /// `links` outlives it.
  static Result<std::unique_ptr<AcceptedLinks>> open(const ZmqContext& context,
                                                     const ZmqOptions& options, LinkIds& links,
                                                     std::string_view address);
  ~AcceptedLinks() { monitor_.stop_watching(socket_); }
  AcceptedLinks(const AcceptedLinks&) = delete;
  AcceptedLinks& operator=(const AcceptedLinks&) = delete;

  /// Where it listens, as others can connect to it.
  const std::string& address() const { return port_.address(); }
  std::size_t size() const { return book_.links().size(); }

  /// Delivers at most `limit` frames, and the ends of links once all that came before has been.
  Turn receive(Transport::Sink& sink, int limit);
  Transport::Sent send(LinkId link, const wire::Header& header, const Buffer& payload);
  /// Submits what waits to leave together to libzmq.
  void flush();
  /// True if a message has come. libzmq hears what it was told.
  bool has_come() const { return (socket_.events() & ZMQ_POLLIN) != 0; }
  void admit(LinkId link);
  void close(LinkId link);
  /// Null if there is none.
  const AcceptedLink* find(LinkId link) const { return book_.find_link(link); }
  std::optional<Transport::RoundTrips> round_trips(LinkId link) const;

  /// Reads what the monitor has to say.
  void watch();
  /// Lets full links try again, every millisecond: libzmq does not tell which of them have room.
  void offer_room(Transport::Sink& sink);
  /// Disconnects connections that are not admitted and are too old, too many or too talkative, and
  /// links that were closed a moment ago. Stops accepting while too many are not admitted.
  void look_around();
  /// How long one may wait before look_around(), at most `wait`.
  Duration may_wait(Duration wait) const;
  bool lingers() const { return !closing_.empty(); }
  /// There are ends of links to report.
  bool has_ended() const { return book_.has_ended() || !over_.empty(); }
  /// Breaks links whose paths are dead (LinkLiveness).
  void look_at_paths(Time now, Duration dead_after);

  int descriptor() const { return socket_.descriptor(); }
  int monitor_descriptor() const { return monitor_.descriptor(); }

 private:
  /// Since when so much has come that a hello among it should have been read.
  struct Suspicion {
    Time since;
    std::uint64_t reads;  // Of the socket that found nothing, until then.
  };
  struct Closing {
    LinkId link;
    Time due;
  };

  AcceptedLinks(const ZmqOptions& options, LinkIds& links, ZmqSocket socket, Monitor monitor,
                ListeningPort port);
  void take(Transport::Sink& sink, Shape shape);
  AcceptedLink* introduce(Transport::Sink& sink, Shape shape);
  void ignore_stranger();
  void mute(Transport::Sink& sink, AcceptedLink& link);
  void flush(AcceptedLink& link);
  Transport::Sent failed(AcceptedLink& link, int error);
  void shut(AcceptedLink& link);
  void shut_descriptor(int descriptor);
  void say_goodbye(std::string_view id);
  void report(Transport::Sink& sink, bool empty, Turn& turn);
  void refuse(const std::string& what);
  void gate(Time now);
  void hang_up_on_strangers(Time now);
  bool is_confirmed(std::uint64_t suspect, Time now, bool heard_out);

  const ZmqOptions options_;
  LinkIds& links_;
  ZmqSocket socket_;
  Monitor monitor_;
  ListeningPort port_;
  MessageReader reader_;
  ReceivedMessage in_;
  ConnectionBook book_;
  std::deque<LinkId> over_;      // Have ended, and are to be reported.
  std::deque<LinkId> full_;      // Answered kFull.
  std::vector<LinkId> batched_;  // Have frames that leave together.
  std::deque<Closing> closing_;  // Were closed, and have yet to be shut.
  std::unordered_map<LinkId, LinkLiveness> liveness_;
  LoggedCount refused_;
  Complaint complaint_;
  const SteadyClock clock_;
  Time next_age_;
  Time next_look_;
  Time next_offer_;
  Time resume_at_;
  std::uint64_t reads_ = 0;  // That found nothing: all that had come had been delivered.
  // By order of the stranger; 0: all together.
  std::unordered_map<std::uint64_t, Suspicion> suspects_;
};

}  // namespace stretto::zmq
