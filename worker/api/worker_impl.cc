// SPDX-License-Identifier: Apache-2.0
// Construction of a worker from a transport to a running loop, and its end.
#include "worker/api/worker_impl.h"

#include "common/config/advertised.h"
#include "common/log.h"
#include "common/network/address.h"
#include "common/network/network_interface.h"
#include "common/process/fork_guard.h"
#include "common/threads/completion.h"
#include "worker/operations/codec_executor.h"

namespace stretto::detail {
namespace {

// The address for connections of other workers. Only tensors that are exchanged among workers need
// it, so a failure is only logged.
std::string address_of(const Config& config, Transport& transport) {
  const Result<std::string> host = advertised_host(config);
  Result<std::string> bound = host;
  if (bound.ok()) bound = transport.listen(HostPort{config.bind_host, 0}.text());
  if (bound.ok() && !host->empty()) bound = with_host(*bound, *host);
  if (bound.ok()) return *bound;
  log(Level::kWarning, "no worker can call this one, and no tensor be exchanged among them: {}",
      bound.status().cause());
  return {};
}

// The first members suffice: a host has few interfaces.
void warn_of_slower_control(const std::string& scheduler, const MembershipClient& membership) {
  constexpr std::size_t kMostAsked = 16;
  std::vector<NetworkInterface> data;
  for (const Member& member :
       membership.roster() ? membership.roster()->members : std::vector<Member>()) {
    const bool carries = member.node != membership.node() && !member.address.empty();
    if (carries && data.size() < kMostAsked) data.push_back(interface_towards(member.address));
  }
  const std::string wrong = slower_control(interface_towards(scheduler), data);
  if (!wrong.empty()) log(Level::kWarning, "{}", wrong);
}

}  // namespace

Status interrupted(std::string_view what) {
  return Status(Code::kCancelled, "the wait was interrupted").with_operation(what);
}

Status refusal(const WorkerImpl& impl, std::string_view what) {
  if (impl.loop().is_forked()) return used_after_fork("Worker", what);
  if (!impl.loop().is_here()) return {};
  return Status(Code::kInvalidArgument,
                "it waits for the worker's thread, and so must not be called on it: not in a "
                "callback of on_done")
      .with_operation(what);
}

void end_or_forget(std::unique_ptr<WorkerImpl> impl) {
  // Its destructor would wait for threads that do not exist here, and close the parent's links.
  if (impl != nullptr && impl->loop().is_forked()) (void)impl.release();  // NOLINT: it leaks.
}

WorkerImpl::WorkerImpl(Config config, std::shared_ptr<InputAccount> input,
                       std::unique_ptr<Transport> transport)
    : config_(std::move(config)),
      input_(std::move(input)),
      address_(address_of(config_, *transport)),
      node_(config_, std::move(transport), clock_,
            make_pool_coder([this](CodecExecutor::Work then) { return_to_loop(std::move(then)); }),
            [this](const WorkerView& place) { standing_.set(place); }) {}

Status WorkerImpl::join() {
  const auto joined = std::make_shared<Completion<bool>>();
  node_.join([joined](const Status& status) { joined->end(status, true); }, address_);
  if (!config_.metrics_address.empty()) node_.set_board(board_.get());
  node_.set_input(input_.get());
  node_.activity().set_callers(loop_.door()->callers());
  if (Status status = loop_.start(); !status.ok()) {
    return std::move(status).with_operation("join");
  }
  loop_.await_end(*joined, Time::max());
  if (!joined->done()) {
    loop_.stop();
    return interrupted("join");
  }
  Status status = joined->status();
  if (!status.ok()) return status;
  loop_.post(
      [this](WorkerNode& node) { warn_of_slower_control(config_.scheduler, node.membership()); });
  endpoint_ = metrics::serve_if_wanted(config_, standing_.number(), board_);
  return status;
}

std::optional<Status> WorkerImpl::leave(Duration patience) {
  return loop_.ask_until<Status>(
      after(clock_.now(), patience),
      [](WorkerNode& node, WorkerNode::Done done) { node.leave(std::move(done)); });
}

void WorkerImpl::report(std::string_view name, double value) {
  const Status status = node_.activity().reports().set(name, value);
  if (status.ok() || complained_.exchange(true)) return;
  log(Level::kWarning, "a report is left out, and others may be: {}", status.cause());
}

}  // namespace stretto::detail
