// SPDX-License-Identifier: Apache-2.0
// What preempt is compared with in the same run: how fast one plain TCP connection is, and two
// other ways of sending something urgent besides something large.
#pragma once

#include "tools/bench/lab_exchange.h"
#include "tools/bench/preempt_settings.h"

namespace stretto::bench {

/// One TCP connection to the first receiver, as much as it carries: the report has its gigabytes.
Exchange raw_stream(double seconds);

/// ZeroMQ with its defaults, as ps-lite uses it: the background is one message, the next is sent
/// when it has been answered, and the urgent one is sent on the same socket.
Exchange zmq_one_message(const PreemptSettings& settings, double seconds);

/// TCP in chunks of 64 KiB, of which the receiving program has to acknowledge all but two, and
/// urgent messages between chunks: the best known way by plain sockets.
Exchange tcp_credit(const PreemptSettings& settings, double seconds);

}  // namespace stretto::bench
