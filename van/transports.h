// SPDX-License-Identifier: Apache-2.0
// Creates a role's transport; the role needs no knowledge of the kinds.
#pragma once

#include <memory>
#include <string>

#include "common/config/config.h"
#include "van/transport/transport.h"

namespace stretto {

/// Transport and encryption of links between hosts.
struct LinkSettings {
  bool zmq = false;       ///< By libzmq; else by own sockets.
  bool encrypts = false;  ///< By libzmq's CURVE.
  std::string token;      ///< The job's. Over libzmq it authenticates.
};
LinkSettings link_settings(const Config& config);
/// "tcp, the default between hosts": the transport of links between hosts, and the reason.
std::string link_choice(const Config& config);

/// The transport of servers and workers, as `config.transport` says: TCP or libzmq, and shared
/// memory to endpoints of this host that offer it. Frames with a larger payload than a control
/// message or a part end their link, which bounds the memory of a pending connection.
Result<std::unique_ptr<Transport>> make_transport(const Config& config);
/// Only the transport to all hosts, for a role that sends only control messages, or for parts of
/// `part_bytes`.
Result<std::unique_ptr<Transport>> make_transport(std::size_t part_bytes,
                                                  const LinkSettings& links = {});

}  // namespace stretto
