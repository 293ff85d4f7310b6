// SPDX-License-Identifier: Apache-2.0
// Uses the programs ip and tc, since users know their command lines and can repeat them.
#include "tools/bench/support/netlab.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "common/descriptor.h"
#include "common/log.h"
#include "tools/bench/support/run_command.h"

namespace stretto::bench {
namespace {

constexpr std::string_view kNamespaces = "/run/netns";

Status remove_namespace(const std::string& name) {
  return run_command(Command{"ip", "netns", "del", name});
}

bool is_dead(pid_t process_id) { return ::kill(process_id, 0) != 0 && errno == ESRCH; }

// Removes what killed processes could not clean up.
void remove_stale() {
  std::vector<std::string> stale;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(kNamespaces, none)) {
    const std::string name = entry.path().filename();
    const std::optional<pid_t> owner = owner_of(name);
    if (owner && is_dead(*owner)) stale.push_back(name);
  }
  for (const std::string& name : stale) {
    const Status status = remove_namespace(name);  // Another process may have removed it.
    if (!status.ok()) log(Level::kDebug, "{}", status.text());
  }
}

Status explained(const Status& status) {
  if (status.code() == Code::kUnsupported) {
    return {Code::kUnsupported, status.cause() + "; install iproute2 (tools/install-dependencies)"};
  }
  return {Code::kUnsupported,
          fmt::format("{}; this needs Linux with network namespaces, veth, bridge and tbf, for "
                      "delays /dev/net/tun (modprobe tun), and the right to use them (in a "
                      "container: --privileged)",
                      status.cause())};
}

}  // namespace

Result<Netlab> Netlab::create(LabPlan plan) {
  if (::geteuid() != 0) {
    return Status(Code::kUnsupported,
                  fmt::format("wanted root, to make network namespaces with a shaped link; found "
                              "user {}; run it with sudo",
                              ::geteuid()));
  }
  remove_stale();
  Netlab lab(std::move(plan));
  if (Status status = lab.make(); !status.ok()) return explained(status);
  return lab;
}

Status Netlab::make() {
  for (const std::string& name : plan_.namespaces) {
    if (Status status = run_command(Command{"ip", "netns", "add", name}); !status.ok()) {
      return status;
    }
    made_.push_back(name);
  }
  for (const Command& command : plan_.commands) {
    if (Status status = run_command(command); !status.ok()) return status;
  }
  return {};
}

Netlab::Netlab(Netlab&& other) noexcept
    : plan_(std::move(other.plan_)), made_(std::exchange(other.made_, {})) {}

// Interfaces and shapers are removed with their namespaces.
Netlab::~Netlab() {
  for (const std::string& name : made_) {
    const Status status = remove_namespace(name);
    if (!status.ok()) log(Level::kError, "a namespace is left behind: {}", status.text());
  }
}

Status Netlab::enter(const LabPlan::Host& host) {
  const std::string path = fmt::format("{}/{}", kNamespaces, host.network);
  const Descriptor network(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!network.is_open() || ::setns(network.get(), CLONE_NEWNET) != 0) {
    return {Code::kNetwork,
            fmt::format("cannot enter the namespace {}: {}", path, ::strerror(errno))};
  }
  return {};
}

}  // namespace stretto::bench
