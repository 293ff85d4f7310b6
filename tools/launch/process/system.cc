// SPDX-License-Identifier: Apache-2.0
// Finds programs, and reads files, limits and random bits.
#include "tools/launch/process/system.h"

#include <errno.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "common/network/network.h"
#include "common/network/socket_address.h"

namespace stretto::launch {
namespace {

constexpr std::uint64_t kMaxDescriptors = 1 << 20;  // Some programs loop over all possible ones.
constexpr std::uint64_t kDescriptorsEach = 4;       // stdout, stderr, pidfd, log.
constexpr std::uint64_t kDescriptorsBesides = 40;
constexpr std::size_t kMostFileBytes = 1 << 20;  // 4,096 hosts have names of 255 bytes at most.

// 0, or the errno that says why `path` cannot be executed.
int refusal(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return errno;
  if (S_ISDIR(found.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

// Empty unless the file is a script or cannot be executed.
std::string script_hint(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  if (path.ends_with(".py")) return fmt::format("; did you mean python3 {}?", path);
  if (path.ends_with(".sh")) return fmt::format("; did you mean sh {}?", path);
  if (::access(path.c_str(), X_OK) == 0) return {};
  return fmt::format(
      "; {} is no executable file: chmod +x makes it one, or name the program that "
      "runs it",
      path);
}

// Without an interpreter line a shell would read the script.
bool begins_with_interpreter(const std::string& path) {
  std::array<char, 2> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return begin[0] == '#' && begin[1] == '!';
}

Status cannot_execute(const std::string& name, std::string_view why) {
  return {Code::kInvalidArgument, fmt::format("cannot execute '{}': {}", name, why)};
}

}  // namespace

Result<std::string> find_program(const std::string& name, const std::string& search_path) {
  if (name.find('/') != std::string::npos) {
    const int error = refusal(name);
    if (error == EACCES) return cannot_execute(name, ::strerror(error) + script_hint(name));
    if (error != 0) return cannot_execute(name, ::strerror(error));
    if (name.ends_with(".py") && !begins_with_interpreter(name)) {
      return cannot_execute(name, "its first line names no interpreter" + script_hint(name));
    }
    return name;
  }
  int best = ENOENT;
  for (std::size_t start = 0; !name.empty() && start <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', start), search_path.size());
    const std::string folder = search_path.substr(start, end - start);
    const std::string path = (folder.empty() ? std::string(".") : folder) + "/" + name;
    const int error = refusal(path);
    if (error == 0) return path;
    if (error == EACCES) best = error;
    start = end + 1;
  }
  const bool here = best == ENOENT && !name.empty() && refusal("./" + name) == 0;
  if (here && script_hint(name).empty()) {
    return cannot_execute(name, fmt::format("not found in PATH; is './{}' meant?", name));
  }
  if (best == ENOENT) return cannot_execute(name, "not found in PATH" + script_hint(name));
  return cannot_execute(name, ::strerror(best));
}

Result<std::string> program_directory(const Plan& plan, const Variables& inherited) {
  std::string given = plan.program_directory;
  if (given.empty()) given = value_of(inherited, "STRETTO_BIN_DIR");
  std::error_code error;
  if (!given.empty()) return std::filesystem::absolute(given, error).string();
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return Status(Code::kResource,
                  fmt::format("cannot read /proc/self/exe ({}); say with --bin-dir where "
                              "stretto-scheduler and stretto-server are",
                              error.message()));
  }
  return self.parent_path().string();
}

Result<std::string> find_worker(const Plan& plan, const Variables& inherited) {
  std::string search_path = value_of(inherited, "PATH");
  for (const auto& [name, value] : plan.added_environment) {
    if (name == "PATH") search_path = value;
  }
  return find_program(plan.command.front(), search_path);
}

Result<Programs> find_programs(const Plan& plan, const Placement& placement,
                               const Variables& inherited) {
  const Result<std::string> directory = program_directory(plan, inherited);
  if (!directory.ok()) return directory.status();
  Programs programs{*directory + "/stretto-scheduler", *directory + "/stretto-server",
                    plan.command.front(), *directory + "/stretto-launch"};
  const std::vector<JobMember> members = members_of(plan);
  for (const std::size_t i : placement.members_at(0)) {
    if (members[i].role == Role::kWorker) {
      Result<std::string> worker = find_worker(plan, inherited);
      if (!worker.ok()) return worker.status();
      programs.worker = *worker;
      break;
    }
    const bool server = members[i].role == Role::kServer;
    const Result<std::string> found =
        find_program(server ? programs.server : programs.scheduler, {});
    if (!found.ok()) return found.status();
  }
  return programs;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "this host";
  return name.data();
}

std::vector<std::string> interface_addresses() {
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(found, ::freeifaddrs);
  std::vector<std::string> ipv4;
  std::vector<std::string> ipv6;
  std::vector<std::string> loopback;
  for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    const SocketAddress address(one->ifa_addr);
    const std::string host = address.host();
    if (!address.is_known() || address.is_link_local()) continue;
    auto& list = address.is_loopback() ? loopback : address.family() == AF_INET ? ipv4 : ipv6;
    list.push_back(fmt::format("{}={}", one->ifa_name, host));
  }
  ipv4.insert(ipv4.end(), ipv6.begin(), ipv6.end());
  ipv4.insert(ipv4.end(), loopback.begin(), loopback.end());
  return ipv4;
}

bool is_this_host(const std::string& name) {
  const std::string own = host_name();
  return is_loopback(name) || name == own || name == own.substr(0, own.find('.')) ||
         is_own_host(name);
}

bool resolves_to_this_host(const std::string& name) {
  if (is_this_host(name)) return true;
  const Result<SocketAddress> address = SocketAddress::resolve(name, 0);
  return address.ok() && is_this_host(address->host());
}

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, kMaxDescriptors);
  if (limit.rlim_cur < wanted) {
    const rlimit raised{wanted, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur;
}

std::uint64_t descriptors_needed(const Plan& plan) {
  const std::uint64_t processes = std::uint64_t{1} + plan.server_processes() + plan.workers;
  return processes * kDescriptorsEach + kDescriptorsBesides;
}

Status require_descriptors(const Plan& plan, std::uint64_t limit) {
  if (limit >= descriptors_needed(plan)) return {};
  return {
      Code::kResource,
      fmt::format("{} workers and {} servers need {} open files, the limit is {}; raise it with "
                  "ulimit -n",
                  plan.workers, plan.server_processes(), descriptors_needed(plan), limit)};
}

Result<std::string> job_token(const Variables& inherited) {
  if (std::string given = value_of(inherited, "STRETTO_JOB_TOKEN"); !given.empty()) return given;
  std::array<unsigned char, 16> bits{};
  if (::getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size())) {
    return Status(Code::kResource, fmt::format("no random bits: {}", ::strerror(errno)));
  }
  std::string token;
  for (const unsigned char byte : bits) token += fmt::format("{:02x}", byte);
  return token;
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot read '{}': {}", path, ::strerror(errno)));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() <= kMostFileBytes) return text;
  return Status(
      Code::kInvalidArgument,
      fmt::format("'{}' has more than {} bytes, which no list of hosts has: is it another "
                  "file?",
                  path, kMostFileBytes));
}

}  // namespace stretto::launch
