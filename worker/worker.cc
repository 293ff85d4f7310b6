// SPDX-License-Identifier: Apache-2.0
// The public API over the loop: checks what the user gave, hands it over, waits for answers.
#include "stretto/worker.h"

#include <fmt/format.h>

#include <atomic>

#include "common/address.h"
#include "common/advertised.h"
#include "common/clock.h"
#include "common/completion.h"
#include "common/config.h"
#include "common/last_words.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/network.h"
#include "common/variables.h"
#include "observe/metrics/endpoint.h"
#include "stretto/steps.h"
#include "van/loop_thread.h"
#include "van/transports.h"
#include "worker/node.h"
#include "worker/request.h"
#include "worker/standing.h"
#include "worker/ticket.h"

namespace stretto {
namespace detail {

Status interrupted(std::string_view what) {
  return Status(Code::kCancelled, "the wait was interrupted").with_operation(what);
}

// Where other workers can call. Only tensors that are exchanged among workers want it, so who has
// none need not care that nobody can.
std::string address_of(const Config& config, Transport& transport) {
  const Result<std::string> host = advertised_host(config);
  Result<std::string> bound = host;
  if (bound.ok()) bound = transport.listen(config.bind_host + ":0");
  if (bound.ok() && !host->empty()) bound = with_host(*bound, *host);
  if (bound.ok()) return *bound;
  log(Level::kWarning, "no worker can call this one, and no tensor be exchanged among them: {}",
      bound.status().cause());
  return {};
}

/// The node and its loop. Thread: any.
class WorkerImpl {
 public:
  using Loop = LoopThread<WorkerNode, LoopRequest>;

  WorkerImpl(Config config, std::shared_ptr<InputAccount> input,
             std::unique_ptr<Transport> transport)
      : config_(std::move(config)),
        input_(std::move(input)),
        address_(address_of(config_, *transport)),
        node_(config_, std::move(transport), clock_,
              make_pool_coder([this](Coder::Work then) { return_to_loop(std::move(then)); }),
              [this](const JobPlace& place) { standing_.set(place); }) {}

  /// Handles are heard until the end: what is cancelled or resumed meanwhile lets us leave. When
  /// this returns every ticket has ended.
  ~WorkerImpl() {
    if (loop_.started()) (void)leave(kLastPatience);
    loop_.stop();
  }

  /// Before join().
  void set_stack_source(const std::function<std::string()>& source) {
    node_.activity().set_stack_source(source);
  }
  Status join() {
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
    if (status.ok()) endpoint_ = metrics::serve_if_wanted(config_, standing_.rank(), board_);
    return status;
  }

  std::optional<Status> leave(Duration patience) {
    return loop_.ask_until<Status>(
        after(clock_.now(), patience),
        [](WorkerNode& node, WorkerNode::Done done) { node.leave(std::move(done)); });
  }

  Loop& loop() { return loop_; }
  const Config& config() const { return config_; }
  Standing& standing() { return standing_; }
  bool tracing() { return node_.tracer().on(); }
  StepCount& steps() { return *step_count_; }
  const std::shared_ptr<Pauses>& pauses() { return node_.activity().pauses(); }
  void report(std::string_view name, double value) {
    const Status status = node_.activity().reports().set(name, value);
    if (status.ok() || complained_.exchange(true)) return;
    log(Level::kWarning, "a report is left out, and others may be: {}", status.cause());
  }

 private:
  static constexpr Duration kLastPatience = 10s;

  // After work of a codec, which has ended before the loop does.
  void return_to_loop(Coder::Work then) {
    loop_.post([then = std::move(then)](WorkerNode&) { then(); });
  }

  const Config config_;
  const std::shared_ptr<InputAccount> input_;
  const std::string address_;
  const SteadyClock clock_;
  const std::shared_ptr<metrics::Board> board_ = std::make_shared<metrics::Board>();
  std::unique_ptr<metrics::MetricsEndpoint> endpoint_;
  std::atomic<bool> complained_{false};  // Of a report.
  Standing standing_;
  WorkerNode node_;
  const std::shared_ptr<StepCount> step_count_ = node_.work().steps().gate().count();
  Loop loop_{node_, clock_};  // Last: it ends before what it uses.
};

}  // namespace detail

namespace {

Status not_here(std::string_view what) {
  return Status(Code::kInvalidArgument,
                "it waits for the worker's thread, and so must not be called on it: not in a "
                "callback of on_done")
      .with_operation(what);
}

Status check_size(const Tensor& tensor, std::size_t bytes, std::string_view what) {
  if (bytes == tensor.bytes()) return {};
  return {Code::kInvalidArgument,
          fmt::format("the {} has {} bytes, tensor {} has {} ({} elements of {})", what, bytes,
                      tensor.id, tensor.bytes(), tensor.elements, name_of(tensor.dtype))};
}

/// A ticket and the operations that it stands for, in one piece of memory: whoever holds one of
/// them holds all. Thread: any.
class Batch final : public detail::TicketState, public std::enable_shared_from_this<Batch> {
 public:
  Batch(std::shared_ptr<detail::WorkerImpl::Loop::Door> door, Operation::Kind kind,
        std::span<const Transfer> transfers, const Standing::Root& root, bool traced)
      : TicketState(transfers.size(), traced),
        door_(std::move(door)),
        others_(transfers.size() - 1) {
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      Operation& operation = *at(i);
      operation.kind = kind;
      operation.tensor = transfers[i].tensor;
      operation.source = transfers[i].source;
      operation.target = transfers[i].target;
      operation.root = root.number;
      operation.root_view = root.view;
      if (kind == Operation::Kind::kBroadcastReceiver && root.view != 0) operation.come_together();
      operation.priority = transfers[i].priority;
      operation.ticket =
          std::shared_ptr<TicketState>(std::shared_ptr<void>(), this);  // Holds nothing.
    }
  }

  std::size_t size() const { return 1 + others_.size(); }
  std::shared_ptr<Operation> operation(std::size_t index) {
    return {shared_from_this(), at(index)};
  }

 private:
  Operation* at(std::size_t index) { return index == 0 ? &first_ : &others_[index - 1]; }
  bool is_on_loop() override { return door_->is_here(); }
  void wait_until(Awaited& awaited, Time deadline) override {
    door_->wait_until(awaited, deadline);
  }
  void pass_on(const detail::Change& change) override {
    door_->post([batch = shared_from_this(), change](WorkerNode& node) {
      for (std::size_t i = 0; i < batch->size(); ++i)
        node.work().steer(batch->operation(i), change);
    });
  }

  const std::shared_ptr<detail::WorkerImpl::Loop::Door> door_;
  Operation first_;
  std::vector<Operation> others_;
};

Ticket begin(detail::WorkerImpl& impl, Operation::Kind kind, std::span<const Transfer> transfers,
             const Standing::Root& root = {}) {
  auto batch = std::make_shared<Batch>(impl.loop().door(), kind, transfers, root, impl.tracing());
  if (batch->size() == 1) {
    impl.loop().post(LoopRequest(batch->operation(0)));
  } else {
    impl.loop().post([batch](WorkerNode& node) {
      for (std::size_t i = 0; i < batch->size(); ++i) node.work().start(batch->operation(i));
    });
  }
  return Ticket(std::move(batch));
}

Ticket begin(detail::WorkerImpl& impl, Operation::Kind kind, const Transfer& transfer,
             const Standing::Root& root = {}) {
  return begin(impl, kind, std::span(&transfer, 1), root);
}

constexpr std::uint64_t kFilesALink = 2;  // A socket or two of a transport.
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

Ticket detail::refused_elements(std::string_view operation, std::string_view what,
                                std::string_view found, const Tensor& tensor) {
  return detail::ended_ticket(
      Status(Code::kInvalidArgument,
             fmt::format("the {} holds {}, tensor {} is {}; convert it, or give the bytes of what "
                         "is {} already (std::as_bytes)",
                         what, found, tensor.id, name_of(tensor.dtype), name_of(tensor.dtype)))
          .with_operation(operation));
}

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
  promise_last_words();
  warn_of_unread_variables();
  const std::uint64_t links = std::uint64_t{config.servers} * config.shards + 1;
  if (Status status = raise_file_limit(kFilesALink * links + kFilesBesides); !status.ok()) {
    return status;
  }
  Result<std::unique_ptr<Transport>> transport = make_transport(config);
  if (!transport.ok()) return transport.status();
  auto impl =
      std::make_unique<detail::WorkerImpl>(config, options.input_account, std::move(*transport));
  impl->set_stack_source(options.stack_source);
  if (Status status = impl->join(); !status.ok()) return status;
  set_log_identity({"worker", impl->standing().rank()});
  return Worker(std::move(impl));
}

Worker::Worker(std::unique_ptr<detail::WorkerImpl> impl) : impl_(std::move(impl)) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() = default;

Rank Worker::rank() const { return impl_->standing().rank(); }
std::uint32_t Worker::size() const { return impl_->standing().size(); }

JobView Worker::on_view(std::function<void(const JobView&)> then) {
  return impl_->standing().on_view(std::move(then));
}

Result<Tensor> Worker::declare(std::string_view name, Dtype dtype, std::size_t elements,
                               const TensorOptions& options) {
  if (impl_->loop().is_here()) return not_here("declare");
  const TensorSpec spec{
      .name = std::string(name), .dtype = dtype, .elements = elements, .options = options};
  return impl_->loop()
      .ask_until<Result<Tensor>>(Time::max(),
                                 [spec](WorkerNode& node, WorkerNode::Declared done) {
                                   node.work().declare(spec, std::move(done));
                                 })
      .value_or(detail::interrupted("declare"));
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

Ticket Worker::probe(const Tensor& tensor) {
  return begin(*impl_, Operation::Kind::kProbe,
               {.tensor = tensor, .source = {}, .target = {}, .priority = 0});
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
  return begin(*impl_, Operation::Kind::kPushPull, transfers);
}

Ticket Worker::broadcast(const Tensor& tensor, std::span<std::byte> data, Rank root, int priority) {
  Status status = check_size(tensor, data.size(), "data");
  const std::optional<Standing::Root> from = impl_->standing().root(root);
  if (status.ok() && !from) {
    status = {Code::kInvalidArgument,
              fmt::format("root {} of {} workers; ranks are 0 to {}", root, size(), size() - 1)};
  }
  if (!status.ok()) return detail::ended_ticket(std::move(status).with_operation("broadcast"));
  Transfer transfer{.tensor = tensor, .source = {}, .target = data, .priority = priority};
  if (from->is_self) transfer.source = data;
  return begin(
      *impl_, from->is_self ? Operation::Kind::kBroadcastRoot : Operation::Kind::kBroadcastReceiver,
      transfer, *from);
}

void Worker::report(std::string_view name, double value) { impl_->report(name, value); }

Pause Worker::pause(std::string_view what) {
  const std::shared_ptr<Pauses>& pauses = impl_->pauses();
  const std::uint64_t number = pauses->begin(std::string(what));
  return Pause(std::shared_ptr<void>(nullptr, [pauses, number](void*) { pauses->end(number); }));
}

void Worker::note_ending() { impl_->pauses()->note_ending(); }

bool Worker::tracing() const { return impl_->tracing(); }

void Worker::note_span(Span span, Time begin, Time end) {
  if (!tracing() || end < begin) return;
  TraceRecord record;
  constexpr TraceKind kKinds[] = {TraceKind::kCompute, TraceKind::kInput, TraceKind::kStage};
  record.kind = kKinds[static_cast<std::size_t>(span)];
  record.begin_ns = trace_time(begin);
  record.end_ns = trace_time(end);
  impl_->loop().post([record](WorkerNode& node) {
    if (!node.over()) node.tracer().note(record);
  });
}

Result<std::vector<std::byte>> Worker::save_state(const Tensor& tensor) {
  if (impl_->loop().is_here()) return not_here("save_state");
  Result<std::vector<std::byte>> saved = impl_->loop().ask<Result<std::vector<std::byte>>>(
      [tensor](WorkerNode& node, StateTransfers::Saved done) {
        node.work().save_state(tensor, std::move(done));
      });
  if (!saved.ok()) return Status(saved.status()).with_operation("save_state");
  return saved;
}

Status Worker::load_state(const Tensor& tensor, std::span<const std::byte> state) {
  if (impl_->loop().is_here()) return not_here("load_state");
  const Status loaded =
      impl_->loop().ask<Status>([tensor, state](WorkerNode& node, const WorkerNode::Done& done) {
        node.work().load_state(tensor, state, done);
      });
  return loaded.ok() ? loaded : Status(loaded).with_operation("load_state");
}

Status Worker::barrier() {
  if (impl_->loop().is_here()) return not_here("barrier");
  return impl_->loop()
      .ask_until<Status>(
          Time::max(),
          [](WorkerNode& node, const WorkerNode::Done& done) { node.work().barrier(done); })
      .value_or(detail::interrupted("barrier"));
}

Result<Rank> Worker::sit_out() {
  if (impl_->loop().is_here()) return not_here("sit_out");
  return impl_->loop()
      .ask_until<Result<Rank>>(
          Time::max(),
          [](WorkerNode& node, BarrierCalls::Done done) { node.work().sit_out(std::move(done)); })
      .value_or(detail::interrupted("sit_out"));
}

Result<StepBegin> ProgramSteps::next() {
  detail::WorkerImpl& impl = *worker_->impl_;
  StepCount& count = impl.steps();
  const std::uint64_t step = count.begun + 1;
  if (!count.is_asked) {
    count.begun = step;
    return StepBegin{.step = step};
  }
  if (impl.loop().is_here()) return not_here("next step");
  return impl.loop()
      .ask_until<Result<StepBegin>>(Time::max(),
                                    [step](WorkerNode& node, StepGate::Begun begun) {
                                      node.work().steps().gate().begin(step, std::move(begun));
                                    })
      .value_or(detail::interrupted("next step"));
}

Ticket ProgramSteps::listen(const Tensor& tensor, std::span<std::byte> target, int priority) {
  if (!target.empty()) {
    if (Status status = check_size(tensor, target.size(), "target"); !status.ok()) {
      return detail::ended_ticket(std::move(status).with_operation("listen"));
    }
  }
  return begin(*worker_->impl_, Operation::Kind::kListen,
               {.tensor = tensor, .source = {}, .target = target, .priority = priority});
}

Status Worker::leave(Duration patience) {
  if (impl_->loop().is_here()) return not_here("leave");
  if (const std::optional<Status> left = impl_->leave(patience)) return *left;
  const double waited = std::chrono::duration<double>(patience).count();
  return {Code::kTimeout, fmt::format("what is in flight has not ended in {} s", waited)};
}

}  // namespace stretto
