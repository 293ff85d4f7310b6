// SPDX-License-Identifier: Apache-2.0
// The caller's thread writes what its worker attaches: it waits anyway, and the memory is its own.
#include "stretto/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <optional>

#include "checkpoint/attached.h"
#include "common/interruptible.h"
#include "common/mutex.h"
#include "common/real_disk.h"
#include "worker/worker_impl.h"

namespace stretto {

using detail::not_here;

namespace {

Status no_folder() {
  return {Code::kInvalidArgument,
          "the scheduler knows a folder of checkpoints, and this worker none: give both the same "
          "STRETTO_CHECKPOINT"};
}

// What this worker writes of that checkpoint.
Result<checkpoint::WrittenFile> write_share(const Config& config, NodeId node,
                                            const control::CheckpointCut& cut,
                                            std::span<const Attachment> attachments) {
  const auto place = std::ranges::find(cut.workers, node);
  if (place == cut.workers.end()) {
    return Status(Code::kMalformed, "the scheduler does not count this worker among the others");
  }
  const checkpoint::StripeSeat seat{
      .position = static_cast<std::uint32_t>(place - cut.workers.begin()),
      .of = static_cast<std::uint32_t>(cut.workers.size()),
      .striped = cut.alike};
  if (attachments.empty()) return checkpoint::WrittenFile();
  if (config.checkpoint.folder.empty()) return no_folder();
  RealDisk disk;
  checkpoint::Folder folder(disk, config.checkpoint.folder);
  try {
    return write_attached(folder, {.job = cut.job, .number = cut.number, .step = cut.step},
                          attachments, seat, [] { return Interruptible::goes_on(); });
  } catch (const std::bad_alloc&) {  // The others are told, who wait.
    return Status(Code::kResource, "there is no memory left to write what this worker holds");
  }
}

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

/// What the job goes on from, opened when it is first asked for. Thread: any.
class Checkpoints::Files {
 public:
  /// Runs `use(reader)`.
  template <typename Use>
  auto with(const Config& config, std::uint64_t number, Use use)
      -> decltype(use(std::declval<checkpoint::AttachedReader&>())) {
    MutexLock lock(mutex_);
    if (!reader_) {
      if (config.checkpoint.folder.empty()) return no_folder();
      checkpoint::Folder folder(disk_, config.checkpoint.folder);
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

Status Checkpoints::save(std::uint64_t step, std::span<const Attachment> attachments) {
  detail::WorkerImpl& impl = *worker_->impl_;
  if (impl.loop().is_here()) return not_here("checkpoint");
  Status wrong = checkpoint::check_attachments(attachments);
  if (step == std::numeric_limits<std::uint64_t>::max()) {
    wrong = {Code::kInvalidArgument, "no step has this number"};
  }
  if (!wrong.ok()) return std::move(wrong).with_operation("checkpoint");
  const std::uint64_t alike = checkpoint::digest_of_alike(attachments);
  const auto waiting = std::make_shared<Waiting>();
  using Begun = Result<std::pair<CheckpointShare, NodeId>>;
  const std::optional<Begun> begun = impl.loop().ask_until<Begun>(
      Time::max(), [step, alike, waiting](WorkerNode& node, const auto& done) {
        const Status& refusal = node.work().refusal();
        if (!refusal.ok()) return done(Status(refusal).with_operation("checkpoint"));
        node.work().checkpoints().begin(
            step, alike, [waiting, &node, done](const Result<CheckpointShare>& share) {
              if (!share.ok()) return done(share.status());
              if (waiting->given_up) return give_up(node, *share);
              waiting->share = *share;
              done(std::pair(*share, node.membership().node()));
            });
      });
  if (!begun) {
    impl.loop().post([waiting](WorkerNode& node) {
      waiting->given_up = true;
      if (waiting->share) give_up(node, *waiting->share);
    });
    return detail::interrupted("checkpoint");
  }
  if (!begun->ok()) return begun->status();
  const auto& [share, node] = **begun;
  const Result<checkpoint::WrittenFile> file =
      share.cut ? write_share(impl.config(), node, *share.cut, attachments)
                : Result<checkpoint::WrittenFile>(checkpoint::WrittenFile());
  return impl.loop()
      .ask_until<Status>(Time::max(),
                         [share = share, file](WorkerNode& here, const WorkerNode::Done& done) {
                           here.work().checkpoints().end(share, file, done);
                         })
      .value_or(detail::interrupted("checkpoint"));
}

Result<bool> Checkpoints::due(std::uint64_t step) {
  detail::WorkerImpl& impl = *worker_->impl_;
  if (step >= std::uint64_t{1} << 63) {
    return Status(Code::kInvalidArgument, "no step has this number").with_operation("checkpoint");
  }
  if (impl.offers().pass(step)) return false;
  if (impl.loop().is_here()) return not_here("checkpoint");
  return impl.loop()
      .ask_until<Result<bool>>(Time::max(),
                               [step](WorkerNode& node, const CheckpointOffers::Due& due) {
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
