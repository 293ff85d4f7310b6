// SPDX-License-Identifier: Apache-2.0
// The door: nobody comes in with another protocol or another job's token.
#include "van/greeting.h"

#include <fmt/format.h>
#include <unistd.h>

#include "common/version.h"
#include "van/wire.h"

namespace stretto {

control::Hello introduction(Role role, const std::string& token) {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  control::Hello hello;
  hello.protocol = wire::kProtocol;
  hello.token = token;
  hello.role = role;
  hello.host = fmt::format("{}:{}", host, getpid());
  hello.version = kVersion;
  return hello;
}

Status check_greeting(const control::Hello& hello, const std::string& token) {
  if (hello.protocol != wire::kProtocol) {
    return {Code::kRefused,
            fmt::format("{} speaks protocol {} (release {}), this side speaks {} (release {}); "
                        "install the same release everywhere",
                        hello.host, hello.protocol, hello.version, wire::kProtocol, kVersion)};
  }
  if (!same_token(hello.token, token)) {
    return {Code::kRefused,
            fmt::format("{} came with {} job token, this job has {}; is STRETTO_JOB_TOKEN the same "
                        "for every process, and this the right job's scheduler?",
                        hello.host, hello.token.empty() ? "no" : "another",
                        token.empty() ? "none" : "a different one")};
  }
  return {};
}

}  // namespace stretto
