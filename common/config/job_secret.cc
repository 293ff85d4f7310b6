// SPDX-License-Identifier: Apache-2.0
// What is refused, and what to do instead.
#include "common/config/job_secret.h"

#include <fmt/core.h>

#include <utility>

namespace stretto {

Status check_secret(const std::string& token) {
  constexpr std::size_t kLeastBytes = 16;
  if (token.size() >= kLeastBytes) return {};
  const std::string found = token.empty() ? "there is none"
                                          : fmt::format(
                                                "this one has {} characters, and {} are "
                                                "the least",
                                                token.size(), kLeastBytes);
  return {
      Code::kInvalidArgument,
      fmt::format("that needs a job token that nobody guesses, and {}: make a secret once, as by "
                  "`openssl rand -hex 16`, and set STRETTO_JOB_TOKEN to it for every process of "
                  "the job, on every host",
                  found)};
}

Status check_token_length(const std::string& token) {
  if (token.size() <= kMostTokenBytes) return {};
  return {Code::kInvalidArgument,
          fmt::format("the job token (STRETTO_JOB_TOKEN) has {} bytes, at most {} are taken; 32 "
                      "random characters are enough, such as $(openssl rand -hex 16)",
                      token.size(), kMostTokenBytes)};
}

Status check_encryption(const Config& config) {
  if (!config.encrypts) return {};
  if (Status status = check_secret(config.token); !status.ok()) {
    return {
        status.code(),
        fmt::format("STRETTO_ENCRYPT is 1: the keys of links are made of the job's token, and {}",
                    status.cause())};
  }
  const bool is_plain =
      config.transport == TransportChoice::kFabric || config.transport == TransportChoice::kTcp;
  if (is_plain) {
    return {
        Code::kInvalidArgument,
        fmt::format("STRETTO_ENCRYPT is 1, and STRETTO_TRANSPORT is {}: {} does not encrypt; "
                    "take zmq, or auto, which encrypts between hosts and uses shared memory "
                    "within one",
                    name_of(config.transport),
                    config.transport == TransportChoice::kTcp ? "that transport" : "libfabric")};
  }
  for (auto [name, address] : {std::pair{"STRETTO_METRICS_ADDRESS", &config.metrics_address},
                               std::pair{"STRETTO_PAGE_ADDRESS", &config.page_address}}) {
    const Result<HostPort> where = parse_host_port(*address);
    if (address->empty() || !where.ok() || is_loopback(where->host)) continue;
    return {
        Code::kInvalidArgument,
        fmt::format("STRETTO_ENCRYPT is 1, and {} is {}: what is answered there is not "
                    "encrypted; give an address of loopback, such as 127.0.0.1:{}, and reach it "
                    "by a tunnel (ssh -L)",
                    name, *address, where->port)};
  }
  return {};
}

bool zmq_told(const Environment& environment) {
  return environment("STRETTO_TRANSPORT") == name_of(TransportChoice::kZmq);
}

Result<bool> encrypts_told(const Environment& environment) {
  const std::string word = environment("STRETTO_ENCRYPT").value_or("0");
  if (word == "0" || word == "1") return word == "1";
  return Status(Code::kInvalidArgument,
                fmt::format("STRETTO_ENCRYPT is '{}', wanted 0 or 1", word));
}

}  // namespace stretto
