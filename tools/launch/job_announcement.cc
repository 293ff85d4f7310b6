// SPDX-License-Identifier: Apache-2.0
// What is known of a job, into its file.
#include "tools/launch/job_announcement.h"

#include <fmt/core.h>

#include <ctime>

#include "tools/launch/plan/environment.h"

namespace stretto::launch {
namespace {

constexpr Duration kKeepEvery = std::chrono::seconds(30);

}  // namespace

Status JobAnnouncement::publish(const Plan& plan, const HostPort& scheduler,
                                const LaunchContext& ingredients, Time now) {
  const Environment environment = [&](const std::string& name) -> std::optional<std::string> {
    const std::string value = value_of(ingredients.inherited, name);
    return value.empty() ? std::nullopt : std::optional(value);
  };
  KnownJob job = known_job(plan, scheduler, ingredients.token, std::time(nullptr));
  job.zmq = job.encrypts || told(plan, ingredients.inherited, "STRETTO_TRANSPORT") == "zmq";
  next_keep_ = now + kKeepEvery;
  const Status status = file_.write(job, job_folders(environment));
  if (status.ok()) return {};
  return {status.code(), fmt::format("stretto-top will want the address and token of this job: {}",
                                     status.cause())};
}

void JobAnnouncement::on_time(Time now) {
  if (now < next_keep_) return;
  file_.keep();
  next_keep_ = now + kKeepEvery;
}

void JobAnnouncement::withdraw() {
  file_.remove();
  next_keep_ = Time::max();
}

}  // namespace stretto::launch
