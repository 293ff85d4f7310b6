// SPDX-License-Identifier: Apache-2.0
// The public API over the loop: checks what the user gave, hands it over, waits for answers.
#include "stretto/worker.h"

#include <fmt/format.h>

#include <atomic>
#include <future>
#include <thread>

#include "common/clock.h"
#include "common/config.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/network.h"
#include "van/transports.h"
#include "worker/inbox.h"
#include "worker/node.h"
#include "worker/ticket.h"

namespace stretto {
namespace detail {

/// The loop's thread and the way to it. Thread: any.
class WorkerImpl {
 public:
  WorkerImpl(Config config, std::unique_ptr<Transport> transport)
      : config_(std::move(config)), node_(config_, std::move(transport), clock_) {}

  ~WorkerImpl() {
    door_->close();
    if (!thread_.joinable()) return;
    if (ask_to_leave().wait_for(kLastPatience) != std::future_status::ready) {
      stop_.store(true, std::memory_order_release);
      node_.wake();
    }
  }

  Status join() {
    std::promise<Status> joined;
    std::future<Status> result = joined.get_future();
    node_.join([&joined](const Status& status) { joined.set_value(status); });
    thread_ = std::jthread([this] { loop(); });
    return result.get();
  }

  void post(Inbox::Request request) {
    switch (inbox_.post(request)) {
      case Inbox::Posted::kFirst:
        node_.wake();
        return;
      case Inbox::Posted::kMore:
        return;
      case Inbox::Posted::kClosed:
        request(node_);  // The node has ended: it only says so.
        return;
    }
  }

  /// How tickets, which may outlive this object, reach it as long as it is there.
  class Door {
   public:
    explicit Door(WorkerImpl& impl) : impl_(&impl) {}
    void post(Inbox::Request request) {
      MutexLock lock(mutex_);
      if (impl_ != nullptr) impl_->post(std::move(request));
    }
    void close() {
      MutexLock lock(mutex_);
      impl_ = nullptr;
    }

   private:
    Mutex mutex_;
    WorkerImpl* impl_ GUARDED_BY(mutex_);
  };
  const std::shared_ptr<Door>& door() const { return door_; }

  /// Runs `begin(node, done)` on the loop and waits for done's argument.
  template <typename Outcome, typename Begin>
  Outcome ask(Begin begin) {
    auto answer = std::make_shared<std::promise<Outcome>>();
    std::future<Outcome> result = answer->get_future();
    post([begin, answer](WorkerNode& node) {
      begin(node, [answer](const Outcome& outcome) { answer->set_value(outcome); });
    });
    return result.get();
  }

  std::future<Status> ask_to_leave() {
    auto answer = std::make_shared<std::promise<Status>>();
    post([answer](WorkerNode& node) {
      node.leave([answer](const Status& status) { answer->set_value(status); });
    });
    return answer->get_future();
  }

  const Config& config() const { return config_; }
  Rank rank() const { return node_.rank(); }

 private:
  static constexpr Duration kLastPatience = 10s;

  void loop() {
    while (!node_.over() && !stop_.load(std::memory_order_acquire)) {
      for (Inbox::Request& request : inbox_.take()) request(node_);
      node_.step(wait_until(node_.next_due(), clock_.now()));
    }
    if (!node_.over()) node_.abandon();
    for (Inbox::Request& request : inbox_.close()) request(node_);
  }

  const Config config_;
  const SteadyClock clock_;
  WorkerNode node_;
  Inbox inbox_;
  const std::shared_ptr<Door> door_ = std::make_shared<Door>(*this);
  std::atomic<bool> stop_{false};
  std::jthread thread_;  // Last: it ends before what it uses.
};

}  // namespace detail

namespace {

Status check_size(const Tensor& tensor, std::size_t bytes, std::string_view what) {
  if (bytes == tensor.bytes()) return {};
  return {Code::kInvalidArgument,
          fmt::format("the {} has {} bytes, tensor {} has {} ({} elements of {})", what, bytes,
                      tensor.id, tensor.bytes(), tensor.elements, name_of(tensor.dtype))};
}

std::shared_ptr<Operation> make_operation(Operation::Kind kind, const Transfer& transfer,
                                          std::shared_ptr<detail::TicketState> ticket) {
  auto operation = std::make_shared<Operation>();
  operation->kind = kind;
  operation->tensor = transfer.tensor;
  operation->source = transfer.source;
  operation->target = transfer.target;
  operation->priority = transfer.priority;
  operation->ticket = std::move(ticket);
  return operation;
}

// Lets the ticket's holder change what is wanted of its operations.
void make_steerable(detail::WorkerImpl& impl, detail::TicketState& ticket,
                    const std::vector<std::shared_ptr<Operation>>& operations) {
  std::vector<std::weak_ptr<Operation>> known(operations.begin(), operations.end());
  ticket.set_steering([door = impl.door(), known](const detail::Change& change) {
    door->post([known, change](WorkerNode& node) {
      for (const std::weak_ptr<Operation>& one : known) {
        if (const std::shared_ptr<Operation> operation = one.lock()) {
          node.steer(operation, change);
        }
      }
    });
  });
}

Ticket begin(detail::WorkerImpl& impl, Operation::Kind kind, const Transfer& transfer) {
  auto ticket = std::make_shared<detail::TicketState>(1);
  auto operation = make_operation(kind, transfer, ticket);
  make_steerable(impl, *ticket, {operation});
  impl.post([operation](WorkerNode& node) { node.start(operation); });
  return Ticket(std::move(ticket));
}

constexpr std::uint64_t kFilesALink = 4;  // Its connection, and what libzmq wakes its threads with.
constexpr std::uint64_t kFilesBesides = 32;

Config config_of(const Options& options, Config config) {
  config.role = Role::kWorker;
  config.scheduler = options.scheduler;
  config.token = options.token;
  config.rank = options.rank;
  config.workers = options.workers;
  config.servers = options.servers;
  config.rendezvous_timeout = options.rendezvous_timeout;
  config.operation_timeout = options.operation_timeout;
  return config;
}

}  // namespace

Result<Options> Options::from_environment() {
  Result<Config> config = config_from(process_environment(), Role::kWorker);
  if (!config.ok()) return config.status();
  return Options{.scheduler = config->scheduler,
                 .token = config->token,
                 .rank = config->rank,
                 .workers = config->workers,
                 .servers = config->servers,
                 .rendezvous_timeout = config->rendezvous_timeout,
                 .operation_timeout = config->operation_timeout};
}

Result<Worker> Worker::join() {
  Result<Options> options = Options::from_environment();
  if (!options.ok()) return options.status();
  return join(*options);
}

Result<Worker> Worker::join(const Options& options) {
  // What Options does not say (log level, heartbeats) still comes from the environment.
  Result<Config> base = config_from(process_environment(), Role::kWorker);
  if (!base.ok()) return base.status();
  const Config config = config_of(options, *base);
  if (Status status = check(config); !status.ok()) return status;
  if (config.scheduler.empty()) {
    return Status(Code::kInvalidArgument,
                  "no scheduler is named: start this program with stretto-launch, or set "
                  "STRETTO_SCHEDULER=host:port");
  }
  set_log_level(level_from(config.log_level));
  keep_freed_memory();
  set_log_identity({"worker", config.rank});
  const std::uint64_t links = std::uint64_t{config.servers} * config.shards + 1;
  if (Status status = raise_file_limit(kFilesALink * links + kFilesBesides); !status.ok()) {
    return status;
  }
  Result<std::unique_ptr<Transport>> transport = make_transport(config);
  if (!transport.ok()) return transport.status();
  auto impl = std::make_unique<detail::WorkerImpl>(config, std::move(*transport));
  if (Status status = impl->join(); !status.ok()) return status;
  set_log_identity({"worker", impl->rank()});
  return Worker(std::move(impl));
}

Worker::Worker(std::unique_ptr<detail::WorkerImpl> impl) : impl_(std::move(impl)) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() = default;

Rank Worker::rank() const { return impl_->rank(); }
std::uint32_t Worker::size() const { return impl_->config().workers; }

Result<Tensor> Worker::declare(std::string_view name, Dtype dtype, std::size_t elements,
                               const TensorOptions& options) {
  const TensorSpec spec{
      .name = std::string(name), .dtype = dtype, .elements = elements, .options = options};
  return impl_->ask<Result<Tensor>>(
      [spec](WorkerNode& node, WorkerNode::Declared done) { node.declare(spec, std::move(done)); });
}

Ticket Worker::push(const Tensor& tensor, std::span<const std::byte> source, int priority) {
  if (Status status = check_size(tensor, source.size(), "source"); !status.ok()) {
    return detail::ended_ticket(std::move(status).with_operation("push"));
  }
  return begin(*impl_, Operation::Kind::kPush,
               {.tensor = tensor, .source = source, .target = {}, .priority = priority});
}

Ticket Worker::pull(const Tensor& tensor, std::span<std::byte> target, int priority) {
  if (Status status = check_size(tensor, target.size(), "target"); !status.ok()) {
    return detail::ended_ticket(std::move(status).with_operation("pull"));
  }
  return begin(*impl_, Operation::Kind::kPull,
               {.tensor = tensor, .source = {}, .target = target, .priority = priority});
}

Ticket Worker::push_pull(const Tensor& tensor, std::span<const std::byte> source,
                         std::span<std::byte> target, int priority) {
  const Transfer transfer{
      .tensor = tensor, .source = source, .target = target, .priority = priority};
  return push_pull(std::span(&transfer, 1));
}

Ticket Worker::push_pull(std::span<const Transfer> transfers) {
  if (transfers.empty()) return Ticket();
  for (const Transfer& transfer : transfers) {
    Status status = check_size(transfer.tensor, transfer.source.size(), "source");
    if (status.ok()) status = check_size(transfer.tensor, transfer.target.size(), "target");
    if (!status.ok()) return detail::ended_ticket(std::move(status).with_operation("push_pull"));
  }
  auto ticket = std::make_shared<detail::TicketState>(transfers.size());
  std::vector<std::shared_ptr<Operation>> operations;
  for (const Transfer& transfer : transfers) {
    operations.push_back(make_operation(Operation::Kind::kPushPull, transfer, ticket));
  }
  make_steerable(*impl_, *ticket, operations);
  impl_->post([operations = std::move(operations)](WorkerNode& node) {
    for (const auto& operation : operations) node.start(operation);
  });
  return Ticket(std::move(ticket));
}

Ticket Worker::broadcast(const Tensor& tensor, std::span<std::byte> data, Rank root, int priority) {
  Status status = check_size(tensor, data.size(), "data");
  if (status.ok() && root >= size()) {
    status = {Code::kInvalidArgument,
              fmt::format("root {} of {} workers; ranks are 0 to {}", root, size(), size() - 1)};
  }
  if (!status.ok()) return detail::ended_ticket(std::move(status).with_operation("broadcast"));
  const bool is_root = root == rank();
  Transfer transfer{.tensor = tensor, .source = {}, .target = data, .priority = priority};
  if (is_root) transfer.source = data;
  return begin(*impl_,
               is_root ? Operation::Kind::kBroadcastRoot : Operation::Kind::kBroadcastReceiver,
               transfer);
}

Status Worker::barrier() {
  return impl_->ask<Status>(
      [](WorkerNode& node, WorkerNode::Done done) { node.barrier(std::move(done)); });
}

Status Worker::leave() { return impl_->ask_to_leave().get(); }

}  // namespace stretto
