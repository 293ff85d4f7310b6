// SPDX-License-Identifier: Apache-2.0
// How much of the processors a job uses, and how much the machine is used at all: what tells a run
// that measured training from one that measured a machine too busy for it.
#pragma once

namespace converge {

/// Processor time up to now, in seconds.
struct Usage {
  double job = 0;      ///< Of this process and of those with the same parent: the whole job, if the
                       ///< launcher started it.
  int processes = 0;   ///< That many.
  double machine = 0;  ///< Of all processors, by whomever.
  int processors = 1;
};

/// From /proc. What cannot be read there counts 0.
Usage usage_now();

}  // namespace converge
