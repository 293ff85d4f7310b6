// SPDX-License-Identifier: Apache-2.0
// Only the job's address and secret must match.
#include "tools/launch/join/worker_join.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/network/address.h"

namespace stretto::launch {
namespace {

Status invalid_argument(std::string cause) { return {Code::kInvalidArgument, std::move(cause)}; }

}  // namespace

Result<Joining> joining_from(std::span<const std::string> words, const Variables& inherited,
                             const std::vector<KnownJob>& jobs) {
  const std::size_t program = words.size() > 1 && words[1] == "--" ? 2 : 1;
  if (words.empty() || words.size() <= program || !check_address(words[0]).ok()) {
    return invalid_argument(
        fmt::format("join is followed by '{}', wanted HOST:PORT of the job's scheduler, "
                    "as stretto-top shows it, and PROGRAM: stretto-launch join "
                    "node1:9000 -- python3 train.py; or, for servers: stretto-launch join "
                    "node1:9000 --servers N",
                    fmt::join(words, " ")));
  }
  const std::string& scheduler = words[0];
  const auto known = std::ranges::find(jobs, scheduler, &KnownJob::scheduler);
  const auto set = inherited.find("STRETTO_JOB_TOKEN");
  if (set == inherited.end() && known == jobs.end()) {
    return invalid_argument(
        fmt::format("the token of the job at {} is not known here: set STRETTO_JOB_TOKEN "
                    "to what the job has, or run this on the host of its launcher, as "
                    "the same user",
                    scheduler));
  }
  Joining joining{.command = {words.begin() + static_cast<std::ptrdiff_t>(program), words.end()},
                  .given = {{"STRETTO_ROLE", "worker"},
                            {"STRETTO_SCHEDULER", scheduler},
                            {"STRETTO_RANK", "-1"},
                            {"DMLC_ROLE", "worker"},
                            {"PYTHONUNBUFFERED", "1"}}};
  joining.given["STRETTO_JOB_TOKEN"] = set != inherited.end() ? set->second : known->token;
  if (known != jobs.end()) {
    if (known->encrypts) joining.given["STRETTO_ENCRYPT"] = "1";
    if (known->zmq && !known->encrypts) joining.given["STRETTO_TRANSPORT"] = "zmq";
    joining.given["STRETTO_WORLD_SIZE"] = std::to_string(known->workers);
    joining.given["STRETTO_SERVERS"] = std::to_string(known->servers);
  }
  return joining;
}

}  // namespace stretto::launch
