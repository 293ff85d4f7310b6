// SPDX-License-Identifier: Apache-2.0
// ZapHandler: admits connections that show the job's key (ZeroMQ's authentication protocol, RFC
// 27). libzmq asks it for each connection to a socket of our domain, before any message passes.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "van/zmq/curve_keys.h"
#include "van/zmq/handles.h"

namespace stretto::zmq {

/// The domain of our listeners, and the name that PLAIN wants besides its password.
inline constexpr std::string_view kZapDomain = "stretto";
inline constexpr std::string_view kPlainName = "stretto";

/// Answers on a thread of its own, so that a busy loop holds no handshake up; the thread ends with
/// the context. Thread: loop.
class ZapHandler {
 public:
  /// The context is the one of the sockets that are guarded; it ends before this.
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
