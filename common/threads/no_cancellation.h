// SPDX-License-Identifier: Apache-2.0
// NoCancellation: a scope in which pthread_cancel does not end the thread.
#pragma once

#include <pthread.h>

namespace stretto {

/// Disables cancellation of the calling thread during its lifetime; a request meanwhile takes
/// effect afterwards.
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
