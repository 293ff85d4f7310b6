// SPDX-License-Identifier: Apache-2.0
// What can be told without knowing who is in the job.
#include "scheduler/hello.h"

#include <fmt/format.h>

#include "van/greeting.h"

namespace stretto {

Result<Join> join_from(const wire::Hello& hello, const std::string& token) {
  if (Status status = check_greeting(hello, token); !status.ok()) return status;
  if (hello.role() != static_cast<std::uint32_t>(Role::kServer) &&
      hello.role() != static_cast<std::uint32_t>(Role::kWorker)) {
    return Status(Code::kRefused, fmt::format("{} comes as role {}, wanted a worker or a server",
                                              hello.host(), hello.role()));
  }
  return Join{.role = static_cast<Role>(hello.role()),
              .rank = hello.rank(),
              .shard = hello.shard(),
              .shards = hello.shards(),
              .workers = hello.workers(),
              .servers = hello.servers(),
              .host = hello.host(),
              .address = hello.address()};
}

void add_owners(const std::vector<SlotRun>& runs, wire::Declared& declared) {
  for (const SlotRun& run : runs) {
    wire::SlotRun& out = *declared.add_owners();
    out.set_first(run.first);
    out.set_count(run.count);
    out.set_node(run.owner);
  }
}

}  // namespace stretto
