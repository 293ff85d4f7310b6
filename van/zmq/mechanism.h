// SPDX-License-Identifier: Apache-2.0
// What a socket is told of the mechanism, and in which words a refused handshake is reported.
#pragma once

#include <string>

#include "van/zmq/monitor.h"
#include "van/zmq/options.h"

namespace stretto::zmq {

/// Before bind.
void set_listener_keys(ZmqSocket& socket, const ZmqOptions& options);
/// Before connect.
void set_dialer_keys(ZmqSocket& socket, const ZmqOptions& options);

/// The monitor's events of handshakes that failed.
inline constexpr int kHandshakeFailed = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
/// The reason for a handshake with what listens at `address` that ended without one.
Status handshake_ended(ZmqMechanism mechanism, const std::string& address);
/// Why a handshake with what listens at `address` failed, by the event that told it.
Status why_refused(const Monitor::Event& event, ZmqMechanism mechanism, const std::string& address);
/// Why a client's handshake failed: part of a sentence.
std::string fault_of_client(const Monitor::Event& event);

}  // namespace stretto::zmq
