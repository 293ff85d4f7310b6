// SPDX-License-Identifier: Apache-2.0
// Finds a job by name, by process, or by address.
#include "tools/trace/attach.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "common/network/socket_address.h"

namespace stretto::observe {
namespace {

Status no_target(std::string cause) { return {Code::kInvalidArgument, std::move(cause)}; }

Target target_from(const KnownJob& job) {
  return {job.scheduler, job.token, job.encrypts, job.name, job.zmq};
}

bool same_address(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const Result<HostPort> left = parse_host_port(a);
  const Result<HostPort> right = parse_host_port(b);
  if (!left.ok() || !right.ok() || left->port != right->port) return false;
  const auto left_digits = SocketAddress::from_digits(left->host, left->port);
  const auto right_digits = SocketAddress::from_digits(right->host, right->port);
  const bool same_digits = left_digits && right_digits && left_digits->has_host_of(*right_digits);
  return same_digits || (is_loopback(left->host) && is_loopback(right->host));
}

std::string choices(const std::vector<KnownJob>& jobs) {
  std::string text;
  for (const KnownJob& job : jobs) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", job.name, job.process);
  }
  return text;
}

std::vector<KnownJob> called(const std::vector<KnownJob>& jobs, const std::string& name) {
  std::vector<KnownJob> found;
  std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(found), [&](const KnownJob& job) {
    return job.name == name || std::to_string(job.process) == name;
  });
  return found;
}

Result<Target> only_one(const std::vector<KnownJob>& jobs) {
  if (jobs.size() == 1) return target_from(jobs.front());
  if (jobs.empty()) {
    return no_target(
        "no job of yours is known to run on this host; give --job HOST:PORT, as its scheduler "
        "said \"listening at\", and STRETTO_JOB_TOKEN");
  }
  return no_target(fmt::format("{} jobs of yours run here; say with --job which one: {}",
                               jobs.size(), choices(jobs)));
}

// "3 d 4 h", "5 min", "12 s".
std::string span_text(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  if (seconds >= kDay) return fmt::format("{} d {} h", seconds / kDay, seconds % kDay / kHour);
  if (seconds >= kHour)
    return fmt::format("{} h {} min", seconds / kHour, seconds % kHour / kMinute);
  if (seconds >= kMinute) return fmt::format("{} min {} s", seconds / kMinute, seconds % kMinute);
  return fmt::format("{} s", std::max<std::int64_t>(seconds, 0));
}

}  // namespace

Result<Target> target_of(const std::vector<KnownJob>& jobs, const std::string& wanted,
                         const std::string& token, bool encrypts, bool zmq) {
  if (wanted.empty()) return only_one(jobs);
  const std::vector<KnownJob> named = called(jobs, wanted);
  if (named.size() == 1) return target_from(named.front());
  if (named.size() > 1) {
    return no_target(fmt::format("{} jobs are called {}; take one by its process: {}", named.size(),
                                 wanted, choices(named)));
  }
  if (wanted.find(':') == std::string::npos) {
    return no_target(fmt::format(
        "no job of yours here is called {}; {}", wanted,
        jobs.empty() ? "none is known to run on this host" : "these run: " + choices(jobs)));
  }
  Target target{wanted, token, encrypts, {}, zmq};
  for (const KnownJob& job : jobs) {
    if (!same_address(job.scheduler, wanted)) continue;
    if (token.empty()) target.token = job.token;
    target.encrypts = encrypts || job.encrypts;
    target.zmq = zmq || job.zmq;
    target.name = job.name;
  }
  return target;
}

std::string title_of(const Target& target) {
  return fmt::format("{} at {}", target.name.empty() ? "job" : target.name, target.scheduler);
}

std::string list_of(const std::vector<KnownJob>& jobs, std::int64_t now_s) {
  std::size_t width = std::string_view("job").size();
  for (const KnownJob& job : jobs) width = std::max(width, job.name.size());
  std::string text =
      fmt::format("{:<{}}  {:>8}  {:>12}  {:>7}  {:>7}  {:<21}  {}\n", "job", width, "process",
                  "runs for", "workers", "servers", "scheduler", "command");
  for (const KnownJob& job : jobs) {
    text += fmt::format("{:<{}}  {:>8}  {:>12}  {:>7}  {:>7}  {:<21}  {}\n", job.name, width,
                        job.process, span_text(now_s - job.started_s), job.workers, job.servers,
                        job.scheduler, job.command);
  }
  if (jobs.empty()) return "no job of yours is known to run on this host\n";
  return text + "--job with a job's name, or with its process, shows it\n";
}

}  // namespace stretto::observe
