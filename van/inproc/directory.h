// SPDX-License-Identifier: Apache-2.0
// Directory: which endpoint listens at which address of one inproc network.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "common/mutex.h"
#include "stretto/status.h"
#include "van/inproc/mailbox.h"

namespace stretto::inproc {

/// Thread: any.
class Directory {
 public:
  /// Enters `mailbox` at host:port, port 0 being any free one. The address that it got.
  Result<std::string> enter(std::string_view address, const std::shared_ptr<Mailbox>& mailbox)
      EXCLUDES(mutex_);
  void leave(const std::string& address) EXCLUDES(mutex_);
  /// Null if nobody listens there.
  std::shared_ptr<Mailbox> find(std::string_view address) EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Mailbox>, std::less<>> listeners_ GUARDED_BY(mutex_);
};

}  // namespace stretto::inproc
