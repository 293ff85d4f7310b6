// SPDX-License-Identifier: Apache-2.0
// The TCP side of links: one line for each. The ends introduce themselves over it. Then it stays
// open, and its end reports that the peer has gone or finished; a connectionless fabric would not.
// An open line carries only kernel keep-alives and, while the fabric stalls, probe words
// (van/fabric/probe_message.h). Their acknowledgements reveal a dead path, which no provider
// reports.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "van/fabric/bootstrap_message.h"
#include "van/fabric/options.h"
#include "van/fabric/probe_message.h"
#include "van/fabric/tcp_socket.h"
#include "van/transport/epoll_set.h"
#include "van/transport/tcp_info.h"

namespace stretto::fabric {

/// A TCP connection, and its token in the watch. Never reused; 0 is none.
using ConnectionId = std::uint64_t;

/// An event of a line.
struct ConnectionEvent {
  ConnectionId line = 0;
  std::optional<BootstrapMessage> introduced;  ///< The peer has introduced itself; or:
  std::optional<ProbeMessage> word;            ///< the peer has sent a probe word; or:
  Status ended;                                ///< why the line has ended.
  bool dead = false;      ///< Its path is dead, so the fabric brings nothing more.
  bool accepted = false;  ///< The peer connected to us.
  bool local = false;     ///< The peer is on this host.
};

/// Thread: loop. Reports every dialled line, and each accepted line once its peer has introduced
/// itself; never connections that stay silent.
class Bootstrap {
 public:
  Bootstrap(EpollSet& watch, const FabricOptions& options) : watch_(watch), options_(options) {}

  Status listen(Listener listener);
  const std::string& address() const { return listener_.address; }
  /// Sends our introduction as soon as the peer has answered.
  Result<ConnectionId> dial(Dialled dialled, const BootstrapMessage& own, Time now);
  /// Sends our introduction to a peer that connected and has introduced itself.
  bool answer(ConnectionId line, const BootstrapMessage& own);
  /// Sends a word over an open line. The asking end must wait for the answer before it asks again.
  void say(ConnectionId line, const ProbeMessage& word);
  /// Ends open lines whose paths have been dead for `limit` (PathLiveness).
  void look_at_paths(Time now, Duration limit, std::vector<ConnectionEvent>& news);
  /// Tells the peer that we have finished. The end of its side is still reported.
  void finish(ConnectionId line);
  /// Closes a line without a report. Unknown lines are ignored.
  void drop(ConnectionId line);

  /// True if the token was one of ours; then reads what is readable.
  bool look(std::uint64_t token, Time now, std::vector<ConnectionEvent>& news);
  /// Ends lines that have timed out.
  void tick(Time now, std::vector<ConnectionEvent>& news);
  /// The time at which tick() is needed next.
  Time next_deadline() const;

  static constexpr std::uint64_t kListenerToken = EpollSet::kWakeToken - 1;

 private:
  enum class State { kAwaitsBanner, kAwaitsAnswer, kSilent, kOpen, kEnded };
  struct Line {
    TcpSocket socket;
    State state = State::kSilent;
    bool local = false;
    Time deadline;  // Before kOpen.
    BootstrapMessage own;
    std::size_t received = 0;
    std::array<std::byte, kIntroductionBytes> bytes{};
    std::vector<std::byte> word;  // The part of it received so far.
    bool finished = false;        // We cannot send any more.
    PathLiveness liveness;
  };

  void accept(Time now);
  void hang_up_on_oldest();
  void read(ConnectionId id, Line& line, std::vector<ConnectionEvent>& news);
  Status take(Line& line);
  void read_word(ConnectionId id, Line& line, std::vector<ConnectionEvent>& news);
  void end(ConnectionId id, Line& line, Status why, std::vector<ConnectionEvent>& news);

  EpollSet& watch_;
  const FabricOptions& options_;
  Listener listener_;
  bool listening_ = false;  // False while no descriptor is free to accept with.
  Time listen_again_;
  ConnectionId last_ = 0;
  std::map<ConnectionId, Line> lines_;
  std::vector<ConnectionId> unsettled_;  // Not open yet, oldest first.
  std::size_t silent_ = 0;
};

}  // namespace stretto::fabric
