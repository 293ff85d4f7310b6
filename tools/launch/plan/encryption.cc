// SPDX-License-Identifier: Apache-2.0
// ssh encrypts the traffic to agents; mpirun and srun do not.
#include "tools/launch/plan/encryption.h"

#include <fmt/core.h>

#include "common/config/config.h"
#include "common/config/job_secret.h"

namespace stretto::launch {
namespace {

constexpr const char* kVariable = "STRETTO_ENCRYPT";

// The configuration of the job's processes, for the check that they make themselves.
Config config_told(const Plan& plan, const Variables& inherited) {
  constexpr const char* kMadeLater = "a secret that the launcher makes";
  Config config;
  config.encrypts = true;
  config.token = told(plan, inherited, "STRETTO_JOB_TOKEN");
  if (config.token.empty()) config.token = kMadeLater;
  const std::string transport = told(plan, inherited, "STRETTO_TRANSPORT");
  if (transport == "fabric") config.transport = TransportChoice::kFabric;
  if (transport == "tcp") config.transport = TransportChoice::kTcp;
  config.metrics_address = told(plan, inherited, "STRETTO_METRICS_ADDRESS");
  config.page_address = told(plan, inherited, "STRETTO_PAGE_ADDRESS");
  return config;
}

}  // namespace

bool is_to_be_encrypted(const Plan& plan, const Variables& inherited) {
  return plan.encrypt || told(plan, inherited, kVariable) == "1";
}

Status check_encryption(const Plan& plan, Via via, bool one_host, const Variables& inherited) {
  if (!is_to_be_encrypted(plan, inherited)) return {};
  const std::string found = told(plan, inherited, kVariable);
  if (!found.empty() && found != "1") {
    return {Code::kInvalidArgument,
            fmt::format("--encrypt was given, and {} is '{}'; leave out one", kVariable, found)};
  }
  if (via == Via::kNodes) {
    return {Code::kInvalidArgument,
            "the job is to be encrypted, and launchers of several nodes would tell its secret in "
            "the clear; name the hosts by -H, so that ssh reaches them"};
  }
  if (via == Via::kSlurm || (via == Via::kMpi && !one_host)) {
    return {Code::kInvalidArgument,
            fmt::format("the job is to be encrypted, and --via {} would tell its secret to other "
                        "hosts in the clear; take --via ssh, or --via local on one host",
                        name_of(via))};
  }
  return stretto::check_encryption(config_told(plan, inherited));
}

Status check_token_of_nodes(const std::string& token) {
  if (token.empty()) {
    return {Code::kInvalidArgument,
            "launchers of several nodes admit one another by a secret: export the same "
            "STRETTO_JOB_TOKEN on all hosts, such as the output of: openssl rand -hex 16"};
  }
  if (Status status = check_token_length(token); !status.ok()) return status;
  const Status status = check_secret(token);
  if (status.ok()) return {};
  return {status.code(),
          fmt::format("launchers of several nodes admit one another: {}", status.cause())};
}

}  // namespace stretto::launch
