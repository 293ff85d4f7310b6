// SPDX-License-Identifier: Apache-2.0
// Gate: the launcher's listener for agents that mpirun has started, whose stdin and stdout reach no
// single rank, and for launchers of other nodes. A connection is pending until its peer has proved
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
    AgentHello hello;  ///< With the connection's source as its own address.
  };

  Gate(Poller& poller, std::string secret) : poller_(poller), secret_(std::move(secret)) {}
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Binds the port; 0: the kernel chooses. `loopback`: an address such as 127.0.0.5 or ::1 (a name
  /// means 127.0.0.1), which only peers on this host can reach; empty: every address.
  Status open(const std::string& loopback, std::uint16_t port = 0);
  std::uint16_t port() const { return port_; }
  /// The peers that were authenticated since the last call.
  std::vector<Arrival> take_arrivals();

 private:
  static constexpr std::size_t kMaxStrangers = 6000;  // A job's members, and a margin.
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
  std::optional<AdmissionKey> key_;  // Derived from the secret by open().
  Descriptor listener_;
  std::uint16_t port_ = 0;
  std::list<Stranger> strangers_;
};

/// Connects to the first of `addresses` ("host:port,host:port", numeric) that accepts. Errors:
/// Network, with all addresses.
Result<Descriptor> knock(const std::string& addresses, const Clock& clock);

/// The peer's address of a connection; empty: none.
std::string far_address(const Descriptor& socket);

}  // namespace stretto::launch
