// SPDX-License-Identifier: Apache-2.0
// The one pass over the words, and what each flag means for the plan.
#include "tools/launch/arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "tools/launch/environment.h"
#include "tools/launch/flags.h"
#include "tools/launch/hosts.h"

namespace stretto::launch {
namespace {

constexpr std::uint32_t kMaxWorkers = 4096;
constexpr std::uint32_t kMaxServers = 1024;
constexpr std::uint32_t kMaxShards = 1024;
constexpr double kMaxSeconds = 86400;

Status invalid(std::string cause) { return {Code::kInvalidArgument, std::move(cause)}; }

Status read_number(std::string_view flag, std::string_view text, std::uint32_t most,
                   std::uint32_t& value) {
  std::uint32_t parsed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc() || stop != end || parsed < 1 || parsed > most) {
    return invalid(fmt::format("{} is '{}', wanted a whole number from 1 to {}", flag, text, most));
  }
  value = parsed;
  return {};
}

Status read_seconds(std::string_view flag, std::string_view text, double least, Duration& value) {
  double parsed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc() || stop != end || !(parsed >= least) || !(parsed <= kMaxSeconds)) {
    return invalid(
        fmt::format("{} is '{}', wanted seconds from {} to {}", flag, text, least, kMaxSeconds));
  }
  value = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(parsed));
  return {};
}

// One pass over the words; `plan_` grows as they are read.
class Parser {
 public:
  Parser(std::span<const std::string> words, const ReadFile& read_file)
      : words_(words), read_file_(read_file) {}

  Result<Plan> parse() {
    while (next_ < words_.size() && is_flag(words_[next_])) {
      if (words_[next_++] == "--") break;
      if (Status status = read_flag(words_[next_ - 1]); !status.ok()) return status;
      if (plan_.action == Action::kHelp || plan_.action == Action::kVersion) return plan_;
    }
    plan_.command.assign(words_.begin() + static_cast<std::ptrdiff_t>(next_), words_.end());
    return finish();
  }

 private:
  static bool is_flag(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

  Status read_flag(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string name = plain_name(word.substr(0, equals));
    const std::optional<Flag> found = find_flag(name);
    if (!found) {
      return invalid(fmt::format("unknown flag {}; did you mean {}? --help lists all",
                                 word.substr(0, equals), nearest_flag(name)));
    }
    flag_ = with_hyphens(name);
    if (!has_value(*found)) {
      if (equals != std::string_view::npos) {
        return invalid(fmt::format("{} takes no value, found '{}'", flag_, word));
      }
      return apply(*found, {});
    }
    if (equals != std::string_view::npos) {
      return apply(*found, std::string(word.substr(equals + 1)));
    }
    if (next_ == words_.size()) return invalid(fmt::format("{} has no value", flag_));
    return apply(*found, words_[next_++]);
  }

  Status apply(Flag flag, const std::string& value) {
    switch (flag) {
      case Flag::kWorkers:
        workers_given_ = true;
        return read_number(flag_, value, kMaxWorkers, plan_.workers);
      case Flag::kServers:
        servers_given_ = true;
        return read_number(flag_, value, kMaxServers, plan_.servers);
      case Flag::kShards:
        return read_number(flag_, value, kMaxShards, plan_.shards);
      case Flag::kVia:
        return read_via(value);
      case Flag::kHosts:
        return take_workers(parse_host_list(value));
      case Flag::kHostfile:
        return read_hostfile(value, parse_hostfile, &Parser::take_workers);
      case Flag::kWorkerHostfile:
        return read_hostfile(value, parse_process_hosts, &Parser::take_workers);
      case Flag::kServerHostfile:
        return read_hostfile(value, parse_process_hosts, &Parser::take_servers);
      case Flag::kEnvironment:
        return read_variable(value);
      case Flag::kLogDirectory:
        return read_text(value, plan_.log_directory);
      case Flag::kProgramDirectory:
        return read_text(value, plan_.program_directory);
      case Flag::kStartTimeout:
        plan_.start_timeout = value;
        return read_seconds(flag_, value, 0.001, plan_.limits.start);
      case Flag::kSettle:
        return read_seconds(flag_, value, 0, plan_.limits.settle);
      case Flag::kDrain:
        return read_seconds(flag_, value, 0, plan_.limits.drain);
      case Flag::kGrace:
        return read_seconds(flag_, value, 0, plan_.limits.grace);
      case Flag::kDryRun:
      case Flag::kCheck:
      case Flag::kHelp:
      case Flag::kVersion:
        plan_.action = action_of(flag);
        return {};
    }
    return {};
  }

  static Action action_of(Flag flag) {
    if (flag == Flag::kDryRun) return Action::kDryRun;
    if (flag == Flag::kCheck) return Action::kCheck;
    return flag == Flag::kHelp ? Action::kHelp : Action::kVersion;
  }

  Status read_text(const std::string& value, std::string& text) const {
    if (value.empty()) return invalid(fmt::format("{} is empty", flag_));
    text = value;
    return {};
  }

  Status read_via(const std::string& value) const {
    if (value == "local") return {};
    if (value == "ssh" || value == "mpi" || value == "slurm") {
      return {Code::kUnsupported,
              fmt::format("{} {} is not built yet; only {} local is", flag_, value, flag_)};
    }
    return invalid(fmt::format("{} is '{}', wanted local, ssh, mpi or slurm", flag_, value));
  }

  Status read_variable(const std::string& value) {
    const std::size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0) {
      return invalid(fmt::format("{} is '{}', wanted NAME=VALUE", flag_, value));
    }
    const std::string name = value.substr(0, equals);
    if (name == "STRETTO_JOB_TOKEN") {
      return invalid(
          fmt::format("{} STRETTO_JOB_TOKEN: every user of this host can read a command "
                      "line; export the variable instead",
                      flag_));
    }
    if (is_assigned(name)) {
      return invalid(fmt::format("{} {}: the launcher gives each process its own", flag_, name));
    }
    plan_.added_environment.emplace_back(name, value.substr(equals + 1));
    return {};
  }

  using Parse = Result<std::vector<HostSlots>> (*)(std::string_view);
  using Take = Status (Parser::*)(Result<std::vector<HostSlots>>);

  Status read_hostfile(const std::string& path, Parse parse_hosts, Take use) {
    const Result<std::string> text = read_file_(path);
    if (!text.ok()) return text.status();
    return (this->*use)(parse_hosts(*text));
  }

  Status take_workers(Result<std::vector<HostSlots>> hosts) {
    return take(std::move(hosts), kMaxWorkers, worker_slots_);
  }

  Status take_servers(Result<std::vector<HostSlots>> hosts) {
    return take(std::move(hosts), kMaxServers, server_slots_);
  }

  Status take(Result<std::vector<HostSlots>> hosts, std::uint32_t most,
              std::uint32_t& slots) const {
    if (!hosts.ok()) return hosts.status();
    if (Status status = require_loopback(*hosts); !status.ok()) return status;
    const std::uint64_t sum = slots_of(*hosts);
    if (sum > most) {
      return invalid(fmt::format("{} adds up to {} slots, wanted {} at most", flag_, sum, most));
    }
    slots = static_cast<std::uint32_t>(sum);
    return {};
  }

  Result<Plan> finish() {
    if (!workers_given_ && worker_slots_ > 0) plan_.workers = worker_slots_;
    if (!servers_given_ && server_slots_ > 0) plan_.servers = server_slots_;
    if (plan_.command.empty() && plan_.action != Action::kCheck) {
      return invalid(
          "no PROGRAM: say after the flags what each worker runs, as in "
          "stretto-launch --workers 2 -- python3 train.py");
    }
    return plan_;
  }

  const std::span<const std::string> words_;
  const ReadFile& read_file_;
  std::size_t next_ = 0;
  std::string flag_;  // The one being read, as it is best spelled.
  Plan plan_;
  bool workers_given_ = false;
  bool servers_given_ = false;
  std::uint32_t worker_slots_ = 0;
  std::uint32_t server_slots_ = 0;
};

}  // namespace

Result<Plan> parse_arguments(std::span<const std::string> arguments, const ReadFile& read_file) {
  return Parser(arguments, read_file).parse();
}

}  // namespace stretto::launch
