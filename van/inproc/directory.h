// SPDX-License-Identifier: Apache-2.0
// Directory: the listening endpoints of one inproc network, by address.
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
  /// Enters `mailbox` at host:port and returns its address; port 0 picks a free one.
  Result<std::string> enter(std::string_view address, const std::shared_ptr<Mailbox>& mailbox)
      EXCLUDES(mutex_);
  void leave(const std::string& address) EXCLUDES(mutex_);
  /// Null if no endpoint listens there.
  std::shared_ptr<Mailbox> find(std::string_view address) EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Mailbox>, std::less<>> listeners_ GUARDED_BY(mutex_);
};

}  // namespace stretto::inproc
