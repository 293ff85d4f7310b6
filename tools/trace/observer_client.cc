// SPDX-License-Identifier: Apache-2.0
// A Van on the tool's own thread, stepped until the answer arrives.
#include "tools/trace/observer_client.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "common/check.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "van/control/handshake.h"
#include "van/engine/van.h"
#include "van/transports.h"

namespace stretto::observe {
namespace {

constexpr Duration kPatience = 10s;
constexpr Duration kMovePatience = std::chrono::hours(24);  // The job's end also ends it.

class LiveObserver final : public ObserverClient, private Van::Handler {
 public:
  LiveObserver(std::unique_ptr<Transport> transport, std::string scheduler)
      : scheduler_(std::move(scheduler)),
        van_(std::move(transport), clock_, {.checksums = automatic_checksums()}) {}

  Status greet(const std::string& token, const std::function<bool()>& goes_on) {
    Result<LinkId> link = van_.links().connect(scheduler_, introduction(Role::kObserver, token));
    if (!link.ok()) return link.status();
    link_ = *link;
    Result<control::Message> answer = hear(kPatience, goes_on);
    if (!answer.ok()) return answer.status();
    const auto* welcome = std::get_if<control::Welcome>(&*answer);
    if (welcome == nullptr) return refusal_in(*answer, "the scheduler did not welcome this tool");
    van_.set_node(welcome->node);
    van_.links().admit(link_, kSchedulerNode);
    return {};
  }

  Result<Observation> snapshot(std::uint32_t first) override {
    return ask({.what = What::kSnapshot, .first = first});
  }
  Result<Observation> start_trace(std::uint32_t iterations, std::uint32_t seconds) override {
    return ask({.what = What::kStart, .iterations = iterations, .seconds = seconds});
  }
  Result<Observation> trace_state(std::uint32_t first) override {
    return ask({.what = What::kState, .first = first});
  }
  Result<Observation> trace_records(std::uint32_t node, std::uint64_t offset) override {
    return ask({.what = What::kRecords, .first = node, .offset = offset});
  }
  Result<Observation> tensor_names(std::uint32_t first) override {
    return ask({.what = What::kNames, .first = first});
  }
  Result<Observation> stack(std::uint32_t rank) override {
    return ask({.what = What::kStack, .first = rank});
  }
  Result<Rank> move(Rank server, const std::string& host) override {
    heard_.clear();
    van_.send_control(link_, control::Move{.server = server, .host = host});
    Result<control::Message> answer = hear(kMovePatience);
    if (!answer.ok()) return answer.status();
    const auto* moved = std::get_if<control::Move>(&*answer);
    if (moved == nullptr) return refusal_in(*answer, "the scheduler answered something else");
    if (!moved->why.ok()) return moved->why;
    return moved->server;
  }
  void ask_to_join(const ServerJoinRequest& wish) override {
    van_.send_control(link_, control::Move{.server = wish.place.value_or(0),
                                           .joining = wish.count,
                                           .any = !wish.place.has_value(),
                                           .machine = wish.machine,
                                           .other = wish.server.value_or(0)});
  }
  void tell_end(Rank server) override {
    van_.send_control(link_, control::Move{.server = server,
                                           .why = {Code::kServerLost, "its process has ended"},
                                           .joining = 1});
  }
  Result<std::vector<ServerJoinStatus>> join_news(Duration patience) override {
    std::vector<ServerJoinStatus> news;
    Result<control::Message> heard = hear(patience);
    if (!heard.ok() && !broken_.ok()) return broken_;
    for (; heard.ok(); heard = hear({})) {
      const auto* move = std::get_if<control::Move>(&*heard);
      if (move == nullptr) return refusal_in(*heard, "the scheduler answered something else");
      news.push_back(news_in(*move));
    }
    return news;
  }
  Status rest(Duration time) override {
    for (const Time end = clock_.now() + time; clock_.now() < end && broken_.ok();) {
      van_.step(*this, std::min(end - clock_.now(), Duration(100ms)));
    }
    return broken_;
  }

 private:
  using What = control::Observe::What;

  // Why the scheduler rejected the request.
  static Status refusal_in(const control::Message& answer, const char* otherwise) {
    const auto* fault = std::get_if<control::Fault>(&answer);
    if (fault == nullptr) return {Code::kMalformed, otherwise};
    return Status(fault->why).with_peer("scheduler");
  }
  Result<Observation> ask(const control::Observe& question) {
    STRETTO_CHECK(link_ != 0);
    heard_.clear();
    van_.send_control(link_, question);
    Result<control::Message> answer = hear();
    if (!answer.ok()) return answer.status();
    const auto* told = std::get_if<control::Observed>(&*answer);
    if (told == nullptr) return refusal_in(*answer, "the scheduler answered something else");
    return Observation{told->text, told->records};
  }
  Result<control::Message> hear(Duration patience = kPatience,
                                const std::function<bool()>& goes_on = {}) {
    const Time deadline = clock_.now() + patience;
    while (heard_.empty() && broken_.ok() && clock_.now() < deadline) {
      if (goes_on && !goes_on()) return Status(Code::kCancelled, "the scheduler is not waited for");
      van_.step(*this, std::min(Duration(20ms), deadline - clock_.now()));
    }
    if (!heard_.empty()) {
      control::Message first = std::move(heard_.front());
      heard_.pop_front();
      return first;
    }
    if (!broken_.ok()) return broken_;
    return Status(Code::kRendezvousTimeout,
                  fmt::format("no scheduler answered at {} within {} s; is the job running, and is "
                              "this its scheduler's address (it says \"listening at\")?",
                              scheduler_, std::chrono::duration<double>(kPatience).count()))
        .with_peer("scheduler");
  }

  void on_control(LinkId, const control::Message& message) override { heard_.push_back(message); }
  void on_data(LinkId, const wire::Header&, Buffer) override {}
  void on_acked(LinkId, wire::PushTag) override {}
  void on_broken(LinkId, const Status& why) override {
    broken_ = Status(Code::kSchedulerLost,
                     fmt::format("the link to the scheduler at {} ended ({}); has the job ended?",
                                 scheduler_, why.cause()))
                  .with_peer("scheduler");
  }

  const std::string scheduler_;
  const SteadyClock clock_;
  Van van_;
  LinkId link_ = 0;
  std::deque<control::Message> heard_;
  Status broken_;
};

}  // namespace

ServerJoinStatus news_in(const control::Move& move) {
  using What = ServerJoinStatus::What;
  if (move.joining != 0 && !move.why.ok() && move.other != 0) {  // The server has started.
    return {.what = What::kGivenUp, .server = move.other, .from = move.server, .why = move.why};
  }
  const What asked = move.why.ok() ? What::kStarts : What::kRefused;
  const What decided = move.why.ok() ? What::kIsIn : What::kGivenUp;
  return {.what = move.joining != 0 ? asked : decided,
          .server = move.server,
          .from = move.other,
          .settings = move.settings,
          .why = move.why};
}

Result<std::unique_ptr<ObserverClient>> ObserverClient::connect(
    const Target& target, const std::function<bool()>& goes_on) {
  if (Result<HostPort> address = parse_host_port(target.scheduler); !address.ok()) {
    return address.status();
  }
  if (target.encrypts && target.token.empty()) {
    return Status(Code::kInvalidArgument,
                  "STRETTO_ENCRYPT is 1, and there is no token to make keys of: set "
                  "STRETTO_JOB_TOKEN to the job's");
  }
  Result<std::unique_ptr<Transport>> transport =
      make_transport(0, {.zmq = target.zmq, .encrypts = target.encrypts, .token = target.token});
  if (!transport.ok()) return transport.status();
  auto observer = std::make_unique<LiveObserver>(std::move(*transport), target.scheduler);
  if (Status status = observer->greet(target.token, goes_on); !status.ok()) return status;
  return std::unique_ptr<ObserverClient>(std::move(observer));
}

}  // namespace stretto::observe
