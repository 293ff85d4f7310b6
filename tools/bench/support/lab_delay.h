// SPDX-License-Identifier: Apache-2.0
// LabDelay: propagation delay on the links of a lab, where the kernel has no netem. What a host
// sends comes out of its cable in the switch's namespace, where nothing is connected; a process
// keeps each packet for a while and hands it to the switch, through a tap. What the switch sends to
// the host goes through at once: so a way from one delayed host to another takes one delay, and
// back another.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "stretto/status.h"
#include "tools/bench/support/child.h"
#include "tools/bench/support/lab_plan.h"
#include "tools/bench/support/netlab.h"

namespace stretto::bench {

/// Carries packets until it is killed; in a process of its own, which enters the namespace, and
/// calls `ready` once packets are carried. Says only what went wrong. Packets keep their order.
/// Where the far end takes no more they are lost, as in a switch.
Status carry_with_delay(const LabPlan::Delayed& delayed, const std::function<void()>& ready);

/// The same as a program, for labs that others have made: its words are the switch's namespace, the
/// delay in seconds, and a CABLE:TAP for each host. Says "ready" once packets are carried.
Status run_delay_role(std::span<const std::string> words);

/// Starts such a process, if the lab has delays, and waits until it carries packets; only where
/// there is a single thread.
Status start_delay(const Netlab& lab, Children& children);

}  // namespace stretto::bench
