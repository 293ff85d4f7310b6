// SPDX-License-Identifier: Apache-2.0
// Checks that do not depend on the membership.
#include "scheduler/sessions/join_request.h"

#include <fmt/core.h>

#include "common/network/address.h"
#include "van/control/handshake.h"

namespace stretto {

Join join_of(const control::Hello& hello) {
  return {.role = hello.role,
          .rank = hello.rank,
          .shard = hello.shard,
          .shards = hello.shards,
          .workers = hello.workers,
          .servers = hello.servers,
          .host = hello.host,
          .address = hello.address,
          .machine = hello.machine,
          .former = hello.node};
}

Result<Join> join_from(const control::Hello& hello, const std::string& token) {
  if (Status status = check_greeting(hello, token); !status.ok()) return status;
  if (hello.role != Role::kServer && hello.role != Role::kWorker) {
    return Status(Code::kRefused, fmt::format("{} comes as {}, wanted a worker or a server",
                                              hello.host, name_of(hello.role)));
  }
  if (!hello.address.empty() && !check_address(hello.address).ok()) {
    return Status(Code::kRefused, fmt::format("{} says it listens at '{}', wanted host:port",
                                              hello.host, hello.address));
  }
  return join_of(hello);
}

}  // namespace stretto
