// SPDX-License-Identifier: Apache-2.0
// The socket that others connect to.
#pragma once

#include <string>
#include <string_view>

#include "common/descriptor.h"
#include "stretto/status.h"

namespace stretto::zmq {

struct Listening {
  Descriptor socket;
  std::string address;  ///< That others can connect to.
};
/// Listens at host:port, where host is an IPv4 address of this host or localhost.
Result<Listening> listen_at(std::string_view address);

/// One who has connected. Not open: nobody has, or, with `error`, there is no descriptor for it.
struct Caller {
  Descriptor socket;
  std::string host;    ///< In digits.
  bool local = false;  ///< Of this host.
  int error = 0;
};
Caller accept_from(const Descriptor& listener);

}  // namespace stretto::zmq
