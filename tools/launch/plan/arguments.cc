// SPDX-License-Identifier: Apache-2.0
// Parses the words in one pass, and applies each flag to the plan.
#include "tools/launch/plan/arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "common/network/address.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/flags.h"
#include "tools/launch/plan/hostfile.h"
#include "tools/launch/plan/torchrun.h"
#include "tools/launch/plan/values.h"

namespace stretto::launch {
namespace {

constexpr std::uint32_t kMaxServers = 1024;
constexpr std::uint32_t kMaxShards = 1024;
constexpr std::uint32_t kMaxPort = 65535;

Status invalid(std::string cause) { return {Code::kInvalidArgument, std::move(cause)}; }

// Parses the words in one pass and fills in `plan_`.
class Parser {
 public:
  Parser(std::span<const std::string> words, const ReadFile& read_file)
      : words_(words), read_file_(read_file) {}

  Result<Plan> parse() {
    while (next_ < words_.size() && is_flag(words_[next_])) {
      if (words_[next_++] == "--") break;
      if (Status status = read_flag(words_[next_ - 1]); !status.ok()) return status;
      if (ends_the_reading(plan_.action)) return plan_;
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
    if (const std::string_view instead = instead_of(name); !instead.empty()) {
      return invalid(
          fmt::format("{} has no counterpart here: {}", word.substr(0, equals), instead));
    }
    if (!found) {
      const std::string meant = nearest_flag(name);
      const std::string question = meant.empty() ? "" : fmt::format(" did you mean {}?", meant);
      return invalid(
          fmt::format("unknown flag {};{} --help lists all", word.substr(0, equals), question));
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
    plan_.given.push_back({flag, flag_, value});
    if (std::string* text = text_of(flag)) return read_text(value, *text);
    if (TorchrunFlags::has(flag)) return torchrun_.take(flag, flag_, value);
    switch (flag) {
      case Flag::kWorkers:
        plan_.workers_given = true;
        return read_range(flag_, value, kMaxWorkers, plan_.least_workers, plan_.workers);
      case Flag::kRestarts:
        return read_number(flag_, value, kMaxWorkers, plan_.restarts, 0);
      case Flag::kServers:
        servers_given_ = true;
        return read_number(flag_, value, kMaxServers, plan_.servers, 0);
      case Flag::kShards:
        return read_number(flag_, value, kMaxShards, plan_.shards);
      case Flag::kReplicas:
        return read_number(flag_, value, JobSettings::kMostReplicas, plan_.replicas);
      case Flag::kVia:
        return read_via(value);
      case Flag::kHosts:
        return take(parse_host_list(value), kMaxWorkers, plan_.hosts);
      case Flag::kHostfile:
        return read_hostfile(value, parse_hostfile, kMaxWorkers, plan_.hosts);
      case Flag::kWorkerHostfile:
        return read_hostfile(value, parse_process_hosts, kMaxWorkers, plan_.hosts);
      case Flag::kServerHostfile:
        return read_hostfile(value, parse_process_hosts, kMaxServers, plan_.server_hosts);
      case Flag::kOversubscribe:
        plan_.oversubscribe = true;
        return {};
      case Flag::kEncrypt:
        plan_.encrypt = true;
        return {};
      case Flag::kSchedulerHost:
        return read_host(value, plan_.scheduler_host);
      case Flag::kPort:
        return read_number(flag_, value, kMaxPort, plan_.port, 0);
      case Flag::kEnvironment:
        return read_variable(value);
      case Flag::kPage:
        return read_address(value, "STRETTO_PAGE_ADDRESS");
      case Flag::kMetrics:
        return read_address(value, "STRETTO_METRICS_ADDRESS");
      case Flag::kTrace:
        if (value.empty()) return invalid("--trace is empty, wanted a folder");
        plan_.added_environment.emplace_back("STRETTO_TRACE", absolute(value));
        return {};
      case Flag::kStartTimeout:
        plan_.start_timeout = value;
        return read_seconds(flag_, value, 0.001, plan_.limits.start);
      case Flag::kCheckpointEvery:
        return read_time(flag_, value, plan_.checkpoint_every);
      case Flag::kSettle:
        return read_seconds(flag_, value, 0, plan_.limits.settle);
      case Flag::kDrain:
        return read_seconds(flag_, value, 0, plan_.limits.drain);
      case Flag::kGrace:
        return read_seconds(flag_, value, 0, plan_.limits.grace);
      case Flag::kPrint:
        if (value == "k8s") return take_action(Action::kPrint);
        return invalid(fmt::format("{} is '{}', wanted k8s", flag_, value));
      default:
        return take_action(action_of(flag));
    }
  }

  // The destination of a flag that takes any text; nullptr: the flag takes another value, or none.
  std::string* text_of(Flag flag) {
    switch (flag) {
      case Flag::kCheckpoint:
        return &plan_.checkpoint;
      case Flag::kResume:
        return &plan_.resume;
      case Flag::kInterface:
        return &plan_.interface;
      case Flag::kStarter:
        return &plan_.starter;
      case Flag::kDirectory:
        return &plan_.directory;
      case Flag::kLogDirectory:
        return &plan_.log_directory;
      case Flag::kProgramDirectory:
        return &plan_.program_directory;
      case Flag::kName:
        return &plan_.name;
      case Flag::kNamespace:
        return &plan_.manifest.space;
      case Flag::kImage:
        return &plan_.manifest.image;
      case Flag::kProcessors:
        return &plan_.manifest.processors;
      case Flag::kMemory:
        return &plan_.manifest.memory;
      default:
        return nullptr;
    }
  }

  static Action action_of(Flag flag) {
    switch (flag) {
      case Flag::kDryRun:
        return Action::kDryRun;
      case Flag::kCheck:
        return Action::kCheck;
      case Flag::kAgent:
        return Action::kAgent;
      case Flag::kVersion:
        return Action::kVersion;
      default:
        return Action::kHelp;
    }
  }

  // Refuses a second action: the last of --dry-run, --check and --print would win silently.
  Status take_action(Action action) {
    const bool another = plan_.action != Action::kRun && plan_.action != action;
    if (another && !ends_the_reading(action)) {
      return invalid("--dry-run, --check and --print exclude one another; give one of them");
    }
    plan_.action = action;
    return {};
  }

  static bool ends_the_reading(Action action) {
    return action == Action::kHelp || action == Action::kVersion || action == Action::kAgent;
  }

  Status read_text(const std::string& value, std::string& text) const {
    if (value.empty()) return invalid(fmt::format("{} is empty", flag_));
    text = value;
    return {};
  }

  Status read_host(const std::string& value, std::string& host) const {
    const Result<std::vector<HostSlots>> hosts = parse_host_list(value);
    if (!hosts.ok()) return hosts.status();
    if (hosts->size() > 1) return invalid(fmt::format("{} is '{}', wanted one host", flag_, value));
    host = hosts->front().host;
    return {};
  }

  Status read_via(const std::string& value) {
    for (const Via via : {Via::kLocal, Via::kSsh, Via::kMpi, Via::kSlurm}) {
      if (name_of(via) != value) continue;
      plan_.via = via;
      return {};
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

  Status read_address(const std::string& value, const std::string& variable) {
    std::uint32_t port = 0;
    const bool alone = read_number(flag_, value, kMaxPort, port, 0).ok();
    if (!alone && !parse_host_port(value).ok()) {
      return invalid(fmt::format("{} is '{}', wanted HOST:PORT, or a port, which is 127.0.0.1's",
                                 flag_, value));
    }
    plan_.added_environment.emplace_back(variable, value);
    return {};
  }

  using Parse = Result<std::vector<HostSlots>> (*)(std::string_view, std::string_view);

  Status read_hostfile(const std::string& path, Parse parse_hosts, std::uint32_t most,
                       std::vector<HostSlots>& hosts) const {
    const Result<std::string> text = read_file_(path);
    if (!text.ok()) return text.status();
    return take(parse_hosts(*text, path), most, hosts);
  }

  Status take(const Result<std::vector<HostSlots>>& found, std::uint32_t most,
              std::vector<HostSlots>& hosts) const {
    if (!found.ok()) return found.status();
    hosts.insert(hosts.end(), found->begin(), found->end());
    const std::uint64_t sum = slots_of(hosts);
    if (sum <= most) return {};
    return invalid(fmt::format("{} adds up to {} slots, wanted {} at most", flag_, sum, most));
  }

  Result<Plan> finish() {
    if (!plan_.name.empty()) plan_.manifest.name = plan_.name;
    if (Status status = torchrun_.apply_to(plan_); !status.ok()) return status;
    if (!plan_.workers_given && !plan_.hosts.empty()) {
      plan_.workers = static_cast<std::uint32_t>(slots_of(plan_.hosts));
      plan_.workers_given = true;
    }
    if (!servers_given_ && !plan_.server_hosts.empty()) {
      plan_.servers = static_cast<std::uint32_t>(slots_of(plan_.server_hosts));
    }
    // Servers have the most bandwidth with one server per host. An elastic job without standbys has
    // one server, since the loss of any host with a server would end it.
    const Via via = plan_.via.value_or(Via::kSsh);
    const bool spreads = (via == Via::kSsh || via == Via::kNodes) && plan_.server_hosts.empty() &&
                         (plan_.least_workers == 0 || plan_.replicas > 1);
    if (!servers_given_ && spreads && !plan_.hosts.empty()) plan_.servers = hosts_named();
    if (Status status = check_without_servers(); !status.ok()) return status;
    if (Status status = check_replicas(); !status.ok()) return status;
    if (Status status = check_ports(); !status.ok()) return status;
    // Processes may run in another folder (--chdir).
    if (!plan_.checkpoint.empty()) plan_.checkpoint = absolute(plan_.checkpoint);
    if (resumes_from_path(plan_)) plan_.resume = absolute(plan_.resume);
    if (plan_.command.size() > 1 && plan_.command.front() == "join" &&
        check_address(plan_.command[1]).ok()) {
      return invalid(
          "join comes first and takes none of the flags before it: stretto-launch join "
          "HOST:PORT -- PROGRAM");
    }
    if (plan_.command.empty() && plan_.action != Action::kCheck) {
      return invalid(
          "no PROGRAM: say after the flags what each worker runs, as in "
          "stretto-launch --workers 2 -- python3 train.py");
    }
    return plan_;
  }

  // All loopback names count as one host.
  std::uint32_t hosts_named() const {
    std::set<std::string> names;
    for (const HostSlots& host : plan_.hosts) {
      names.insert(is_loopback(host.host) ? "localhost" : host.host);
    }
    return static_cast<std::uint32_t>(std::min<std::size_t>(names.size(), kMaxServers));
  }

  static std::string absolute(const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal();
  }

  Status check_replicas() const {
    if (plan_.replicas == 1 || plan_.servers != 0) return {};
    return invalid("--replicas is 2, and --servers is 0: no server keeps anything; leave out one");
  }

  Status check_without_servers() const {
    if (plan_.servers != 0) return {};
    if (!plan_.server_hosts.empty()) {
      return invalid("--servers is 0, and --server-hostfile says where servers run; leave out one");
    }
    if (plan_.least_workers == 0) return {};
    return invalid(
        fmt::format("--servers is 0, and --workers is {}:{}: a job goes on without workers that "
                    "are lost by what its servers keep; start a server, or give --workers {}",
                    plan_.least_workers, plan_.workers, plan_.workers));
  }

  Status check_ports() const {
    const std::uint64_t last = plan_.port + std::uint64_t{plan_.server_processes()} * plan_.shards;
    if (plan_.port == 0 || last <= kMaxPort) return {};
    return invalid(
        fmt::format("--port is {}, and {} servers of {} shards follow it: the last "
                    "would have port {}, and there are {}",
                    plan_.port, plan_.server_processes(), plan_.shards, last, kMaxPort));
  }

  const std::span<const std::string> words_;
  const ReadFile& read_file_;
  std::size_t next_ = 0;
  std::string flag_;  // The current flag, in its preferred spelling.
  Plan plan_;
  TorchrunFlags torchrun_;
  bool servers_given_ = false;
};

}  // namespace

Result<Plan> parse_arguments(std::span<const std::string> arguments, const ReadFile& read_file) {
  return Parser(arguments, read_file).parse();
}

}  // namespace stretto::launch
