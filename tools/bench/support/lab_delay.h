// SPDX-License-Identifier: Apache-2.0
// LabDelay: propagation delay on the links of a lab, for kernels without netem. The switch's end of
// a host's cable is not bridged. A process holds each packet for a while and passes it to the
// switch through a tap. Packets to the host pass without delay: so one way between two delayed
// hosts takes one delay.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "stretto/status.h"
#include "tools/bench/support/child.h"
#include "tools/bench/support/lab_plan.h"
#include "tools/bench/support/netlab.h"

namespace stretto::bench {

/// Carries packets until it is killed. Runs in its own process, enters the namespace, and calls
/// `ready` once packets are carried. Returns only on errors. Packets keep their order. If the
/// receiving end is full they are lost, as in a switch.
Status carry_with_delay(const LabPlan::Delayed& delayed, const std::function<void()>& ready);

/// The same as a program, for labs created elsewhere: its arguments are the switch's namespace, the
/// delay in seconds, and a CABLE:TAP for each host. Prints "ready" once packets are carried.
Status run_delay_role(std::span<const std::string> words);

/// Starts such a process, if the lab has delays, and waits until it carries packets. The caller
/// must have a single thread.
Status start_delay(const Netlab& lab, Children& children);

}  // namespace stretto::bench
