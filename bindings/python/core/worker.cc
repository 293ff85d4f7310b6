// SPDX-License-Identifier: Apache-2.0
// Waits in slices, so that Ctrl-C is noticed; a later call releases the owners.
#include "bindings/python/core/worker.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "bindings/python/core/interruptible_wait.h"
#include "common/clock.h"
#include "common/threads/interruptible.h"

namespace stretto::python {
namespace py = pybind11;

namespace {

constexpr double kLongestWait = 1e9;  // Seconds; more does not fit a Duration.

Duration from_seconds(double seconds) {
  const double bounded = std::isnan(seconds) ? 0.0 : std::clamp(seconds, 0.0, kLongestWait);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(bounded));
}

// Raises the exception of a signal handler.
void hear_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace

std::span<const std::byte> Memory::source() const {
  return {reinterpret_cast<const std::byte*>(address), bytes};  // NOLINT: an address is a number.
}

std::span<std::byte> Memory::target() const {
  return {reinterpret_cast<std::byte*>(address), bytes};  // NOLINT: an address is a number.
}

Dtype dtype_named(const std::string& name) {
  for (int number = 1; bytes_of(static_cast<Dtype>(number)) != 0; ++number) {
    if (name_of(static_cast<Dtype>(number)) == name) return static_cast<Dtype>(number);
  }
  throw py::value_error("no element type is called '" + name + "'");
}

void PyTicket::wait() const {
  process_.refuse_others();
  while (!wait_for(seconds(Interruptible::kBetween))) hear_signals();
}

bool PyTicket::wait_for(double seconds) const {
  process_.refuse_others();
  const Duration limit = from_seconds(seconds);
  const Status status =
      without_gil([&] { return ticket_.done() ? ticket_.wait() : ticket_.wait_for(limit); });
  if (status.code() == Code::kTimeout && !ticket_.done()) return false;
  raise_unless_ok(ticket_.wait());
  return true;
}

std::string PyTicket::waits_for() const {
  process_.refuse_others();
  return without_gil([this] { return ticket_.waits_for(); });
}

void PyTicket::set_deadline(double seconds_from_now) const {
  ticket_.set_deadline(std::chrono::steady_clock::now() + from_seconds(seconds_from_now));
}

std::unique_ptr<PyWorker> PyWorker::join(const Options& given) {
  Options options = given;
  const auto stacks = std::make_shared<PythonStacks>();
  options.stack_source = [stacks] { return stacks->text(); };
  try {
    auto worker =
        std::make_unique<PyWorker>(value_of(heard([&options] { return Worker::join(options); })));
    worker->stacks_ = stacks;
    return worker;
  } catch (...) {
    stacks->close();
    throw;
  }
}

PyWorker::~PyWorker() {
  if (process_.is_another()) {
    abandon();  // It belongs to the parent.
  } else {
    without_gil([&] { worker_.reset(); });
    if (stacks_ != nullptr) stacks_->close();
  }
}

Rank PyWorker::rank() const { return here()->rank(); }
std::uint32_t PyWorker::size() const { return here()->size(); }

Tensor PyWorker::declare(const std::string& name, Dtype dtype, std::size_t elements,
                         const TensorOptions& options) {
  process_.refuse_others();
  return value_of(
      heard([&, worker = here()] { return worker->declare(name, dtype, elements, options); }));
}

PyTicket PyWorker::push(const Tensor& tensor, Memory source, int priority, py::object owner) {
  process_.refuse_others();
  return keep(here()->push(tensor, source.source(), priority), std::move(owner));
}

PyTicket PyWorker::pull(const Tensor& tensor, Memory target, int priority, py::object owner) {
  process_.refuse_others();
  return keep(here()->pull(tensor, target.target(), priority), std::move(owner));
}

PyTicket PyWorker::push_pull(const std::vector<PyTransfer>& transfers, int priority,
                             py::object owner) {
  process_.refuse_others();
  std::vector<Transfer> spans;
  spans.reserve(transfers.size());
  for (const PyTransfer& transfer : transfers) {
    spans.push_back({.tensor = transfer.tensor,
                     .source = Memory{transfer.source, transfer.bytes}.source(),
                     .target = Memory{transfer.target, transfer.bytes}.target(),
                     .priority = priority});
  }
  const bool looks = std::ranges::any_of(
      spans, [](const Transfer& one) { return one.tensor.non_finite != NonFinite::kPass; });
  if (!looks) return keep(here()->push_pull(spans), std::move(owner));
  Ticket ticket = without_gil([&, worker = here()] { return worker->push_pull(spans); });
  return keep(std::move(ticket), std::move(owner));
}

PyTicket PyWorker::broadcast(const Tensor& tensor, Memory data, Rank root, int priority,
                             py::object owner) {
  process_.refuse_others();
  return keep(here()->broadcast(tensor, data.target(), root, priority), std::move(owner));
}

std::unique_ptr<Pause> PyWorker::pause(const std::string& what) const {
  return std::make_unique<Pause>(here()->pause(what));
}

void PyWorker::note_ending() const { here()->note_ending(); }

bool PyWorker::tracing() const { return here()->tracing(); }

void PyWorker::note_span(const std::string& kind, double begin_s, double end_s) {
  const std::array<std::string_view, 3> kinds = {"compute", "input", "stage"};  // Worker::Span's.
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  if (found == kinds.end()) {
    throw py::value_error("the kind of a span is '" + kind +
                          "', wanted 'compute', 'input' or 'stage'");
  }
  here()->note_span(static_cast<Worker::Span>(found - kinds.begin()), Time(from_seconds(begin_s)),
                    Time(from_seconds(end_s)));
}

void PyWorker::barrier() {
  process_.refuse_others();
  raise_unless_ok(heard([worker = here()] { return worker->barrier(); }));
}

Rank PyWorker::sit_out() {
  process_.refuse_others();
  return value_of(heard([worker = here()] { return worker->sit_out(); }));
}

void PyWorker::leave(std::optional<double> patience) {
  process_.refuse_others();
  const Duration limit = patience ? from_seconds(*patience) : Duration::max();
  const Status status = heard([worker = here(), limit] { return worker->leave(limit); });
  let_go();
  raise_unless_ok(status);
}

void PyWorker::abandon() {
  // Freed at process exit, like the memory in use.
  (void)new std::shared_ptr<Worker>(std::move(worker_));  // NOLINT: it is meant to leak.
  (void)new std::list<Kept>(std::move(kept_));            // NOLINT: it is meant to leak.
}

const std::shared_ptr<Worker>& PyWorker::here() const {
  if (worker_ == nullptr) {
    raise_unless_ok({Code::kCancelled, "this worker was abandoned: its process ends by an error"});
  }
  return worker_;
}

// Releases the owners of completed operations. The loop's thread cannot do that, since it would
// have to wait for the GIL; the caller that starts the next operation, or leaves, does.
void PyWorker::let_go() {
  std::list<Kept> ended;  // Released last: that may run Python code, which may re-enter here.
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    const auto next = std::next(kept);
    if (kept->ticket.done()) ended.splice(ended.end(), kept_, kept);
    kept = next;
  }
}

PyTicket PyWorker::keep(Ticket ticket, py::object owner) {
  let_go();
  if (!ticket.done()) kept_.push_back({ticket, std::move(owner)});
  return PyTicket(std::move(ticket));
}

std::pair<std::uint32_t, bool> next_step(PyWorker& worker) {
  worker.process().refuse_others();
  const StepBegin begins =
      value_of(heard([&inside = worker.worker()] { return ProgramSteps(inside).next(); }));
  return {begins.newcomers, begins.comes_in};
}

NodeId lost_as(PyWorker& worker) { return ProgramSteps(worker.worker()).lost_as(); }

PyTicket listen(PyWorker& worker, const Tensor& tensor, Memory target, int priority,
                py::object owner) {
  worker.process().refuse_others();
  return worker.keep(ProgramSteps(worker.worker()).listen(tensor, target.target(), priority),
                     std::move(owner));
}

}  // namespace stretto::python
