// SPDX-License-Identifier: Apache-2.0
// The TCP side of links: a line each. Over it the ends introduce themselves; then it stays open,
// and its end says that the far end is gone, or has finished. A fabric without connections would
// not tell. It is silent but for keep-alives of the kernels and, where the fabric stands still,
// words (van/fabric/probe_message.h): by what is acknowledged of these a dead path is found out,
// which no provider tells of.
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

/// A TCP connection. Never used twice; 0 is none. It is the watch's token too.
using ConnectionId = std::uint64_t;

/// Something that has happened to a line.
struct ConnectionEvent {
  ConnectionId line = 0;
  std::optional<BootstrapMessage> introduced;  ///< The far end has said who it is; or:
  std::optional<ProbeMessage> word;            ///< it says something; or:
  Status ended;                                ///< why nothing more comes over this line.
  bool dead = false;      ///< Its path is, so that nothing more comes of the fabric.
  bool accepted = false;  ///< It was them who called.
  bool local = false;     ///< They are of this host.
};

/// Thread: loop. Tells of every line that was dialled, and of every one that was accepted and has
/// introduced itself; never of strangers.
class Bootstrap {
 public:
  Bootstrap(EpollSet& watch, const FabricOptions& options) : watch_(watch), options_(options) {}

  Status listen(Listener listener);
  const std::string& address() const { return listener_.address; }
  /// Introduces us as soon as the far end has answered.
  Result<ConnectionId> dial(Dialled dialled, const BootstrapMessage& own, Time now);
  /// Introduces us to one who called and has introduced itself.
  bool answer(ConnectionId line, const BootstrapMessage& own);
  /// Says a word over an open line. The one who asks waits for the answer before it asks again.
  void say(ConnectionId line, const ProbeMessage& word);
  /// Ends open lines whose paths have been dead for `limit` (PathLiveness).
  void look_at_paths(Time now, Duration limit, std::vector<ConnectionEvent>& news);
  /// Tells the far end that we have finished with it. Its own end is still told.
  void finish(ConnectionId line);
  /// Hangs up. Nothing more is told. Unknown lines are ignored.
  void drop(ConnectionId line);

  /// True if the watch's token was one of ours; then what can be read is.
  bool look(std::uint64_t token, Time now, std::vector<ConnectionEvent>& news);
  /// Ends what has taken too long.
  void tick(Time now, std::vector<ConnectionEvent>& news);
  /// Until when tick() has nothing to do.
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
    std::vector<std::byte> word;  // So much as has come of it.
    bool finished = false;        // Nothing more can be said.
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
  bool listening_ = false;  // False while there are no descriptors for those who call.
  Time listen_again_;
  ConnectionId last_ = 0;
  std::map<ConnectionId, Line> lines_;
  std::vector<ConnectionId> unsettled_;  // Not open yet, oldest first.
  std::size_t silent_ = 0;
};

}  // namespace stretto::fabric
