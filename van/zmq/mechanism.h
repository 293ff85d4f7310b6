// SPDX-License-Identifier: Apache-2.0
// The socket options of each mechanism, and the texts for failed handshakes.
#pragma once

#include <string>

#include "van/zmq/monitor.h"
#include "van/zmq/options.h"

namespace stretto::zmq {

/// Must precede bind.
void set_listener_keys(ZmqSocket& socket, const ZmqOptions& options);
/// Must precede connect.
void set_dialer_keys(ZmqSocket& socket, const ZmqOptions& options);

/// The monitor's events for failed handshakes.
inline constexpr int kHandshakeFailed = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
/// The error for a handshake with the listener at `address` that ended without an event.
Status handshake_ended(ZmqMechanism mechanism, const std::string& address);
/// The error for a failed handshake with the listener at `address`, by its event.
Status why_refused(const Monitor::Event& event, ZmqMechanism mechanism, const std::string& address);
/// Why a client's handshake failed: part of a sentence.
std::string fault_of_client(const Monitor::Event& event);

}  // namespace stretto::zmq
