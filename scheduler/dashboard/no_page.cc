// SPDX-License-Identifier: Apache-2.0
// Replaces page.cc in builds without cpp-httplib.
#include "scheduler/dashboard/page.h"

namespace stretto {

// NOLINTNEXTLINE(performance-unnecessary-value-param): as page.cc's, which keeps the board.
Result<std::unique_ptr<Page>> serve_page(const Config&, std::shared_ptr<PageSnapshots>) {
  return Status(Code::kUnsupported,
                "this was built without cpp-httplib; install libcpp-httplib-dev and build again");
}

}  // namespace stretto
