// SPDX-License-Identifier: Apache-2.0
// How a role gets a transport without knowing which kinds there are.
#pragma once

#include <memory>
#include <string>

#include "common/config/config.h"
#include "van/transport/transport.h"

namespace stretto {

/// What links between hosts are made of, and what guards them.
struct LinkSettings {
  bool zmq = false;       ///< By libzmq; else by sockets of our own.
  bool encrypts = false;  ///< By libzmq's CURVE.
  std::string token;      ///< The job's. Over libzmq it authenticates.
};
LinkSettings link_settings(const Config& config);
/// "tcp, the default between hosts": which transport links between hosts use, and why.
std::string link_choice(const Config& config);

/// The transport for servers and workers, as `config.transport` says: TCP or libzmq, and shared
/// memory towards endpoints of this host that offer it. Frames with a larger payload than a control
/// message or a part end their link: until somebody has been admitted, that is all the memory that
/// a connection can take.
Result<std::unique_ptr<Transport>> make_transport(const Config& config);
/// What leads to all hosts alone, for a role that has only control to send, or for parts of
/// `part_bytes`.
Result<std::unique_ptr<Transport>> make_transport(std::size_t part_bytes,
                                                  const LinkSettings& links = {});

}  // namespace stretto
