// SPDX-License-Identifier: Apache-2.0
// Processor time of a job and of its machine: shows whether a run measured training, or only a
// machine that was too busy.
#pragma once

namespace converge {

/// Processor time up to now, in seconds.
struct Usage {
  double job = 0;      ///< Of this process and its siblings: the whole job, if the launcher
                       ///< started it.
  int processes = 0;   ///< Number of these processes.
  double machine = 0;  ///< Busy time of all processors.
  int processors = 1;
};

/// Reads /proc. Unreadable values count 0.
Usage usage_now();

}  // namespace converge
