// SPDX-License-Identifier: Apache-2.0
// What a launcher and its agents on other hosts say to one another, as bytes. Pure. A frame is its
// length, kind, three numbers and some texts; what they mean is said beside each kind. Before its
// first frame an agent says kGreeting, so that what a login shell prints is told apart. At a socket
// an admission comes before the hello.
//
//   launcher --start, signal, credit, finish--> agent --hello, output, ended, ...--> launcher
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto::launch {

inline constexpr std::string_view kGreeting = "stretto-agent 1\n";
/// The variables by which an agent that mpirun starts learns where its launcher listens
/// ("host:port" with commas between), and the secret that both show that they know.
inline constexpr const char* kLaunchAddresses = "STRETTO_LAUNCH_AT";
inline constexpr const char* kLaunchSecret = "STRETTO_LAUNCH_SECRET";

/// What an agent may send of its processes' output before it gets credit for more.
inline constexpr std::int64_t kOutputWindow = 256 * 1024;

/// For a connection to another host, in kReach.
inline constexpr Duration kReachPatience = std::chrono::seconds(3);

/// An agent says something at least this often, unless what it says is not taken.
inline constexpr Duration kAliveEvery = std::chrono::seconds(1);

/// How a process ended: the detail of a kEnded.
inline constexpr std::uint8_t kEndedByItself = 0;
inline constexpr std::uint8_t kEndedBySignal = 1;
inline constexpr std::uint8_t kEndedForMemory = 2;  ///< By SIGKILL; see OomDetector.

struct AgentFrame {
  enum class Kind : std::uint8_t {
    kHello = 1,  ///< Agent: `number` is its rank among agents or -1; texts: see AgentHello.
    kStart,      ///< detail 1: it tells where it listens; number: arguments; see start_frame.
    kSignal,     ///< detail: SignalOrder::Scope; number: signal.
    kCredit,     ///< number: bytes of output that may be sent besides.
    kFinish,  ///< Kill what is left, send its output, end. number: milliseconds; detail: 1: failed.
    kLook,    ///< texts: a search path, then programs: are they there? number: a port to open.
    kRefused,    ///< Agent: `member` could not be started. number: Code; texts: cause.
    kReady,      ///< Agent: texts: a line of the scheduler's; see HostEvents::on_ready.
    kOutput,     ///< Agent: detail: 0 stdout, 1 stderr; texts: the bytes.
    kEnded,      ///< Agent: detail: kEndedBySignal...; number: which, or the status.
    kOrphans,    ///< Agent: number: how many run; comes before the kEnded that it belongs to.
    kSignalled,  ///< Agent: it was sent signal `number` itself.
    kFound,      ///< Agent: answers kLook; texts: a problem or "" for each; number: the open port.
    kAlive,      ///< Agent: nothing else was to be said for kAliveEvery.
    kFinished,   ///< Agent: its last. number: processes that the kernel does not end.
    kTell,       ///< texts: a line for the scheduler; see Host::tell.
    kReach,      ///< texts: "host:port" of other hosts: does TCP reach them?
    kReached,    ///< Agent: answers kReach; texts: the cause for each, "" if it does.
    kNonce,      ///< Agent, at a socket: its first; see admission.h, also for the next.
    kProof,      ///< Of either end.
  };

  Kind kind = Kind::kHello;
  std::uint8_t detail = 0;
  std::uint32_t member = 0;  ///< Index into the members of the job.
  std::int64_t number = 0;
  std::vector<std::string> texts;

  friend bool operator==(const AgentFrame&, const AgentFrame&) = default;
};

std::string encoded(const AgentFrame& frame);

/// What an agent tells of itself.
struct AgentHello {
  std::int64_t rank = -1;        ///< Among agents that one command started; -1: started alone.
  std::string version;           ///< Of its stretto-launch.
  std::string host;              ///< What its host calls itself.
  std::string launcher_address;  ///< The launcher's host as its host sees it; empty: unknown.
  std::string own_address;       ///< Its host's, as the launcher reached it; empty: unknown.
  std::vector<std::string> interfaces;  ///< "eth0=192.0.2.7", those that are up.

  /// The address of the interface of this name; empty: it has none.
  std::string address_of(std::string_view interface) const;
};

AgentFrame frame_of(const AgentHello& hello);
/// Errors: Malformed.
Result<AgentHello> hello_of(const AgentFrame& frame);

/// Cuts what arrives into frames.
/// Thread: loop.
class AgentFrameReader {
 public:
  static constexpr std::size_t kMaxFrame = 16 * 1024 * 1024;
  static constexpr std::size_t kMaxNoise = 64 * 1024;

  /// `greeted`: nothing but frames comes.
  /// `most`: bytes of one frame.
  explicit AgentFrameReader(bool greeted, std::size_t most = kMaxFrame)
      : greeted_(greeted), most_(most) {}

  void feed(std::string_view bytes) { bytes_.append(bytes); }
  /// The next whole frame, if there is one. Errors: Malformed; then all that follows is too.
  Result<std::optional<AgentFrame>> next();
  /// Nothing has come behind the frames that next() has returned.
  bool is_empty() const { return read_ == bytes_.size(); }
  /// What came before the greeting; taken away by this call.
  std::string take_noise();

 private:
  Status find_greeting();

  bool greeted_;
  std::size_t most_;
  std::string noise_;
  std::string bytes_;
  std::size_t read_ = 0;  // Of bytes_.
};

}  // namespace stretto::launch
