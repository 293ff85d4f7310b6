// SPDX-License-Identifier: Apache-2.0
// Parses the flags, and combines the job's variables with the variables of this host.
#include "tools/launch/join/server_join.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "common/config/job_variables.h"
#include "common/launch_protocol/status_lines.h"
#include "common/network/address.h"

namespace stretto::launch {
namespace {

constexpr std::uint32_t kMostServers = kMaxNodes;
constexpr std::uint32_t kMostPort = 65535;
constexpr auto kFlags = std::to_array<std::string_view>(
    {"--servers", "-s", "--num-servers", "--place", "--port", "--bin-dir"});

Status unusable(const std::string& cause) {
  return {Code::kInvalidArgument,
          cause +
              "; servers join a job by: stretto-launch join HOST:PORT --servers N [--place "
              "SERVER,...] [--port P] [--bin-dir DIR]; a worker joins by: stretto-launch join "
              "HOST:PORT -- PROGRAM"};
}

// Splits "--name=value"; without a value, the next word is the value.
struct Word {
  std::string name;
  std::optional<std::string> value;
};

Word word_of(const std::string& text) {
  const std::size_t equals = text.starts_with("--") ? text.find('=') : std::string::npos;
  if (equals == std::string::npos) return {text, std::nullopt};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

bool is_flag(const std::string& text) {
  return std::ranges::find(kFlags, word_of(text).name) != kFlags.end();
}

Result<std::uint32_t> number(const Word& flag, std::uint32_t least, std::uint32_t most) {
  const auto found = whole_number(*flag.value);
  if (found && *found >= least && *found <= most) return *found;
  return unusable(fmt::format("{} is '{}', wanted a number from {} to {}", flag.name, *flag.value,
                              least, most));
}

Status add_places(const Word& flag, std::vector<Rank>& places) {
  std::string rest = *flag.value + ",";
  for (std::size_t end = 0; (end = rest.find(',')) != std::string::npos; rest.erase(0, end + 1)) {
    const Result<std::uint32_t> place =
        number({flag.name, rest.substr(0, end)}, 0, 4 * kMostServers);
    if (!place.ok()) return place.status();
    if (std::ranges::find(places, *place) != places.end()) {
      return unusable(fmt::format("{} names server {} twice", flag.name, *place));
    }
    places.push_back(*place);
  }
  return {};
}

Status take(const Word& flag, ServerJoin& wish, std::optional<std::uint32_t>& count) {
  if (flag.name == "--place") return add_places(flag, wish.places);
  if (flag.name == "--bin-dir") {
    wish.program_directory = *flag.value;
    return {};
  }
  const bool port = flag.name == "--port";
  const Result<std::uint32_t> found = number(flag, port ? 0 : 1, port ? kMostPort : kMostServers);
  if (!found.ok()) return found.status();
  if (port) wish.port = *found;
  if (!port) count = *found;
  return {};
}

// Different texts may be the same number.
bool is_same(const std::string& one, const std::string& other) {
  char* end_of_one = nullptr;
  char* end_of_other = nullptr;
  const double first = std::strtod(one.c_str(), &end_of_one);
  const double second = std::strtod(other.c_str(), &end_of_other);
  const bool numbers = !one.empty() && !other.empty() && *end_of_one == 0 && *end_of_other == 0;
  return one == other || (numbers && first == second);
}

// Every shard of each server id has its own port, after the scheduler's.
Status check_ports(const ServerJoin& wish, Rank server,
                   const std::map<std::string, std::string>& told) {
  const std::uint64_t shards = whole_number(value_of(told, "STRETTO_SHARDS")).value_or(1);
  const std::uint64_t last = wish.port + (server + 1) * shards;
  if (wish.port == 0 || last <= kMostPort) return {};
  return {
      Code::kInvalidArgument,
      fmt::format("--port is {}, and server {} would need ports up to {}, of {}: choose a lower "
                  "one, or leave it out for free ones",
                  wish.port, server, last, kMostPort)};
}

}  // namespace

bool wants_servers(std::span<const std::string> words) {
  const auto is_option = [](const std::string& word) {
    return word.starts_with('-') && word != "--";
  };
  return !words.empty() && (is_option(words[0]) || (words.size() > 1 && is_option(words[1])));
}

Result<ServerJoin> servers_wish(std::span<const std::string> words) {
  ServerJoin wish;
  if (words.empty() || !check_address(words[0]).ok()) {
    return unusable(fmt::format("join is followed by '{}', wanted HOST:PORT of the job's scheduler",
                                words.empty() ? "" : words[0]));
  }
  wish.scheduler = words[0];
  std::optional<std::uint32_t> count;
  for (std::size_t i = 1; i < words.size(); ++i) {
    Word flag = word_of(words[i]);
    if (!is_flag(words[i])) return unusable(fmt::format("'{}' is not understood", words[i]));
    if (!flag.value && i + 1 == words.size()) {
      return unusable(fmt::format("{} wants a value", flag.name));
    }
    if (!flag.value) flag.value = words[++i];
    if (Status status = take(flag, wish, count); !status.ok()) return status;
  }
  const auto named = static_cast<std::uint32_t>(wish.places.size());
  if (count && named != 0 && *count != named) {
    return unusable(
        fmt::format("--servers {} are to have places, and --place names {}", *count, named));
  }
  wish.count = count.value_or(named);
  if (wish.count == 0) return unusable("neither --servers nor --place is there");
  return wish;
}

Result<Variables> variables_of_guest(const ServerJoin& wish, Rank server,
                                     const std::map<std::string, std::string>& told,
                                     const observe::Target& job, const Variables& inherited) {
  Variables given{{"STRETTO_ROLE", "server"},
                  {"STRETTO_SCHEDULER", wish.scheduler},
                  {"STRETTO_RANK", std::to_string(server)},
                  {"STRETTO_JOB_TOKEN", job.token},
                  {"DMLC_ROLE", "server"}};
  for (const std::string_view name : variables_of_all()) {
    const std::string set = value_of(inherited, std::string(name));
    const std::string value = value_of(told, std::string(name));
    if (set.empty() || is_same(set, value)) continue;
    return Status(Code::kMismatch,
                  fmt::format("{} is '{}' here, and the job at {} has {}: unset it, as the job "
                              "tells what it has",
                              name, set, wish.scheduler,
                              value.empty() ? "none" : fmt::format("'{}'", value)));
  }
  for (const auto& [name, value] : told) {
    const bool is_of_all = std::ranges::find(variables_of_all(), name) != variables_of_all().end();
    if (is_of_all || value_of(inherited, name).empty()) given[name] = value;
  }
  const Result<HostPort> scheduler = parse_host_port(wish.scheduler);
  const bool far = scheduler.ok() && !is_loopback(scheduler->host);
  if (far && value_of(inherited, "STRETTO_BIND_HOST").empty()) {
    const bool over_ipv6 = scheduler->host.find(':') != std::string::npos;
    given["STRETTO_BIND_HOST"] = over_ipv6 ? "::" : "0.0.0.0";  // As on the hosts of a launcher.
  }
  if (Status status = check_ports(wish, server, told); !status.ok()) return status;
  if (wish.port != 0) given["STRETTO_SERVER_PORT"] = std::to_string(wish.port + 1);
  return given;
}

}  // namespace stretto::launch
