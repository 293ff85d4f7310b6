// SPDX-License-Identifier: Apache-2.0
// NoCancellation: a stretch of code that pthread_cancel does not end in its middle.
#pragma once

#include <pthread.h>

namespace stretto {

/// As long as it lives the calling thread is not cancelled; what is asked for meanwhile holds
/// afterwards.
class NoCancellation {
 public:
  NoCancellation() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { ::pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace stretto
