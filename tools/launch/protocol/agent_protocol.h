// SPDX-License-Identifier: Apache-2.0
// The protocol between a launcher and its agents on other hosts, as bytes. Pure. A frame has a
// length, a kind, three numbers and texts; each kind documents them. An agent sends kGreeting
// before its first frame, which separates frames from output of a login shell. On a socket
// admission precedes the hello.
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
/// Variables by which an agent that mpirun starts finds its launcher ("host:port", separated by
/// commas), and the secret that both must prove.
inline constexpr const char* kLaunchAddresses = "STRETTO_LAUNCH_AT";
inline constexpr const char* kLaunchSecret = "STRETTO_LAUNCH_SECRET";

/// Bytes of output that an agent may send before it gets more credit.
inline constexpr std::int64_t kOutputWindow = 256 * 1024;

/// Connect timeout of kReach.
inline constexpr Duration kReachPatience = std::chrono::seconds(3);

/// An agent sends a frame at least this often, unless its frames are not read.
inline constexpr Duration kAliveEvery = std::chrono::seconds(1);

/// How a process ended: the detail of a kEnded.
inline constexpr std::uint8_t kEndedByItself = 0;
inline constexpr std::uint8_t kEndedBySignal = 1;
inline constexpr std::uint8_t kEndedForMemory = 2;  ///< By SIGKILL; see OomDetector.

struct AgentFrame {
  enum class Kind : std::uint8_t {
    kHello = 1,  ///< Agent: `number`: its rank among agents or -1; texts: see AgentHello.
    kStart,      ///< detail 1: it reports its address; number: arguments; see start_frame.
    kSignal,     ///< detail: SignalOrder::Scope; number: signal.
    kCredit,     ///< number: additional bytes of output that may be sent.
    kFinish,     ///< Kill the rest, send its output, end. number: milliseconds; detail: 1: failed.
    kLook,       ///< texts: a search path, then programs: do they exist? number: a port to open.
    kRefused,    ///< Agent: `member` could not be started. number: Code; texts: cause.
    kReady,      ///< Agent: texts: a line of the scheduler's; see HostEvents::on_ready.
    kOutput,     ///< Agent: detail: 0 stdout, 1 stderr; texts: the bytes.
    kEnded,      ///< Agent: detail: kEndedBySignal...; number: which, or the status.
    kOrphans,    ///< Agent: number: how many run; precedes the kEnded that it belongs to.
    kSignalled,  ///< Agent: signal `number` was sent to the agent.
    kFound,      ///< Agent: answers kLook; texts: a problem or "" for each; number: the open port.
    kAlive,      ///< Agent: no other frame for kAliveEvery.
    kFinished,   ///< Agent: its last frame. number: processes that the kernel does not end.
    kTell,       ///< texts: a line for the scheduler; see Host::tell.
    kReach,      ///< texts: "host:port" of other hosts: does TCP reach them?
    kReached,    ///< Agent: answers kReach; texts: the cause for each, "" if it does.
    kNonce,      ///< Agent, on a socket: its first frame; see admission.h, also for the next.
    kProof,      ///< Of either peer.
  };

  Kind kind = Kind::kHello;
  std::uint8_t detail = 0;
  std::uint32_t member = 0;  ///< Index into the members of the job.
  std::int64_t number = 0;
  std::vector<std::string> texts;

  friend bool operator==(const AgentFrame&, const AgentFrame&) = default;
};

std::string encoded(const AgentFrame& frame);

/// The agent's description of itself and its host.
struct AgentHello {
  std::int64_t rank = -1;        ///< Among agents that one command started; -1: a single agent.
  std::string version;           ///< Of its stretto-launch.
  std::string host;              ///< The host's own name.
  std::string launcher_address;  ///< The launcher's host as its host sees it; empty: unknown.
  std::string own_address;       ///< Its host's, as reached by the launcher; empty: unknown.
  std::vector<std::string> interfaces;  ///< "eth0=192.0.2.7", for interfaces that are up.

  /// The address of the interface of this name; empty: it has none.
  std::string address_of(std::string_view interface) const;
};

AgentFrame frame_of(const AgentHello& hello);
/// Errors: Malformed.
Result<AgentHello> hello_of(const AgentFrame& frame);

/// Splits received bytes into frames.
/// Thread: loop.
class AgentFrameReader {
 public:
  static constexpr std::size_t kMaxFrame = 16 * 1024 * 1024;
  static constexpr std::size_t kMaxNoise = 64 * 1024;

  /// `greeted`: the greeting was already read.
  /// `most`: bytes of one frame.
  explicit AgentFrameReader(bool greeted, std::size_t most = kMaxFrame)
      : greeted_(greeted), most_(most) {}

  void feed(std::string_view bytes) { bytes_.append(bytes); }
  /// The next whole frame, if any. Errors: Malformed, as for all later calls.
  Result<std::optional<AgentFrame>> next();
  /// No bytes follow the frames that next() has returned.
  bool is_empty() const { return read_ == bytes_.size(); }
  /// Bytes before the greeting; this call removes them.
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
