// SPDX-License-Identifier: Apache-2.0
// The door: nobody comes in with another protocol or another job's token.
#include "van/greeting.h"

#include <fmt/format.h>

#include "common/version.h"
#include "van/wire.h"

namespace stretto {

bool same_token(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned char>(a[i] ^ other);
  }
  return difference == 0;
}

Status check_greeting(const wire::Hello& hello, const std::string& token) {
  if (hello.protocol() != wire::kProtocol) {
    return {
        Code::kRefused,
        fmt::format("{} speaks protocol {} (release {}), this side speaks {} (release {}); "
                    "install the same release everywhere",
                    hello.host(), hello.protocol(), hello.version(), wire::kProtocol, kVersion)};
  }
  if (!same_token(hello.token(), token)) {
    return {Code::kRefused,
            fmt::format("{} came with {} job token, this job has {}; is STRETTO_JOB_TOKEN the same "
                        "for every process, and this the right job's scheduler?",
                        hello.host(), hello.token().empty() ? "no" : "another",
                        token.empty() ? "none" : "a different one")};
  }
  return {};
}

}  // namespace stretto
