// SPDX-License-Identifier: Apache-2.0
// Into the host first, then to work.
#include "tools/bench/lab_children.h"

#include <signal.h>

#include <utility>

namespace stretto::bench {

Status LabChildren::start(const LabPlan::Host& host, const std::function<int()>& body,
                          const std::function<int(const Status&)>& cannot_enter) {
  Result<Child> child = Child::start(SIGKILL, [&] {
    const Status status = Netlab::enter(host);
    return status.ok() ? body() : cannot_enter(status);
  });
  if (!child.ok()) return child.status();
  children_.push_back(*std::move(child));
  return {};
}

std::vector<Child*> LabChildren::all() {
  std::vector<Child*> pointers;
  for (Child& child : children_) pointers.push_back(&child);
  return pointers;
}

}  // namespace stretto::bench
