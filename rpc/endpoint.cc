// SPDX-License-Identifier: Apache-2.0
// The public API over the loop: checks arguments, posts requests to the loop, waits for answers.
#include <fmt/core.h>

#include <mutex>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/mutex.h"
#include "common/network/address.h"
#include "common/process/fork_guard.h"
#include "common/process/oom_handler.h"
#include "rpc/node.h"
#include "stretto/rpc.h"
#include "van/event_loop/loop_thread.h"
#include "van/transports.h"

namespace stretto::rpc {
namespace {

using Loop = LoopThread<EndpointNode>;

class LoopExecutor final : public NodeExecutor {
 public:
  explicit LoopExecutor(std::shared_ptr<Loop::Handle> door) : door_(std::move(door)) {}
  void post(std::function<void(EndpointNode&)> request) override {
    door_->post(std::move(request));
  }
  void run(std::function<void(EndpointNode&)> request) override { door_->run(std::move(request)); }
  bool is_here() override { return door_->is_here(); }
  bool is_forked() override { return door_->is_forked(); }
  void wait_until(Awaited& awaited, Time deadline) override {
    door_->wait_until(awaited, deadline);
  }

 private:
  const std::shared_ptr<Loop::Handle> door_;
};

// Why a blocking call cannot be made on this thread.
Status refusal(const Loop& loop, std::string_view what) {
  if (loop.is_forked()) return used_after_fork("Endpoint", what);
  if (!loop.is_here()) return {};
  return {Code::kInvalidArgument,
          fmt::format("{} waits for the endpoint's thread, and so must not be called on it: not in "
                      "a handler or callback",
                      what)};
}

// Windows and the like. An endpoint belongs to no job, so variables of a job are ignored.
Environment environment_of_endpoints() {
  return [all = process_environment()](const std::string& name) -> std::optional<std::string> {
    for (const char* known :
         {"STRETTO_JOB_TOKEN", "STRETTO_BIND_HOST", "STRETTO_NODE_HOST", "DMLC_NODE_HOST",
          "STRETTO_TRANSPORT", "STRETTO_FABRIC_PROVIDER", "STRETTO_LINK_WINDOW_BYTES",
          "STRETTO_TOTAL_WINDOW_BYTES", "STRETTO_DEAD_AFTER_S", "STRETTO_HEARTBEAT_S",
          "STRETTO_SPIN_US", "STRETTO_CHECKSUMS", "STRETTO_ENCRYPT"}) {
      if (name == known) return all(name);
    }
    return std::nullopt;
  };
}

Result<Config> config_of(const Options& options) {
  std::map<std::string, std::string> set = {{"STRETTO_TRANSPORT", options.transport},
                                            {"STRETTO_BIND_HOST", options.bind_host}};
  if (!options.token.empty()) set["STRETTO_JOB_TOKEN"] = options.token;
  Result<Config> config =
      config_from(overlay(std::move(set), environment_of_endpoints()), Role::kEndpoint);
  if (!config.ok()) return config;
  config->token = options.token;
  config->node_host = options.node_host;
  if (Status status = check(*config); !status.ok()) return status;
  return config;
}

Status check_options(const Options& options) {
  if (options.max_calls > 0 && options.max_peers > 0 && options.max_held_bytes > 0) return {};
  return {Code::kInvalidArgument,
          "max_calls, max_peers and max_held_bytes must be 1 at least: an endpoint with less could "
          "do nothing"};
}

Status check_call(std::string_view method, const Message& message, const CallOptions& options) {
  if (Status status = check_name(method); !status.ok()) return status;
  if (message.size() > kMaxMessageBytes) {
    return {Code::kInvalidArgument, fmt::format("the message has {} bytes, at most {} can be sent",
                                                message.size(), kMaxMessageBytes)};
  }
  if (options.timeout <= Duration::zero() || options.timeout > kMaxTimeout) {
    return {Code::kInvalidArgument,
            fmt::format("the timeout is {} ns, wanted more than 0 and at most a day",
                        options.timeout.count())};
  }
  return {};
}

}  // namespace

namespace detail {

/// The node, its loop, and its configuration. Thread: any.
class EndpointImpl {
 public:
  EndpointImpl(Config config, const Options& options, std::unique_ptr<Transport> transport)
      : config_(std::move(config)),
        node_({.token = config_.token,
               .max_peers = options.max_peers,
               .max_calls = options.max_calls,
               .max_held_bytes = options.max_held_bytes,
               .dead_after = config_.job.dead_after,
               .look_ahead = config_.look_ahead,
               .checksums = config_.checksums},
              methods_, std::move(transport), clock_) {
    node_.set_executor(executor_);
  }
  Status start() { return loop_.start(); }
  ~EndpointImpl() { close(); }

  Loop& loop() { return loop_; }
  Methods& methods() { return methods_; }
  const std::shared_ptr<NodeExecutor>& executor() const { return executor_; }
  const Config& config() const { return config_; }

  std::string address() const {
    MutexLock lock(mutex_);
    return address_;
  }
  void set_address(std::string address) {
    MutexLock lock(mutex_);
    address_ = std::move(address);
  }

  void close() {
    if (loop_.is_here() || loop_.is_forked()) return;
    std::call_once(closed_, [this] {
      loop_.post([](EndpointNode& node) { node.close(); });
      loop_.join();
      loop_.stop();
    });
  }

 private:
  const Config config_;
  const SteadyClock clock_;
  Methods methods_;
  EndpointNode node_;
  Loop loop_{node_, clock_};
  const std::shared_ptr<NodeExecutor> executor_ = std::make_shared<LoopExecutor>(loop_.door());
  std::once_flag closed_;
  mutable Mutex mutex_;
  std::string address_ GUARDED_BY(mutex_);
};

}  // namespace detail

namespace {

// In a forked child the destructor would wait for threads that do not exist.
void end_or_forget(std::unique_ptr<detail::EndpointImpl> impl) {
  if (impl != nullptr && impl->loop().is_forked()) (void)impl.release();  // NOLINT: it leaks.
}

}  // namespace

Result<Options> Options::from_environment() {
  const Result<Config> config = config_from(environment_of_endpoints(), Role::kEndpoint);
  if (!config.ok()) return config.status();
  Options options;
  options.token = config->token;
  options.bind_host = config->bind_host;
  options.node_host = config->node_host;
  options.transport = environment_of_endpoints()("STRETTO_TRANSPORT").value_or("auto");
  return options;
}

Result<Endpoint> Endpoint::open() {
  Result<Options> options = Options::from_environment();
  if (!options.ok()) return options.status();
  return open(*options);
}

Result<Endpoint> Endpoint::open(const Options& options) {
  if (Status status = check_options(options); !status.ok()) return status;
  Result<Config> config = config_of(options);
  if (!config.ok()) return config.status();
  promise_last_words();
  Result<std::unique_ptr<Transport>> transport = make_transport(*config);
  if (!transport.ok()) return transport.status();
  auto impl =
      std::make_unique<detail::EndpointImpl>(*std::move(config), options, *std::move(transport));
  if (Status status = impl->start(); !status.ok()) return status;
  return Endpoint(std::move(impl));
}

Endpoint::Endpoint(std::unique_ptr<detail::EndpointImpl> impl) : impl_(std::move(impl)) {}
Endpoint::Endpoint(Endpoint&&) noexcept = default;
Endpoint& Endpoint::operator=(Endpoint&& other) noexcept {
  if (this != &other) end_or_forget(std::exchange(impl_, std::move(other.impl_)));
  return *this;
}
Endpoint::~Endpoint() { end_or_forget(std::move(impl_)); }

Status Endpoint::on(std::string_view method, Handler handler) {
  return impl_->methods().add(method, std::move(handler));
}

std::string Endpoint::address() const { return impl_->address(); }

Result<std::string> Endpoint::listen(std::uint16_t port) {
  if (Status status = refusal(impl_->loop(), "listen"); !status.ok()) return status;
  const Config& config = impl_->config();
  if (!address().empty()) {
    return Status(Code::kInvalidArgument, "this endpoint listens at " + address() + " already");
  }
  if (is_any_address(config.bind_host) && config.node_host.empty()) {
    return Status(
        Code::kInvalidArgument,
        fmt::format(
            "bind_host is {}, which is no address to connect to: say with node_host at which "
            "address of this host others reach it",
            config.bind_host));
  }
  const std::string at = HostPort{config.bind_host, port}.text();
  using Outcome = Result<std::string>;
  Outcome bound = impl_->loop().ask<Outcome>(
      [at](EndpointNode& node, const auto& done) { done(node.listen(at)); });
  if (bound.ok() && !config.node_host.empty()) bound = with_host(*bound, config.node_host);
  if (bound.ok()) impl_->set_address(*bound);
  return bound;
}

Result<Peer> Endpoint::connect(std::string_view address, Duration timeout) {
  if (Status status = refusal(impl_->loop(), "connect"); !status.ok()) return status;
  if (Status status = check_address(address); !status.ok()) return status;
  if (timeout <= Duration::zero() || timeout > kMaxTimeout) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("the timeout is {} ns, wanted more than 0 and at most a day", timeout.count()));
  }
  return impl_->loop().ask<Result<Peer>>(
      [to = std::string(address), timeout](EndpointNode& node, EndpointNode::Connected done) {
        node.connect(to, timeout, std::move(done));
      });
}

void Endpoint::disconnect(Peer peer) {
  impl_->loop().post([peer](EndpointNode& node) { node.disconnect(peer); });
}

Call Endpoint::call(Peer peer, std::string_view method, Message message,
                    const CallOptions& options) {
  Status status = check_call(method, message, options);
  if (status.ok() && impl_->loop().is_forked()) status = used_after_fork("Endpoint", "call");
  if (!status.ok()) message = {};
  const std::string_view named = method.substr(0, kMaxMethodBytes);
  auto state =
      std::make_shared<detail::CallState>(named, std::move(message), options, impl_->executor());
  if (status.ok()) {
    impl_->loop().post(
        [state, peer](EndpointNode& node) { node.caller().start(state, peer.id()); });
  } else {
    state->end(status);
  }
  return Call(std::move(state));
}

void Endpoint::close() {
  if (impl_ != nullptr) impl_->close();
}

}  // namespace stretto::rpc
