// SPDX-License-Identifier: Apache-2.0
// Addresses are host:port as everywhere; the host is any word, without a meaning here.
#include "van/inproc/directory.h"

#include <fmt/core.h>

#include "common/config/config.h"

namespace stretto::inproc {
namespace {

constexpr int kMaxPort = 65535;

}  // namespace

Result<std::string> Directory::enter(std::string_view address,
                                     const std::shared_ptr<Mailbox>& mailbox) {
  const Result<HostPort> wanted = parse_host_port(address);
  if (!wanted.ok()) return wanted.status();
  const bool any = wanted->port == 0;
  const MutexLock lock(mutex_);
  for (int port = any ? 1 : wanted->port; port <= (any ? kMaxPort : wanted->port); ++port) {
    std::string name = fmt::format("{}:{}", wanted->host, port);
    if (listeners_.emplace(name, mailbox).second) return name;
  }
  return Status(Code::kNetwork,
                fmt::format("wanted to listen at '{}', but another endpoint of this process does; "
                            "ask for port 0 to be given a free one",
                            address));
}

void Directory::leave(const std::string& address) {
  const MutexLock lock(mutex_);
  listeners_.erase(address);
}

std::shared_ptr<Mailbox> Directory::find(std::string_view address) {
  const MutexLock lock(mutex_);
  const auto found = listeners_.find(address);
  return found == listeners_.end() ? nullptr : found->second;
}

}  // namespace stretto::inproc
