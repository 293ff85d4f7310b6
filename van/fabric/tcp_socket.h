// SPDX-License-Identifier: Apache-2.0
// Non-blocking TCP sockets for the bootstrap.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/descriptor.h"
#include "stretto/status.h"

namespace stretto::fabric {

/// An open socket, or none. Thread: loop.
class TcpSocket {
 public:
  TcpSocket() = default;
  explicit TcpSocket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  bool open() const { return descriptor_.is_open(); }
  int get() const { return descriptor_.get(); }
  const Descriptor& descriptor() const { return descriptor_; }
  /// Sends a few bytes into a socket that has carried none; false if they do not fit.
  bool send(std::span<const std::byte> bytes) const;
  /// Bytes received; 0: the peer has finished; -1: none now; -2: the connection has failed.
  int receive(std::span<std::byte> into) const;
  /// Tells the peer that we send nothing more.
  void finish() const;

 private:
  Descriptor descriptor_;
};

struct Listener {
  TcpSocket socket;
  std::string address;  ///< For peers to connect to.
  std::string host;     ///< Of this host, numeric.
};
Result<Listener> listen_at(std::string_view address);

struct Dialled {
  TcpSocket socket;  ///< Connected or connecting.
  std::string host;  ///< This host's address on the route, numeric.
  bool local = false;
};
/// kLinkBroken if the connection fails immediately.
Result<Dialled> dial_to(std::string_view address);

}  // namespace stretto::fabric
