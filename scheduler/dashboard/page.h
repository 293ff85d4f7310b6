// SPDX-License-Identifier: Apache-2.0
// Page: the live page of a job, served over HTTP by threads of its own (cpp-httplib). On loopback
// it is open to this host; elsewhere every request for data must carry the job's token.
#pragma once

#include <memory>
#include <string>

#include "common/config/config.h"
#include "scheduler/dashboard/page_snapshots.h"

namespace stretto {

/// Thread: user. Serves until it is destroyed.
class Page {
 public:
  virtual ~Page() = default;
  /// The bound host:port.
  virtual const std::string& address() const = 0;
};

/// Serves the contents of `board` at config.page_address. Errors: InvalidArgument if that cannot be
/// bound; Unsupported if this was built without cpp-httplib.
Result<std::unique_ptr<Page>> serve_page(const Config& config,
                                         std::shared_ptr<PageSnapshots> board);

}  // namespace stretto
