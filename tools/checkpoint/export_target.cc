// SPDX-License-Identifier: Apache-2.0
// Writes a draft, syncs and renames it; for a file and for a folder.
#include "tools/checkpoint/export_target.h"

#include <fmt/core.h>

#include <utility>

#include "tools/checkpoint/tensor_file.h"

namespace stretto::checkpoint {
namespace {

constexpr const char* kRegistryName = "registry.json";

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Status absent(Disk& disk, const std::string& path, std::string_view advice) {
  const Result<bool> is_there = disk.exists(path);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return {};
  return {Code::kInvalidArgument,
          fmt::format("'{}' is there already, and nothing is written over; {}", path, advice)};
}

constexpr std::string_view kTakeAnother = "take another name, or remove it";
constexpr std::string_view kLeftOver = "an export that was interrupted may have left it: remove it";

Status write_new(Disk& disk, const std::string& path, const std::string& text) {
  Result<std::unique_ptr<stretto::File>> file = disk.open(path, Open::kCreate);
  if (!file.ok()) return file.status();
  if (Status status = (*file)->write(0, as_bytes(text)); !status.ok()) return status;
  return (*file)->sync();
}

class SafetensorsTarget final : public ExportTarget {
 public:
  SafetensorsTarget(Disk& disk, std::string to, const CheckpointManifest& manifest,
                    const ExportPlan& plan)
      : disk_(disk), to_(std::move(to)), manifest_(manifest), plan_(plan) {}
  ~SafetensorsTarget() override {
    file_.reset();
    if (made_) static_cast<void>(disk_.remove(draft_));
    if (registered_) static_cast<void>(disk_.remove(registry_));
  }
  SafetensorsTarget(const SafetensorsTarget&) = delete;
  SafetensorsTarget& operator=(const SafetensorsTarget&) = delete;

  Status make() override {
    Status status = absent(disk_, to_, kTakeAnother);
    if (status.ok()) status = absent(disk_, registry_, kTakeAnother);
    if (status.ok()) status = absent(disk_, draft_, kLeftOver);
    if (!status.ok()) return status;
    const Result<std::string> head = this->head();
    if (!head.ok()) return head.status();
    data_ = head->size();
    Result<std::unique_ptr<stretto::File>> file = disk_.open(draft_, Open::kCreate);
    if (!file.ok()) return file.status();
    made_ = true;
    file_ = std::move(*file);
    return file_->write(0, as_bytes(*head));
  }

  Status write(std::size_t item, std::uint64_t offset, std::span<const std::byte> bytes) override {
    return file_->write(data_ + plan_.items[item].begin + offset, bytes);
  }

  // The registry first: so an exported file always has one.
  Status publish(const std::string& registry) override {
    Status status = file_->sync();
    if (status.ok()) status = absent(disk_, to_, kTakeAnother);
    if (status.ok()) {
      registered_ = true;
      status = write_new(disk_, registry_, registry);
    }
    if (status.ok()) status = disk_.rename(draft_, to_);
    if (!status.ok()) return status;
    made_ = registered_ = false;
    return disk_.sync_folder(folder_of(to_));
  }

 private:
  Result<std::string> head() const {
    std::vector<SafetensorsItem> items;
    for (const ExportPlan::Item& item : plan_.items) {
      items.push_back({.key = item.name,
                       .dtype = item.dtype,
                       .shape = item.shape,
                       .begin = item.begin,
                       .end = item.begin + item.bytes});
    }
    return safetensors_head(items, {{"number", std::to_string(manifest_.origin.number)},
                                    {"step", std::to_string(manifest_.origin.step)},
                                    {"release", manifest_.release}});
  }

  Disk& disk_;
  const std::string to_;
  const std::string draft_ = to_ + ".new";
  const std::string registry_ = fmt::format("{}.{}", to_, kRegistryName);
  const CheckpointManifest& manifest_;
  const ExportPlan& plan_;
  std::unique_ptr<stretto::File> file_;
  std::uint64_t data_ = 0;  // Its offset in the file.
  bool made_ = false;       // The draft.
  bool registered_ = false;
};

class NpyTarget final : public ExportTarget {
 public:
  NpyTarget(Disk& disk, std::string to, const ExportPlan& plan)
      : disk_(disk), to_(std::move(to)), plan_(plan) {}
  ~NpyTarget() override {
    file_.reset();
    if (made_) remove_draft();
  }
  NpyTarget(const NpyTarget&) = delete;
  NpyTarget& operator=(const NpyTarget&) = delete;

  Status make() override {
    Status status = empty_or_absent();
    if (status.ok()) status = absent(disk_, draft_, kLeftOver);
    if (status.ok()) status = disk_.make_folder(draft_);
    if (!status.ok()) return status;
    made_ = true;
    for (std::size_t item = 0; item < plan_.items.size(); ++item) {
      Result<std::unique_ptr<stretto::File>> file = disk_.open(path_of(item), Open::kCreate);
      if (!file.ok()) return file.status();
      status = (*file)->write(0, as_bytes(head_of_item(item)));
      if (!status.ok()) return status;
    }
    return {};
  }

  // Parts of a tensor mostly are consecutive: its file stays open until another tensor follows.
  Status write(std::size_t item, std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (file_ == nullptr || item_ != item) {
      Result<std::unique_ptr<stretto::File>> file = disk_.open(path_of(item), Open::kWrite);
      if (!file.ok()) return file.status();
      file_ = std::move(*file);
      item_ = item;
      data_ = head_of_item(item).size();
    }
    if (plan_.items[item].dtype != Dtype::kBf16) return file_->write(data_ + offset, bytes);
    const std::uint64_t odd = offset % 2;
    return file_->write(data_ + 2 * offset + odd, widened(bytes, odd != 0));
  }

  Status publish(const std::string& registry) override {
    file_.reset();
    Status status = write_new(disk_, fmt::format("{}/{}", draft_, kRegistryName), registry);
    for (std::size_t item = 0; status.ok() && item < plan_.items.size(); ++item) {
      Result<std::unique_ptr<stretto::File>> file = disk_.open(path_of(item), Open::kWrite);
      status = file.ok() ? (*file)->sync() : file.status();
    }
    if (status.ok()) status = disk_.sync_folder(draft_);
    if (status.ok()) status = empty_or_absent();
    if (status.ok()) status = disk_.remove(to_);
    if (status.ok()) status = disk_.rename(draft_, to_);
    if (!status.ok()) return status;
    made_ = false;
    return disk_.sync_folder(folder_of(to_));
  }

 private:
  std::string path_of(std::size_t item) const {
    return fmt::format("{}/{}", draft_, plan_.items[item].name);
  }

  std::string head_of_item(std::size_t item) const {
    return npy_head(plan_.items[item].dtype, plan_.items[item].shape);
  }

  Status empty_or_absent() {
    const Result<bool> is_there = disk_.exists(to_);
    if (!is_there.ok()) return is_there.status();
    if (!*is_there) return {};
    const Result<std::vector<std::string>> names = disk_.list(to_, 1);
    if (names.ok() && names->empty()) return {};
    return {
        Code::kInvalidArgument,
        fmt::format("'{}' is there already and no empty folder, and nothing is written over; {}",
                    to_, kTakeAnother)};
  }

  void remove_draft() {
    const std::size_t most = plan_.items.size() + 1;  // And the registry.
    const Result<std::vector<std::string>> names = disk_.list(draft_, most);
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      static_cast<void>(disk_.remove(fmt::format("{}/{}", draft_, name)));
    }
    static_cast<void>(disk_.remove(draft_));
  }

  Disk& disk_;
  const std::string to_;
  const std::string draft_ = to_ + ".new";
  const ExportPlan& plan_;
  std::unique_ptr<stretto::File> file_;  // Of item_.
  std::size_t item_ = 0;
  std::uint64_t data_ = 0;  // Its offset in the file.
  bool made_ = false;       // The draft.
};

}  // namespace

std::unique_ptr<ExportTarget> safetensors_target(Disk& disk, const std::string& to,
                                                 const CheckpointManifest& manifest,
                                                 const ExportPlan& plan) {
  return std::make_unique<SafetensorsTarget>(disk, to, manifest, plan);
}

std::unique_ptr<ExportTarget> npy_target(Disk& disk, const std::string& to,
                                         const CheckpointManifest&, const ExportPlan& plan) {
  return std::make_unique<NpyTarget>(disk, to, plan);
}

}  // namespace stretto::checkpoint
