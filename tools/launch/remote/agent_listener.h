// SPDX-License-Identifier: Apache-2.0
// Where agents come in that mpirun has started, as its stdin and stdout reach no single rank: a
// socket of the launcher's; and launchers of other nodes. A peer is a stranger until it has shown
// that it knows the secret of this launch; see admission.h.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "tools/launch/remote/admission.h"
#include "tools/launch/remote/agent_link.h"

namespace stretto::launch {

/// Thread: loop.
class Gate {
 public:
  struct Arrival {
    std::unique_ptr<AgentLink> link;
    AgentHello hello;  ///< With the address that it came from as its own.
  };

  Gate(Poller& poller, std::string secret) : poller_(poller), secret_(std::move(secret)) {}
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Binds the port, or with 0 a port that the kernel chooses. `loopback`: such as 127.0.0.5 or
  /// ::1, for peers of this host alone, and 127.0.0.1 for a name; empty: every address.
  Status open(const std::string& loopback, std::uint16_t port = 0);
  std::uint16_t port() const { return port_; }
  /// Those that have shown that they know the secret since the last call.
  std::vector<Arrival> take_arrivals();

 private:
  static constexpr std::size_t kMaxStrangers = 6000;  // A job's members, and some.
  static constexpr std::size_t kMaxHello = 64 * 1024;

  struct Stranger {
    std::unique_ptr<AgentLink> link;
    std::string address;
    std::optional<LauncherAdmission> admission;
    AgentHello hello;
    bool known = false;
    bool refused = false;
  };

  void accept();
  bool can_open_two() const;
  void hang_up_on_oldest();
  void take(Stranger& stranger, const AgentFrame& frame) const;
  static void refuse(Stranger& stranger);

  Poller& poller_;
  const std::string secret_;
  std::optional<AdmissionKey> key_;  // Of the secret; set by open().
  Descriptor listener_;
  std::uint16_t port_ = 0;
  std::list<Stranger> strangers_;
};

/// Connects to the first of `addresses` ("host:port,host:port", numeric) that answers. Errors:
/// Network, naming all.
Result<Descriptor> knock(const std::string& addresses, const Clock& clock);

/// The address at the other end of a connection; empty: none.
std::string far_address(const Descriptor& socket);

}  // namespace stretto::launch
