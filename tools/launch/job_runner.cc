// SPDX-License-Identifier: Apache-2.0
// The event loop of one attempt; it executes the supervisor's decisions.
#include "tools/launch/job_runner.h"

#include <errno.h>
#include <fmt/core.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "common/check.h"
#include "common/launch_protocol/exit_lines.h"
#include "common/log.h"
#include "tools/launch/plan/replacement_site.h"
#include "tools/launch/process/system.h"
#include "tools/launch/remote/agent.h"
#include "tools/launch/supervision/external_servers.h"
#include "tools/launch/supervision/member_news.h"

namespace stretto::launch {
namespace {

constexpr std::size_t kMaxSignalsATurn = 64;
constexpr Duration kFarPatience = 5s;  // Limit for an agent's answer, on top of Limits::reap.
constexpr Duration kDrain = 20s;       // The same as the servers' drain timeout.
constexpr int kCannotExecuteStatus = 127;
constexpr const char* kNoHostLeft = "no host is left on which it could run";

GoingOn::Sizing sizing_of(const Plan& plan) {
  const bool stand_by = plan.replicas > 1;
  if (plan.least_workers != 0) {
    return stand_by ? GoingOn::Sizing::kElasticStandBy : GoingOn::Sizing::kElastic;
  }
  if (stand_by) return GoingOn::Sizing::kServersStandBy;
  return servers_return(plan) ? GoingOn::Sizing::kServersReturn : GoingOn::Sizing::kFixed;
}

Limits limits_of(const Plan& plan, const SchedulerSupervisor& seat) {
  Limits limits = plan.limits;
  limits.returns = seat.restarts_left();
  limits.least_workers = plan.least_workers;
  limits.places = guest_servers(plan).empty() ? 0 : plan.servers;
  return limits;
}

// Reports each statement that a line completes to the supervisor.
OutputRelay::OnLine heard_by(std::vector<StatementReader>& speech, Supervisor& supervisor,
                             const Clock& clock, std::function<void(const Reaction&)> react) {
  return [&, react = std::move(react)](std::size_t member, std::string_view line) {
    std::optional<ErrorLine> said = speech[member].take(line);
    if (said) react(supervisor.on_statement(member, std::move(*said), clock.now()));
  };
}

OutputRelay::Shows shown_by(const Supervisor& supervisor) {
  return [&supervisor](std::size_t member, std::string_view line) {
    return !answers_notice(supervisor.evidence().members[member], line);
  };
}

// The result refers to all arguments.
JobSites sites_of(const std::vector<JobMember>& members, const Placement& placement,
                  const Meeting& meeting, const Plan& plan, const RemoteHosts& far,
                  const Supervisor& supervisor, const HostDrains& notices) {
  return {.members = members,
          .placement = placement,
          .machines = meeting.machines,
          .servers = plan.servers,
          .works = [&](std::size_t site) { return far.works(site) && !notices.leaves(site); },
          .runs = [&](std::size_t member) { return supervisor.evidence().is_alive(member); },
          .hears = [&](std::size_t site) { return far.hears(site) && !notices.leaves(site); }};
}

// Over ssh a drained host's agent is finished, so that a caller waiting for the host sees it end.
HostDrains::Ways ways_of(RemoteHosts& far, const Plan& plan, const Placement& placement,
                         std::function<void(const Reaction&)> react, std::function<void()> save) {
  return {.react = std::move(react),
          .release =
              [&](std::size_t site) {
                if (placement.via == Via::kSsh) far.at(site).finish(plan.limits.reap);
              },
          .give_up = [&](std::size_t site, Status why) { far.at(site).give_up(std::move(why)); },
          .save = std::move(save)};
}

AttemptOutcome never_begun(Status why, bool first) {
  AttemptOutcome outcome;
  outcome.first = first;
  outcome.verdict.exit_status = 1;
  outcome.verdict.error = std::move(why).with_operation("start");
  return outcome;
}

std::optional<std::uint64_t> step_of(const std::optional<SavedCheckpoint>& saved) {
  if (!saved || !saved->is_made) return std::nullopt;
  return saved->step;
}

Status no_address(std::string_view said) {
  return {Code::kMalformed,
          fmt::format("said '{}' where host:port and a line's end was wanted", said)};
}

std::size_t index_of(Rank server, const std::vector<JobMember>& members) {
  const auto found = std::ranges::find(members, JobMember{Role::kServer, server});
  return static_cast<std::size_t>(found - members.begin());
}

// Settings that the scheduler needs first. A time limit for joins that the user has set applies;
// otherwise members may join while their processes run, since the launcher reports exits.
std::string lines_for_scheduler(const Plan& plan, const Variables& inherited) {
  const bool limited =
      plan.start_timeout || !told(plan, inherited, "STRETTO_RENDEZVOUS_TIMEOUT_S").empty();
  return fmt::format("{}\n{}{}", kEndsAreTold, limited ? "" : kJoinsUnlimited, limited ? "" : "\n");
}

std::string line_of_refusal(Rank server, const Status& why) {
  return line_of(StartRefusal{server, why.cause()}) + "\n";
}

// What follows when a server must start to replace another server; if it cannot start, the
// scheduler gets the cause. A replacement that still runs ends first, and is requested again.
Reaction reaction_to(const MigrationOrder& order, Supervisor& supervisor, const JobSites& sites,
                     Host& scheduler) {
  const std::size_t member = index_of(order.server, sites.members);
  const std::size_t from = index_of(order.from, sites.members);
  const std::size_t end = sites.members.size();
  if (member == end || from == end || supervisor.evidence().is_alive(member)) return {};
  Result<std::size_t> site = site_to_move_to(order.host, from, sites);
  if (!supervisor.may_start()) site = Status(Code::kCancelled, "the job is about to end");
  if (!site.ok()) {
    scheduler.tell(line_of_refusal(order.server, site.status()));
    return {};
  }
  return begin_move(supervisor, {.member = member, .instead_of = from, .site = *site});
}

std::size_t index_of(const LossReport& news, const std::vector<JobMember>& members) {
  if (news.server) return index_of(news.number, members);
  const auto found = std::ranges::find(members, JobMember{Role::kWorker, news.number});
  return static_cast<std::size_t>(found - members.begin());
}

Level log_level_of(const Plan& plan, const Variables& inherited) {
  std::string word = value_of(inherited, "STRETTO_LOG_LEVEL");
  for (const auto& [name, value] : plan.added_environment) {
    if (name == "STRETTO_LOG_LEVEL") word = value;
  }
  return level_named(word).value_or(Level::kInfo);
}

void say_limit_of_threads(OutputRelay& relay, const Plan& plan, const std::vector<LocalRank>& ranks,
                          const Variables& inherited) {
  const bool limits = std::ranges::any_of(ranks, [&](const LocalRank& local) {
    return limits_threads(plan, {{}, local.rank, local.size}, inherited);
  });
  if (!limits || log_level_of(plan, inherited) > Level::kInfo) return;
  relay.say("OMP_NUM_THREADS=1 for workers that share a host; set it to use more threads");
}

Command command_for(const JobMember& member, bool here, const Plan& plan,
                    const LaunchContext& ingredients, const Rendezvous& rendezvous,
                    const Seat& seat) {
  Command command = command_of(plan, member, ingredients.programs, rendezvous, seat,
                               here ? ingredients.inherited : portable(ingredients.inherited));
  // Other nodes' launchers have the token. Omit it from the command, which is sent unencrypted.
  const bool has_token = !here && ingredients.placement.via == Via::kNodes;
  if (has_token && value_of(command.environment, "STRETTO_JOB_TOKEN") == rendezvous.token) {
    command.environment.erase("STRETTO_JOB_TOKEN");
  }
  return command;
}

}  // namespace

JobRunner::JobRunner(const Plan& plan, const LaunchContext& ingredients, Signals& signals,
                     const Clock& clock, bool first)
    : first_(first),
      plan_(plan),
      ingredients_(ingredients),
      placement_(ingredients.placement),
      clock_(clock),
      members_(with_spares(plan)),
      seat_(plan, ingredients.placement.site_of.front() == 0, job_folders(process_environment())),
      supervisor_(members_, limits_of(plan, seat_), clock.now(), sizing_of(plan), spares_in(plan),
                  plan.restarts),
      signals_(signals),
      relay_(poller_, members_, plan.log_directory,
             heard_by(speech_, supervisor_, clock, [this](const Reaction& next) { react(next); }),
             shown_by(supervisor_)),
      here_(poller_, *this, signals_.before(), clock),
      far_(poller_, *this, clock, plan, ingredients, relay_,
           [this](pid_t child) { here_.except(child); }),
      sites_(sites_of(members_, placement_, meeting_, plan, far_, supervisor_, notices_)),
      notices_(plan, time_told(plan, ingredients.inherited, "STRETTO_DRAIN_S", kDrain), sites_,
               supervisor_,
               ways_of(
                   far_, plan, placement_, [this](const Reaction& reaction) { react(reaction); },
                   [this] { host_of(0).tell(fmt::format("{}\n", kSaveWanted)); })) {
  STRETTO_CHECK(placement_.site_of.size() + spares_in(plan) == members_.size());
  placement_.site_of.resize(members_.size(), kNowhere);
}

AttemptOutcome JobRunner::run() {
  const Time begun = clock_.now();
  Status status = prepare();
  if (status.ok()) status = far_.gather(signals_.before());
  if (!status.ok()) return never_begun(std::move(status), first_);
  begin_if_all_are_here();
  while (!supervisor_.over()) turn();
  finish();
  AttemptOutcome outcome = supervisor_.outcome();
  outcome.interrupted = outcome.interrupted || signals_.asked_to_end();
  outcome.first = first_;
  outcome.saved = saved_;
  outcome.ran = clock_.now() - begun;
  outcome.lost_hosts = lost_hosts_;
  for (std::string& name : notices_.names()) outcome.lost_hosts.push_back(std::move(name));
  return outcome;
}

void JobRunner::conclude(const std::vector<std::string>& notes, const Verdict& verdict) {
  for (const std::string& note : notes) relay_.say(note);
  if (!verdict.error.ok()) relay_.line({}, verdict.error_line());
  relay_.flush(signals_);
}

Status JobRunner::prepare() {
  Status status = require_descriptors(plan_, raise_descriptor_limit());
  if (status.ok()) status = relay_.prepare();
  if (!status.ok()) return status;
  if (!poller_.is_open() ||
      !poller_.watch(signals_.descriptor(), EPOLLIN, [this] { take_signals(); }))
    return {Code::kResource, fmt::format("no epoll or signalfd: {}", ::strerror(errno))};
  const std::string note = allocation_note(ingredients_.inherited);
  if (placement_.via == Via::kLocal && !note.empty()) relay_.say(note);
  return {};
}

void JobRunner::begin_if_all_are_here() {
  if (!gathering_ || finishing_ || !far_.all_here()) return;
  gathering_ = false;
  if (const Status& why = seat_.refusal(); !why.ok())
    relay_.say(fmt::format("warning: the job will not outlive its scheduler: {}", why.cause()));
  Result<Meeting> meeting = meet(
      plan_, placement_, far_.end_gathering(hello_from({}, host_name(), interface_addresses())));
  if (!meeting.ok()) return react(supervisor_.on_never_ready(meeting.status(), clock_.now()));
  meeting_ = std::move(*meeting);
  local_ranks_ = local_ranks(members_of(plan_), ingredients_.placement, meeting_.machines);
  local_ranks_.resize(members_.size());
  if (first_) say_limit_of_threads(relay_, plan_, local_ranks_, ingredients_.inherited);
  scheduler_.host = meeting_.scheduler_host;
  start(0);
}

void JobRunner::turn() {
  poller_.turn(patience());
  far_.take_arrivals();
  look_at_time();
  if (!ended_.empty() || children_changed_ || far_.take_orphans_change()) {
    children_changed_ = false;
    here_.reap_orphans();
    // All exits of one iteration at a time: the supervisor compares them.
    const std::vector<Ended> ended = std::exchange(ended_, {});
    for (const Ended& one : ended) tell_of_end(one.member);
    react(supervisor_.on_ended(ended, here_.orphans() + far_.orphans(), clock_.now()));
  }
  react(supervisor_.on_time(clock_.now()));
  balance();
}

std::optional<Duration> JobRunner::patience() const {
  Time next = supervisor_.over() ? Time::max() : supervisor_.deadline().value_or(Time::max());
  if (supervisor_.may_start()) next = std::min(next, seat_.deadline().value_or(Time::max()));
  next = std::min({next, announcement_.deadline(), notices_.deadline().value_or(Time::max()),
                   far_.deadline(silence_limit(supervisor_.evidence(), plan_.limits))});
  if (next == Time::max()) return std::nullopt;
  return next - clock_.now();
}

// Names a host that does not answer; the supervisor would only report a missing scheduler.
void JobRunner::look_at_time() {
  const Time now = clock_.now();
  announcement_.on_time(now);
  if (!supervisor_.over() && !finishing_) notices_.step(now, step_of(saved_));
  if (supervisor_.may_start() && seat_.is_missed(now))
    react(supervisor_.on_loss_news(0, false, now));
  far_.on_time(now, silence_limit(supervisor_.evidence(), plan_.limits));
  const bool late = gathering_ && supervisor_.deadline() && now >= *supervisor_.deadline();
  if (late && !finishing_) far_.give_up_late();
}

void JobRunner::take_signals() {
  for (std::size_t i = 0; i < kMaxSignalsATurn; ++i) {
    const std::optional<int> signal = signals_.next();
    if (!signal) return;
    if (*signal == SIGCHLD) {
      children_changed_ = true;
    } else if (finishing_) {
      relay_.discard();
    } else {
      react(supervisor_.on_signal(*signal, clock_.now()));
    }
  }
}

void JobRunner::on_refused(std::size_t member, Status why) {
  const int exit_status = why.code() == Code::kInvalidArgument ? kCannotExecuteStatus : 1;
  const bool server = members_[member].role == Role::kServer && scheduler_.port != 0;
  if (server) host_of(0).tell(line_of_refusal(members_[member].rank, why));
  react(supervisor_.on_refused(member, exit_status, std::move(why), clock_.now()));
}

void JobRunner::on_ready(std::string_view text) {
  // The exit status of an ended scheduler is more specific; otherwise the start limit applies.
  if (text.empty() || finishing_) return;
  const std::size_t end = text.find('\n');
  seat_.hear(clock_.now());
  if (scheduler_.port != 0) {  // The scheduler has reported its address.
    const std::string_view line = text.substr(0, end);
    const std::optional<JobFormation> gathering = gathering_named(line);
    const std::optional<LossReport> news = loss_news_in(line);
    if (gathering == JobFormation::kComplete) seat_.begin_watch();
    if (gathering) react(supervisor_.on_gathering(*gathering, clock_.now()));
    if (const auto order = move_order_in(line))
      react(reaction_to(*order, supervisor_, sites_, host_of(0)));
    const std::size_t index = news && seat_.is_news() ? index_of(*news, members_) : members_.size();
    if (index != members_.size())
      react(supervisor_.on_loss_news(index, news->is_back, clock_.now(), news->dropped));
    react(note_worker_news(line, supervisor_, clock_.now()));
    if (const auto guests = guests_named(line)) react(supervisor_.on_guests(*guests, clock_.now()));
    if (const auto saved = saved_in(line)) saved_ = saved;
    return;
  }
  const Result<HostPort> address = parse_host_port(text.substr(0, end));
  if (!address.ok() || end == std::string_view::npos || address->port == 0)
    return react(supervisor_.on_never_ready(no_address(text), clock_.now()));
  scheduler_ = *address;
  // A job that stretto-top cannot discover runs as well as any other.
  const Status known = announcement_.publish(plan_, scheduler_, ingredients_, clock_.now());
  if (!known.ok()) relay_.say(fmt::format("warning: {}", known.cause()));
  react(supervisor_.on_ready());
}

void JobRunner::on_output(std::size_t member, std::size_t stream, std::string_view bytes) {
  if (member < members_.size() && relay_.has(member)) relay_.take(member, stream, bytes);
}

void JobRunner::on_ended(std::size_t member, Exit exit) {
  if (member < members_.size() && relay_.has(member) && !finishing_) {
    ended_.push_back({member, exit});
    relay_.close_log(member);
  }
}

bool JobRunner::on_lost(RemoteHost& host, Status why, Time since) {
  lost_hosts_.push_back(host.name());
  if (finishing_) {
    relay_.say(fmt::format("warning: {}", why.cause()));
    return false;
  }
  // A member whose exit is reported twice has been removed already.
  const std::vector<std::size_t> lost = placement_.members_at(far_.site_of(host));
  const std::vector<Ended> known = std::exchange(ended_, {});
  for (const Ended& one : known) tell_of_end(one.member);
  if (!known.empty())
    react(supervisor_.on_ended(known, here_.orphans() + far_.orphans(), clock_.now()));
  const std::vector<std::size_t> ended = ended_with_host(lost, why, supervisor_);
  for (const std::size_t member : ended) tell_of_end(member);
  if (!lost.empty()) react(supervisor_.on_host_lost(lost, std::move(why), since, clock_.now()));
  return ended.size() < lost.size();
}

std::vector<std::size_t> JobRunner::on_awake(RemoteHost& host) {
  std::erase(lost_hosts_, host.name());
  std::vector<std::size_t> members = placement_.members_at(far_.site_of(host));
  react(watch_again(supervisor_, members, host.name()));
  std::erase_if(members, [&](std::size_t i) { return !supervisor_.evidence().is_alive(i); });
  return members;
}

void JobRunner::on_signalled(RemoteHost& host, int signal) {
  if (finishing_) return;
  relay_.say(fmt::format("{} was sent {}", host.name(), signal_name(signal)));
  if (signal == SIGTERM && notices_.take(far_.site_of(host), clock_.now())) return;
  react(supervisor_.on_notice(signal, clock_.now()));
}

void JobRunner::on_note(const RemoteHost& host, std::string_view line) {
  relay_.line(fmt::format("[{}] ", host.name()), line);
}

void JobRunner::start(std::size_t member) {
  STRETTO_CHECK(!gathering_ && !finishing_ && local_ranks_.size() == members_.size());
  const std::size_t site = placement_.site_of.at(member);
  if (!relay_.has(member)) relay_.open(member);  // The member may have run before.
  speech_[member].begin_again();
  std::string bind_host = member == 0 ? meeting_.scheduler_host : meeting_.bind_hosts[site];
  if (placement_.only_here() && plan_.interface.empty()) bind_host.clear();
  const Seat seat{bind_host, local_ranks_[member].rank, local_ranks_[member].size};
  Rendezvous rendezvous{scheduler_, ingredients_.token, meeting_.master_host};
  if (member == 0) rendezvous.scheduler_life = seat_.begin_life(clock_.now());
  const Command command =
      command_for(members_[member], site == 0, plan_, ingredients_, rendezvous, seat);
  supervisor_.on_spawned(member);
  seat_.note_start(member);
  host_of(member).start(member, command, member == 0);
  if (member != 0) return;
  host_of(0).tell(lines_for_scheduler(plan_, ingredients_.inherited));
  if (notices_.awaits_checkpoint()) host_of(0).tell(fmt::format("{}\n", kSaveWanted));
  for (const std::size_t ended : seat_.ended()) tell_of_end(ended);
}

// The scheduler sees connections close and cannot know the cause. The launcher reports exits on a
// failed host as well, since no other process can.
void JobRunner::tell_of_end(std::size_t index) {
  const JobMember& member = members_[index];
  seat_.note_end(index);
  if (index == 0) return;
  host_of(0).tell(line_of(MemberExit{member.role, member.rank}) + "\n");
}

void JobRunner::react(const Reaction& reaction) {
  for (const std::string& note : reaction.notes) relay_.say(note);
  // Signals first: they are for processes of before, which `starts` may replace.
  for (const SignalOrder& order : reaction.orders) host_of(order.member).signal(order);
  for (const std::size_t member : reaction.starts) {
    if (supervisor_.may_start()) start(member);  // An earlier start may have failed.
  }
  for (const Restart& restart : reaction.restarts) {
    if (!supervisor_.may_start(restart.member)) continue;
    const auto& [member, instead_of, wanted] = restart;
    const bool is_worker = members_[member].role == Role::kWorker;
    if (settle(member, instead_of, wanted, sites_, placement_, local_ranks_)) {
      if (member == instead_of && !is_worker) seat_.note_restart();
      start(member);
    } else if (is_worker && member != instead_of) {  // It may start for another worker.
      relay_.say(label_of(members_[member]) + " is not started: " + kNoHostLeft);
    } else {
      on_refused(member, {Code::kResource, kNoHostLeft});
    }
  }
}

Host& JobRunner::host_of(std::size_t member) {
  const std::size_t site = placement_.site_of[member];
  if (site == 0) return here_;
  return far_.at(site);
}

// Writes without blocking. While a reader is slow, output stays in the pipes of the processes: they
// block, and the launcher does not.
void JobRunner::balance() {
  relay_.write();
  for (std::size_t stream = 0; stream < 2; ++stream) {
    here_.pause(stream, relay_.full(stream));
    far_.pause(stream, relay_.full(stream));
  }
}

void JobRunner::finish() {
  finishing_ = true;
  announcement_.withdraw();
  far_.finish(supervisor_.outcome().verdict.exit_status != 0);
  std::size_t left = here_.finish(plan_.limits.reap);
  while (!here_.drain()) {
    relay_.flush(signals_);
    balance();
  }
  wait_for_far_hosts();
  left += far_.left();
  relay_.finish_lines();
  if (left > 0)
    relay_.say(fmt::format("warning: the kernel does not end {} orphaned processes", left));
}

// Pending output may exceed what its reader takes at once; only silence has a limit.
void JobRunner::wait_for_far_hosts() {
  Time until = clock_.now() + plan_.limits.reap + kFarPatience;
  while (!far_.over()) {
    const bool blocked = !signals_.asked_to_end() && (relay_.full(0) || relay_.full(1));
    if (blocked) until = clock_.now() + plan_.limits.reap + kFarPatience;
    const Time now = clock_.now();
    if (now >= until) break;
    const Duration left = std::min(until - now, patience().value_or(until - now));
    poller_.turn(blocked ? std::nullopt : std::optional<Duration>(left));
    far_.on_time(clock_.now(), std::nullopt);
    balance();
  }
  far_.give_up_unfinished();
}

}  // namespace stretto::launch
