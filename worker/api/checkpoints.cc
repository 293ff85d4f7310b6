// SPDX-License-Identifier: Apache-2.0
// The caller's thread writes its worker's attachments: it waits anyway, and owns the memory.
#include "stretto/checkpoints.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <new>
#include <optional>

#include "checkpoint/attachments.h"
#include "checkpoint/resume_source.h"
#include "common/files/real_disk.h"
#include "common/mutex.h"
#include "common/threads/interruptible.h"
#include "worker/api/worker_impl.h"

namespace stretto {

namespace {

Status no_folder() {
  return {Code::kInvalidArgument,
          "the scheduler knows a folder of checkpoints, and this worker none: give both the same "
          "STRETTO_CHECKPOINT and STRETTO_RESUME"};
}

// A call whose cut has been made, and its worker.
struct CutMade {
  CheckpointShare share;
  NodeId node = 0;
};

Result<checkpoint::StripeOwner> seat_of(const CutMade& made) {
  const std::vector<NodeId>& workers = made.share.cut->workers;
  const auto place = std::ranges::find(workers, made.node);
  if (place == workers.end()) {
    return Status(Code::kMalformed, "the scheduler does not count this worker among the others");
  }
  return checkpoint::StripeOwner{.position = static_cast<std::uint32_t>(place - workers.begin()),
                                 .of = static_cast<std::uint32_t>(workers.size()),
                                 .striped = made.share.cut->alike};
}

// This worker's contribution to a checkpoint, from the program's memory or from a copy of it.
class ShareToWrite {
 public:
  static Result<ShareToWrite> of(const Config& config, const CutMade& made,
                                 std::span<const Attachment> attachments) {
    const Result<checkpoint::StripeOwner> seat = seat_of(made);
    if (!seat.ok()) return seat.status();
    if (!attachments.empty() && config.checkpoint.folder.empty()) return no_folder();
    ShareToWrite share;
    share.folder_ = config.checkpoint.folder;
    share.cut_ = *made.share.cut;
    share.position_ = seat->position;
    share.pieces_ = pieces_to_write(attachments, *seat);
    return share;
  }

  // Afterwards the program may change its memory.
  void copy() {
    for (checkpoint::WrittenPiece& piece : pieces_) {
      copies_.emplace_back(piece.bytes.begin(), piece.bytes.end());
      piece.bytes = copies_.back();
    }
  }
  Result<checkpoint::WrittenFile> write() const {
    RealDisk disk;
    checkpoint::Folder folder(disk, folder_);
    return write_pieces(folder, {.job = cut_.job, .number = cut_.number, .step = cut_.step},
                        position_, pieces_, [] { return Interruptible::goes_on(); });
  }

 private:
  std::string folder_;
  control::CheckpointCut cut_;
  std::uint32_t position_ = 0;
  std::vector<checkpoint::WrittenPiece> pieces_;
  std::deque<std::vector<std::byte>> copies_;
};

// The other workers wait for this worker's answer, also when it runs out of memory.
template <typename Call>
auto unless_out_of_memory(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Status(Code::kResource, "there is no memory left for what this worker holds");
  }
}

// Sets a checkpoint's outcome for its tickets, at the latest when the worker ends.
class LastWord {
 public:
  LastWord() = default;
  LastWord(const LastWord&) = delete;
  LastWord& operator=(const LastWord&) = delete;
  ~LastWord() {
    if (!said_) say(Status(Code::kCancelled, "this worker ended before it was complete"));
  }
  void say(const Status& status) {
    said_ = true;
    promise_.set_value(status.ok() ? status : Status(status).with_operation("checkpoint"));
  }
  std::shared_future<Status> future() { return promise_.get_future().share(); }

 private:
  std::promise<Status> promise_;
  bool said_ = false;
};

// A call that waits for its cut, on the loop.
struct Waiting {
  bool given_up = false;
  std::optional<CheckpointShare> share;
};

void give_up(WorkerNode& node, const CheckpointShare& share) {
  node.work().checkpoints().end(share, Status(Code::kCancelled, "a worker's wait was interrupted"),
                                [](const Status&) {});
}

}  // namespace

/// The checkpoint that the job resumes from, opened on first use. Thread: any.
class Checkpoints::Files {
 public:
  /// Runs `use(reader)`.
  template <typename Use>
  auto with(const Config& config, std::uint64_t number, Use use)
      -> decltype(use(std::declval<checkpoint::AttachedReader&>())) {
    MutexLock lock(mutex_);
    if (!reader_) {
      const checkpoint::ResumeSource source = checkpoint::source_of(config.checkpoint);
      if (source.folder.empty()) return no_folder();
      checkpoint::Folder folder(disk_, source.folder);
      Result<checkpoint::AttachedReader> opened = checkpoint::AttachedReader::open(folder, number);
      if (!opened.ok()) return opened.status();
      reader_ = *std::move(opened);
    }
    return use(*reader_);
  }

 private:
  RealDisk disk_;
  Mutex mutex_;
  std::optional<checkpoint::AttachedReader> reader_ GUARDED_BY(mutex_);
};

Checkpoints::Checkpoints(Worker& worker) : worker_(&worker), files_(std::make_shared<Files>()) {}

namespace {

// A call that blocks the program until it returns.
class HoldUp {
 public:
  explicit HoldUp(detail::WorkerImpl& impl) : impl_(impl), called_(SteadyClock().now()) {}
  HoldUp(const HoldUp&) = delete;
  HoldUp& operator=(const HoldUp&) = delete;
  ~HoldUp() {
    impl_.loop().door()->post([called = called_](WorkerNode& node) {
      node.work().checkpoints().offers().returned(called);
    });
  }

 private:
  detail::WorkerImpl& impl_;
  const Time called_;
};

// Returns once all workers have arrived and the servers have cut.
Result<CutMade> make_cut(detail::WorkerImpl& impl, std::uint64_t step,
                         std::span<const Attachment> attachments) {
  Status wrong = checkpoint::check_attachments(attachments);
  if (step == std::numeric_limits<std::uint64_t>::max()) {
    wrong = {Code::kInvalidArgument, "no step has this number"};
  }
  if (!wrong.ok()) return std::move(wrong).with_operation("checkpoint");
  const std::uint64_t alike = checkpoint::digest_of_alike(attachments);
  const auto waiting = std::make_shared<Waiting>();
  const std::optional<Result<CutMade>> made = impl.loop().ask_until<Result<CutMade>>(
      Time::max(), [step, alike, waiting](WorkerNode& node, const auto& done) {
        const Status& refusal = node.work().refusal();
        if (!refusal.ok()) return done(Status(refusal).with_operation("checkpoint"));
        node.work().checkpoints().begin(
            step, alike, [waiting, &node, done](const Result<CheckpointShare>& share) {
              if (!share.ok()) return done(share.status());
              if (waiting->given_up) return give_up(node, *share);
              waiting->share = *share;
              done(CutMade{.share = *share, .node = node.membership().node()});
            });
      });
  if (made) return *made;
  impl.loop().post([waiting](WorkerNode& node) {
    waiting->given_up = true;
    if (waiting->share) give_up(node, *waiting->share);
  });
  return detail::interrupted("checkpoint");
}

}  // namespace

Status Checkpoints::save(std::uint64_t step, std::span<const Attachment> attachments) {
  detail::WorkerImpl& impl = *worker_->impl_;
  if (Status status = refusal(impl, "checkpoint"); !status.ok()) return status;
  const HoldUp hold_up(impl);
  const Result<CutMade> made = make_cut(impl, step, attachments);
  if (!made.ok()) return made.status();
  Result<checkpoint::WrittenFile> file = checkpoint::WrittenFile();
  if (made->share.cut) {
    file = unless_out_of_memory([&]() -> Result<checkpoint::WrittenFile> {
      const Result<ShareToWrite> share = ShareToWrite::of(impl.config(), *made, attachments);
      return share.ok() ? share->write() : share.status();
    });
  }
  return impl.loop()
      .ask_until<Status>(
          Time::max(),
          [share = made->share, file](WorkerNode& node, const WorkerNode::Done& done) {
            node.work().checkpoints().end(share, file, done);
          })
      .value_or(detail::interrupted("checkpoint"));
}

CheckpointTicket Checkpoints::begin(std::uint64_t step, std::span<const Attachment> attachments) {
  detail::WorkerImpl& impl = *worker_->impl_;
  const auto last_word = std::make_shared<LastWord>();
  CheckpointTicket ticket(last_word->future());
  if (const Status status = refusal(impl, "checkpoint"); !status.ok()) {
    last_word->say(status);
    return ticket;
  }
  const HoldUp hold_up(impl);
  const Result<CutMade> made = make_cut(impl, step, attachments);
  if (!made.ok()) {
    last_word->say(made.status());
    return ticket;
  }
  const auto end = [door = impl.loop().door(), share = made->share,
                    last_word](const Result<checkpoint::WrittenFile>& file) {
    door->run([share, file, last_word](WorkerNode& node) {
      node.work().checkpoints().end(share, file,
                                    [last_word](const Status& status) { last_word->say(status); });
    });
  };
  if (!made->share.cut) {
    end(checkpoint::WrittenFile());
    return ticket;
  }
  const auto share =
      std::make_shared<Result<ShareToWrite>>(unless_out_of_memory([&]() -> Result<ShareToWrite> {
        Result<ShareToWrite> mine = ShareToWrite::of(impl.config(), *made, attachments);
        if (mine.ok()) mine->copy();
        return mine;
      }));
  Status posted = share->status();
  if (posted.ok()) {
    posted = impl.post_to_disk(
        [share, end] { end(unless_out_of_memory([&] { return (*share)->write(); })); });
  }
  if (!posted.ok()) end(posted);
  return ticket;
}

Status CheckpointTicket::wait_for(Duration limit) const {
  if (!end_.valid()) return {};
  const SteadyClock clock;
  const Time deadline = after(clock.now(), limit);
  while (!done()) {
    const Duration left = deadline - clock.now();
    if (left <= Duration::zero()) {
      return Status(Code::kTimeout, "it is still being written").with_operation("checkpoint");
    }
    end_.wait_for(std::min(left, Interruptible::kBetween));
    if (!Interruptible::goes_on()) return detail::interrupted("checkpoint");
  }
  return end_.get();
}

bool CheckpointTicket::done() const {
  return !end_.valid() || end_.wait_for(Duration::zero()) == std::future_status::ready;
}

Result<bool> Checkpoints::due(std::uint64_t step) {
  detail::WorkerImpl& impl = *worker_->impl_;
  if (step >= std::uint64_t{1} << 63) {
    return Status(Code::kInvalidArgument, "no step has this number").with_operation("checkpoint");
  }
  if (impl.offers().pass(step)) return false;
  if (Status status = refusal(impl, "checkpoint"); !status.ok()) return status;
  return impl.loop()
      .ask_until<Result<bool>>(Time::max(),
                               [step](WorkerNode& node, const CheckpointPoints::Due& due) {
                                 node.work().checkpoints().offers().offer(step, due);
                               })
      .value_or(detail::interrupted("checkpoint"));
}

RestoredFrom Checkpoints::restored() const { return worker_->impl_->standing().restored(); }

Result<std::vector<Attached>> Checkpoints::attached() const {
  const RestoredFrom from = restored();
  if (!from) return std::vector<Attached>();
  return files_->with(worker_->impl_->config(), from.number,
                      [](checkpoint::AttachedReader& reader) -> Result<std::vector<Attached>> {
                        return reader.all();
                      });
}

Status Checkpoints::read(const Attached& which, std::span<std::byte> target) const {
  const RestoredFrom from = restored();
  if (!from) return {Code::kInvalidArgument, "the job goes on from no checkpoint"};
  return files_->with(
      worker_->impl_->config(), from.number, [&](checkpoint::AttachedReader& reader) -> Status {
        const auto index = reader.find(which.name, which.rank);
        if (index) return reader.read(*index, target);
        return {Code::kInvalidArgument, fmt::format("nothing was attached as '{}'", which.name)};
      });
}

Result<std::vector<std::byte>> Checkpoints::read(const std::string& name) const {
  const Result<std::vector<Attached>> all = attached();
  if (!all.ok()) return all.status();
  const Attached* found = nullptr;
  for (const Attached& each : *all) {
    if (each.name != name) continue;
    if (each.rank == worker_->rank() || (each.rank < 0 && found == nullptr)) found = &each;
  }
  if (found == nullptr) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("checkpoint {} has nothing that was attached as '{}' by the worker of this "
                    "rank or by all",
                    restored().number, name));
  }
  std::vector<std::byte> bytes(found->bytes);
  if (Status status = read(*found, bytes); !status.ok()) return status;
  return bytes;
}

}  // namespace stretto
