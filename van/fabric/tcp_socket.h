// SPDX-License-Identifier: Apache-2.0
// TCP sockets that never block, for the exchange of names.
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
  /// Sends all of a few bytes into a socket that has carried none; false if they do not fit.
  bool send(std::span<const std::byte> bytes) const;
  /// Bytes received; 0: the far end has finished; -1: nothing now; -2: the connection has failed.
  int receive(std::span<std::byte> into) const;
  /// Tells the far end that nothing more comes.
  void finish() const;

 private:
  Descriptor descriptor_;
};

struct Listener {
  TcpSocket socket;
  std::string address;  ///< That others can connect to.
  std::string host;     ///< Of this host, in digits.
};
Result<Listener> listen_at(std::string_view address);

struct Dialled {
  TcpSocket socket;  ///< Connected, or about to be.
  std::string host;  ///< The address of this host that leads there, in digits.
  bool local = false;
};
/// kLinkBroken if it is known at once that there is no connection.
Result<Dialled> dial_to(std::string_view address);

}  // namespace stretto::fabric
