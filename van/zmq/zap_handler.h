// SPDX-License-Identifier: Apache-2.0
// ZapHandler: accepts connections that prove the job's key (ZeroMQ's authentication protocol, RFC
// 27). libzmq asks it for each connection to a socket of our domain, before any message passes.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "van/zmq/curve_keys.h"
#include "van/zmq/handles.h"

namespace stretto::zmq {

/// The domain of our listeners, and the user name that PLAIN requires with its password.
inline constexpr std::string_view kZapDomain = "stretto";
inline constexpr std::string_view kPlainName = "stretto";

/// Answers on its own thread, so that a busy loop does not block handshakes; the thread ends with
/// the context. Thread: loop.
class ZapHandler {
 public:
  /// `context` is the context of the guarded sockets; it must end before this object.
  static Result<std::unique_ptr<ZapHandler>> start(const ZmqContext& context,
                                                   std::shared_ptr<const JobKeys> keys);
  ~ZapHandler();
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;

 private:
  ZapHandler(ZmqSocket socket, std::shared_ptr<const JobKeys> keys);

  ForkGuard home_;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace stretto::zmq
