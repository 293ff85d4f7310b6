// SPDX-License-Identifier: Apache-2.0
// A Van on the tool's own thread, stepped until the answer is there.
#include "tools/trace/observer.h"

#include <fmt/format.h>

#include <optional>

#include "common/check.h"
#include "common/clock.h"
#include "common/config.h"
#include "van/greeting.h"
#include "van/messages.h"
#include "van/transports.h"
#include "van/van.h"

namespace stretto::observe {
namespace {

constexpr Duration kPatience = 10s;

class LiveObserver final : public Observer, private Van::Handler {
 public:
  LiveObserver(std::unique_ptr<Transport> transport, std::string scheduler)
      : scheduler_(std::move(scheduler)), van_(std::move(transport), clock_) {}

  Status greet(const std::string& token) {
    Result<LinkId> link = van_.connect(scheduler_, introduction(Role::kObserver, token));
    if (!link.ok()) return link.status();
    link_ = *link;
    Result<wire::Control> answer = hear();
    if (!answer.ok()) return answer.status();
    if (answer->has_fault()) return status_of(answer->fault()).with_peer("scheduler");
    if (!answer->has_welcome())
      return {Code::kMalformed, "the scheduler did not welcome this tool"};
    van_.set_node(answer->welcome().node());
    van_.admit(link_, kSchedulerNode);
    return {};
  }

  Result<Observation> picture(std::uint32_t first) override {
    return ask(wire::Observe::PICTURE, first, 0);
  }
  Result<Observation> start_trace(std::uint32_t iterations, std::uint32_t seconds) override {
    wire::Control question;
    question.mutable_observe()->set_what(wire::Observe::START);
    question.mutable_observe()->set_iterations(iterations);
    question.mutable_observe()->set_seconds(seconds);
    return ask(question);
  }
  Result<Observation> trace_state(std::uint32_t first) override {
    return ask(wire::Observe::STATE, first, 0);
  }
  Result<Observation> trace_records(std::uint32_t node, std::uint64_t offset) override {
    return ask(wire::Observe::RECORDS, node, offset);
  }
  Result<Observation> tensor_names(std::uint32_t first) override {
    return ask(wire::Observe::NAMES, first, 0);
  }
  Status rest(Duration time) override {
    for (const Time end = clock_.now() + time; clock_.now() < end && broken_.ok();) {
      van_.step(*this, std::min(end - clock_.now(), Duration(100ms)));
    }
    return broken_;
  }

 private:
  Result<Observation> ask(wire::Observe::What what, std::uint32_t first, std::uint64_t offset) {
    wire::Control question;
    question.mutable_observe()->set_what(what);
    question.mutable_observe()->set_first(first);
    question.mutable_observe()->set_offset(offset);
    return ask(question);
  }
  Result<Observation> ask(const wire::Control& question) {
    STRETTO_CHECK(link_ != 0);
    heard_.reset();
    van_.send_control(link_, question);
    Result<wire::Control> answer = hear();
    if (!answer.ok()) return answer.status();
    if (answer->has_fault()) return status_of(answer->fault()).with_peer("scheduler");
    return Observation{answer->observed().text(), answer->observed().records()};
  }
  Result<wire::Control> hear() {
    const Time deadline = clock_.now() + kPatience;
    while (!heard_ && broken_.ok() && clock_.now() < deadline) {
      van_.step(*this, Duration(20ms));
    }
    if (heard_) return *std::exchange(heard_, std::nullopt);
    if (!broken_.ok()) return broken_;
    return Status(Code::kRendezvousTimeout,
                  fmt::format("no scheduler answered at {} within {} s; is the job running, and is "
                              "this its scheduler's address (it says \"listening at\")?",
                              scheduler_, std::chrono::duration<double>(kPatience).count()))
        .with_peer("scheduler");
  }

  void on_control(LinkId, const wire::Control& message) override { heard_ = message; }
  void on_data(LinkId, const wire::Header&, Buffer) override {}
  void on_acked(LinkId, wire::Key) override {}
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
  std::optional<wire::Control> heard_;
  Status broken_;
};

}  // namespace

Result<std::unique_ptr<Observer>> Observer::connect(const std::string& scheduler,
                                                    const std::string& token) {
  if (Result<HostPort> address = parse_host_port(scheduler); !address.ok()) {
    return address.status();
  }
  Result<std::unique_ptr<Transport>> transport = make_transport(0);
  if (!transport.ok()) return transport.status();
  auto observer = std::make_unique<LiveObserver>(std::move(*transport), scheduler);
  if (Status status = observer->greet(token); !status.ok()) return status;
  return std::unique_ptr<Observer>(std::move(observer));
}

}  // namespace stretto::observe
