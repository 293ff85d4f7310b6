// SPDX-License-Identifier: Apache-2.0
// PyWorker and PyTicket: the worker API for Python. Memory is passed as addresses, so that no array
// library is linked, with the owning objects, which are kept until the operation has ended.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/core/errors.h"
#include "bindings/python/core/python_stacks.h"
#include "stretto/steps.h"
#include "stretto/worker.h"

namespace stretto::python {

/// An operation in flight. Thread: any that holds the GIL; waits release it.
class PyTicket {
 public:
  explicit PyTicket(Ticket ticket) : ticket_(std::move(ticket)) {}

  /// Waits for the end; a signal's handler (that of Ctrl-C) may end the wait with its exception.
  void wait() const;
  /// True if it ended within `seconds`; raises its error.
  bool wait_for(double seconds) const;
  bool done() const { return ticket_.done(); }
  /// Ticket::waits_for().
  std::string waits_for() const;
  ValueInfo info() const { return ticket_.info(); }
  void set_priority(int priority) const { ticket_.set_priority(priority); }
  void set_deadline(double seconds_from_now) const;
  void pause() const { ticket_.pause(); }
  void resume() const { ticket_.resume(); }
  void cancel() const { ticket_.cancel(); }
  const Ticket& ticket() const { return ticket_; }

 private:
  Ticket ticket_;
  Owner process_;
};

/// Memory of a caller: address and size.
struct Memory {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;

  std::span<const std::byte> source() const;
  std::span<std::byte> target() const;
};

/// The element type of that name; ValueError if there is none.
Dtype dtype_named(const std::string& name);

/// One tensor's part in a group.
struct PyTransfer {
  Tensor tensor;
  std::uintptr_t source = 0;
  std::uintptr_t target = 0;
  std::size_t bytes = 0;
};

/// A membership in a job. Thread: any that holds the GIL; waits release it. In a forked child every
/// call raises, and nothing is destroyed.
class PyWorker {
 public:
  static std::unique_ptr<PyWorker> join(const Options& options);
  explicit PyWorker(Worker worker)
      : elastic(worker.on_view(nullptr).min_size != 0),
        worker_(std::make_shared<Worker>(std::move(worker))) {}
  ~PyWorker();

  const bool elastic;  ///< The job survives the loss of workers.
  Rank rank() const;
  std::uint32_t size() const;
  /// The pause ends with the returned object, or by its end().
  std::unique_ptr<Pause> pause(const std::string& what) const;
  void note_ending() const;
  Tensor declare(const std::string& name, Dtype dtype, std::size_t elements,
                 const TensorOptions& options);
  PyTicket push(const Tensor& tensor, Memory source, int priority, pybind11::object owner);
  PyTicket pull(const Tensor& tensor, Memory target, int priority, pybind11::object owner);
  PyTicket push_pull(const std::vector<PyTransfer>& transfers, int priority,
                     pybind11::object owner);
  PyTicket broadcast(const Tensor& tensor, Memory data, Rank root, int priority,
                     pybind11::object owner);
  bool tracing() const;
  /// Activity of the program, for traces; times are those of time.monotonic().
  void note_span(const std::string& kind, double begin_s, double end_s);
  void report(const std::string& name, double value) { here()->report(name, value); }
  void barrier();
  Rank sit_out();
  /// `patience` is in seconds; none: no limit.
  void leave(std::optional<double> patience);
  /// Releases everything without a Leave: for a process that is about to end with an error, so that
  /// its peers are told immediately, and not after the operations in flight.
  void abandon();

  /// For objects with a shorter lifetime than this one.
  Worker& worker() { return *here(); }
  const Owner& process() const { return process_; }
  bool is_abandoned() const { return worker_ == nullptr; }
  /// Keeps the owner until the operation has ended.
  PyTicket keep(Ticket ticket, pybind11::object owner);

 private:
  /// Raises Cancelled after abandon().
  const std::shared_ptr<Worker>& here() const;
  void let_go();

  struct Kept {
    Ticket ticket;
    pybind11::object owner;
  };

  Owner process_;
  std::shared_ptr<Worker> worker_;        // Shared with calls interrupted by a signal.
  std::shared_ptr<PythonStacks> stacks_;  // The worker's threads read them.
  std::list<Kept> kept_;                  // The owners of memory that operations in flight use.
};

/// A step of the program starts: the number of workers that take part from now on and did not
/// before, and whether this is one of them.
std::pair<std::uint32_t, bool> next_step(PyWorker& worker);
/// ProgramSteps::lost_as().
NodeId lost_as(PyWorker& worker);
/// Takes part in a round without a contribution.
PyTicket listen(PyWorker& worker, const Tensor& tensor, Memory target, int priority,
                pybind11::object owner);

}  // namespace stretto::python
