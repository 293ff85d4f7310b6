// SPDX-License-Identifier: Apache-2.0
// PyWorker and PyTicket: the worker API for Python. Memory comes as addresses, so that no array
// library is linked, together with the objects that own it, which are kept until it is free again.
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

/// An operation in flight. Thread: any that holds the GIL; waits let it go.
class PyTicket {
 public:
  explicit PyTicket(Ticket ticket) : ticket_(std::move(ticket)) {}

  /// Waits for the end; a signal's handler (that of Ctrl-C) may end the wait with its exception.
  void wait() const;
  /// True if it ended within so many seconds; raises what it ended with.
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

/// Memory of a caller: where it is, how long it is.
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

/// A membership in a job. Thread: any that holds the GIL; what waits lets it go. In a forked child
/// every call raises, and nothing is destroyed.
class PyWorker {
 public:
  static std::unique_ptr<PyWorker> join(const Options& options);
  explicit PyWorker(Worker worker)
      : elastic(worker.on_view(nullptr).min_size != 0),
        worker_(std::make_shared<Worker>(std::move(worker))) {}
  ~PyWorker();

  const bool elastic;  ///< Workers that are lost do not end the job.
  Rank rank() const;
  std::uint32_t size() const;
  /// The pause goes with what is returned, or by its end().
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
  /// What the program did, for traces; times as time.monotonic() tells them.
  void note_span(const std::string& kind, double begin_s, double end_s);
  void report(const std::string& name, double value) { here()->report(name, value); }
  void barrier();
  Rank sit_out();
  /// `patience` is in seconds; none: as long as it takes.
  void leave(std::optional<double> patience);
  /// Lets go of everything without a word: for a process that is about to end with an error, so
  /// that the others are told at once, and not after what is in flight has ended.
  void abandon();

  /// For objects that live no longer than this one.
  Worker& worker() { return *here(); }
  const Owner& process() const { return process_; }
  bool is_abandoned() const { return worker_ == nullptr; }
  /// Keeps the owner until the operation has ended.
  PyTicket keep(Ticket ticket, pybind11::object owner);

 private:
  /// Raises Cancelled once it was abandoned.
  const std::shared_ptr<Worker>& here() const;
  void let_go();

  struct Kept {
    Ticket ticket;
    pybind11::object owner;
  };

  Owner process_;
  std::shared_ptr<Worker> worker_;        // Shared with calls that a signal interrupted.
  std::shared_ptr<PythonStacks> stacks_;  // The worker's threads read them.
  std::list<Kept> kept_;                  // The owners of memory that operations in flight use.
};

/// A step of the program's begins: how many workers take part from it on that did not before, and
/// whether this is one of them.
std::pair<std::uint32_t, bool> next_step(PyWorker& worker);
/// ProgramSteps::lost_as().
NodeId lost_as(PyWorker& worker);
/// Takes part in a round without a share.
PyTicket listen(PyWorker& worker, const Tensor& tensor, Memory target, int priority,
                pybind11::object owner);

}  // namespace stretto::python
