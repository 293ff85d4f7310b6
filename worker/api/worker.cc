// SPDX-License-Identifier: Apache-2.0
// The public API over the loop: checks arguments, posts requests, waits for answers.
#include "stretto/worker.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "common/config/config.h"
#include "common/config/variables.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/network/network.h"
#include "common/process/fork_guard.h"
#include "common/process/oom_handler.h"
#include "stretto/steps.h"
#include "van/transports.h"
#include "worker/api/ticket_batch.h"
#include "worker/api/worker_impl.h"

namespace stretto {

namespace {

Status check_size(detail::WorkerImpl& impl, const Tensor& tensor, std::size_t bytes,
                  std::string_view what) {
  if (bytes == tensor.bytes()) return {};
  return {Code::kInvalidArgument,
          fmt::format("the {} has {} bytes, {} has {} ({} elements of {})", what, bytes,
                      impl.name_of_tensor(tensor.id), tensor.bytes(), tensor.elements,
                      name_of(tensor.dtype))};
}

Ticket begin(detail::WorkerImpl& impl, Operation::Kind kind, const Transfer& transfer,
             const Standing::Root& root = {}) {
  return begin(impl, kind, std::span(&transfer, 1), root);
}

constexpr std::uint64_t kFilesALink = 2;  // One or two sockets of a transport.
constexpr std::uint64_t kFilesBesides = 32;

Config config_of(const Options& options, Config config) {
  config.role = Role::kWorker;
  config.scheduler = options.scheduler;
  config.token = options.token;
  config.rank = options.rank;
  config.workers = options.workers;
  config.servers = options.servers;
  config.former = options.former;
  config.rendezvous_timeout = options.rendezvous_timeout;
  config.operation_timeout = options.operation_timeout;
  config.checkpoint.folder = options.checkpoint;
  return config;
}

}  // namespace

Ticket detail::refused_elements(WorkerImpl& impl, std::string_view operation, std::string_view what,
                                std::string_view found, const Tensor& tensor) {
  return detail::ended_ticket(
      Status(Code::kInvalidArgument,
             fmt::format("the {} holds {}, {} is {}; convert it, or give the bytes of what is {} "
                         "already (std::as_bytes)",
                         what, found, impl.name_of_tensor(tensor.id), name_of(tensor.dtype),
                         name_of(tensor.dtype)))
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
                 .operation_timeout = config->operation_timeout,
                 .checkpoint = config->checkpoint.folder};
}

Result<Worker> Worker::join() {
  Result<Options> options = Options::from_environment();
  if (!options.ok()) return options.status();
  return join(*options);
}

Result<Worker> Worker::join(const Options& options) {
  // Settings outside Options (log level, heartbeats) still come from the environment.
  Result<Config> base = config_from(process_environment(), Role::kWorker);
  if (!base.ok()) return base.status();
  const Config config = config_of(options, *base);
  if (Status status = check(config); !status.ok()) return status;
  if (config.scheduler.empty()) {
    return Status(Code::kInvalidArgument,
                  "no scheduler is named: start this program with stretto-launch, or set "
                  "STRETTO_SCHEDULER=host:port");
  }
  set_log_level(level_named(config.log_level).value_or(Level::kInfo));
  keep_freed_memory();
  set_log_identity({"worker", config.rank});
  promise_last_words();
  warn_of_unread_variables();
  const std::uint64_t servers = std::uint64_t{config.servers} * config.job.replicas;
  const std::uint64_t others = config.servers == 0  // It may connect to any of them then.
                                   ? std::uint64_t{config.workers}
                                   : servers * config.shards;
  const std::uint64_t links = others + 1;
  if (Status status = raise_file_limit(kFilesALink * links + kFilesBesides); !status.ok()) {
    return status;
  }
  Result<std::unique_ptr<Transport>> transport = make_transport(config);
  if (!transport.ok()) return transport.status();
  auto impl =
      std::make_unique<detail::WorkerImpl>(config, options.input_account, std::move(*transport));
  impl->set_stack_source(options.stack_source);
  if (Status status = impl->join(); !status.ok()) return status;
  set_log_identity({"worker", impl->standing().number()});
  return Worker(std::move(impl));
}

Worker::Worker(std::unique_ptr<detail::WorkerImpl> impl) : impl_(std::move(impl)) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&& other) noexcept {
  if (this != &other) detail::end_or_forget(std::exchange(impl_, std::move(other.impl_)));
  return *this;
}
Worker::~Worker() { detail::end_or_forget(std::move(impl_)); }

Rank Worker::rank() const { return impl_->standing().rank(); }
std::uint32_t Worker::size() const { return impl_->standing().size(); }

JobView Worker::on_view(std::function<void(const JobView&)> then) {
  return impl_->standing().on_view(std::move(then));
}

Result<Tensor> Worker::declare(std::string_view name, Dtype dtype, std::size_t elements,
                               const TensorOptions& options) {
  if (Status status = detail::refusal(*impl_, "declare"); !status.ok()) return status;
  TensorSpec spec{
      .name = std::string(name), .dtype = dtype, .elements = elements, .options = options};
  // This setting is per worker, and may differ between workers.
  const NonFinite non_finite =
      std::exchange(spec.options.non_finite, {}).value_or(impl_->config().non_finite);
  Result<Tensor> declared =
      impl_->loop()
          .ask_until<Result<Tensor>>(Time::max(),
                                     [spec](WorkerNode& node, WorkerNode::Declared done) {
                                       node.work().declare(spec, std::move(done));
                                     })
          .value_or(detail::interrupted("declare"));
  if (!declared.ok()) return declared;
  declared->non_finite = non_finite;
  impl_->note_name(declared->id, name);
  return declared;
}

Ticket Worker::push(const Tensor& tensor, std::span<const std::byte> source, int priority) {
  if (Status status = check_size(*impl_, tensor, source.size(), "source"); !status.ok()) {
    return detail::ended_ticket(std::move(status).with_operation("push"));
  }
  return begin(*impl_, Operation::Kind::kPush,
               {.tensor = tensor, .source = source, .target = {}, .priority = priority});
}

Ticket Worker::pull(const Tensor& tensor, std::span<std::byte> target, int priority) {
  if (Status status = check_size(*impl_, tensor, target.size(), "target"); !status.ok()) {
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
    Status status = check_size(*impl_, transfer.tensor, transfer.source.size(), "source");
    if (status.ok()) status = check_size(*impl_, transfer.tensor, transfer.target.size(), "target");
    if (!status.ok()) return detail::ended_ticket(std::move(status).with_operation("push_pull"));
  }
  return begin(*impl_, Operation::Kind::kPushPull, transfers);
}

Ticket Worker::broadcast(const Tensor& tensor, std::span<std::byte> data, Rank root, int priority) {
  Status status = check_size(*impl_, tensor, data.size(), "data");
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
  if (Status status = detail::refusal(*impl_, "save_state"); !status.ok()) return status;
  Result<std::vector<std::byte>> saved = impl_->loop().ask<Result<std::vector<std::byte>>>(
      [tensor](WorkerNode& node, OptimizerStateTransfer::Saved done) {
        node.work().save_state(tensor, std::move(done));
      });
  if (!saved.ok()) return Status(saved.status()).with_operation("save_state");
  return saved;
}

Status Worker::load_state(const Tensor& tensor, std::span<const std::byte> state) {
  if (Status status = detail::refusal(*impl_, "load_state"); !status.ok()) return status;
  const Status loaded =
      impl_->loop().ask<Status>([tensor, state](WorkerNode& node, const WorkerNode::Done& done) {
        node.work().load_state(tensor, state, done);
      });
  return loaded.ok() ? loaded : Status(loaded).with_operation("load_state");
}

Status Worker::barrier() {
  if (Status status = detail::refusal(*impl_, "barrier"); !status.ok()) return status;
  return impl_->loop()
      .ask_until<Status>(
          Time::max(),
          [](WorkerNode& node, const WorkerNode::Done& done) { node.work().barrier(done); })
      .value_or(detail::interrupted("barrier"));
}

Result<Rank> Worker::sit_out() {
  if (Status status = detail::refusal(*impl_, "sit_out"); !status.ok()) return status;
  return impl_->loop()
      .ask_until<Result<Rank>>(
          Time::max(),
          [](WorkerNode& node, BarrierCalls::Done done) { node.work().sit_out(std::move(done)); })
      .value_or(detail::interrupted("sit_out"));
}

Result<StepBegin> ProgramSteps::next() {
  detail::WorkerImpl& impl = *worker_->impl_;
  if (impl.loop().is_forked()) return used_after_fork("Worker", "next step");
  StepCount& count = impl.steps();
  if (const std::optional<std::uint64_t> step = count.begin()) return StepBegin{.step = *step};
  if (Status status = detail::refusal(impl, "next step"); !status.ok()) return status;
  const std::uint64_t step = count.begun() + 1;
  return impl.loop()
      .ask_until<Result<StepBegin>>(Time::max(),
                                    [step](WorkerNode& node, StepGate::Begun begun) {
                                      node.work().steps().gate().begin(step, std::move(begun));
                                    })
      .value_or(detail::interrupted("next step"));
}

bool ProgramSteps::elastic() const { return worker_->impl_->standing().elastic(); }
NodeId ProgramSteps::lost_as() const { return worker_->impl_->standing().lost_as(); }

Ticket ProgramSteps::listen(const Tensor& tensor, std::span<std::byte> target, int priority) {
  if (!target.empty()) {
    if (Status status = check_size(*worker_->impl_, tensor, target.size(), "target");
        !status.ok()) {
      return detail::ended_ticket(std::move(status).with_operation("listen"));
    }
  }
  return begin(*worker_->impl_, Operation::Kind::kListen,
               {.tensor = tensor, .source = {}, .target = target, .priority = priority});
}

Status Worker::leave(Duration patience) {
  if (Status status = detail::refusal(*impl_, "leave"); !status.ok()) return status;
  if (const std::optional<Status> left = impl_->leave(patience)) return *left;
  const double waited = std::chrono::duration<double>(patience).count();
  return {Code::kTimeout, fmt::format("what is in flight has not ended in {} s", waited)};
}

}  // namespace stretto
