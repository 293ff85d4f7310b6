// SPDX-License-Identifier: Apache-2.0
// Chooses a checkpoint and its tensors, then copies entry by entry.
#include "tools/checkpoint/export.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "checkpoint/json_fields.h"
#include "checkpoint/spec_json.h"
#include "core/cut.h"
#include "tools/checkpoint/attachment_json.h"
#include "tools/checkpoint/export_target.h"
#include "tools/checkpoint/part_check.h"

namespace stretto::checkpoint {
namespace {

Result<CheckpointManifest> chosen(Disk& disk, Folder& folder,
                                  const std::optional<std::uint64_t>& number, const Say& say) {
  const Result<std::vector<std::uint64_t>> numbers = checkpoints_in(disk, folder);
  if (!numbers.ok()) return numbers.status();
  if (number && !std::ranges::binary_search(*numbers, *number)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("'{}' has no checkpoint {}; `stretto-checkpoint inspect` says which "
                              "there are",
                              folder.path(), *number));
  }
  if (number) return folder.open(*number);
  Result<Folder::Found> found = folder.newest();
  if (!found.ok()) return found.status();
  for (const Folder::Refused& refused : found->refused) {
    say(fmt::format("checkpoint {} is passed over: {}", refused.number, refused.why.cause()));
  }
  if (found->newest) return *std::move(found->newest);
  return Status(Code::kMalformed,
                fmt::format("'{}' has no complete checkpoint: {}", folder.path(),
                            found->refused.empty() ? "" : found->refused.front().why.cause()));
}

Status at(const std::string& path, const Status& status) {
  return {status.code(), fmt::format("'{}': {}", path, status.cause())};
}

// Reads only a part's head: the callback ends the reading by an error.
Result<SavedPartHead> read_head(PartsReader& reader, std::size_t index, const TensorSpec& spec,
                                std::uint32_t part_bytes) {
  std::optional<Result<SavedPartHead>> head;
  const Status status = reader.read(index, [&](std::uint64_t, std::span<const std::byte> bytes) {
    head = head_of(bytes, reader.entries()[index], spec, part_bytes);
    return Status(Code::kInvalidArgument, "that was enough");
  });
  return head ? *head : status;
}

bool may_be_encoded(const TensorSpec& spec) {
  return spec.options.codec && spec.options.codec->lossy();
}

// Tensors with some encoded value, which only the parts' heads show.
Result<std::set<std::size_t>> encoded_tensors(Disk& disk, const Folder& folder,
                                              const CheckpointManifest& manifest,
                                              const Inventory& inventory) {
  std::set<std::size_t> encoded;
  if (std::ranges::none_of(manifest.tensors, may_be_encoded)) return encoded;
  for (const CheckpointManifest::File& file : manifest.files) {
    Result<PartsReader> reader = open_file(disk, folder, manifest, file);
    if (!reader.ok()) return reader.status();
    for (std::size_t i = 0; i < reader->entries().size(); ++i) {
      const SavedEntry& entry = reader->entries()[i];
      if (entry.key.kind != Kind::kPart) continue;
      const std::size_t tensor = inventory.number_of(entry.key.name);
      const TensorSpec& spec = manifest.tensors[tensor];
      if (!may_be_encoded(spec) || encoded.contains(tensor)) continue;
      const Result<SavedPartHead> head = read_head(*reader, i, spec, manifest.part_bytes);
      if (!head.ok()) {
        return at(folder.path_of(manifest.origin.number, file.name), head.status());
      }
      if (head->codec != 0) encoded.insert(tensor);
    }
  }
  return encoded;
}

// The piece of a saved part that belongs to its value, behind the head.
std::span<const std::byte> of_value(std::uint64_t offset, std::span<const std::byte> bytes,
                                    std::uint64_t value_bytes) {
  const std::uint64_t begin = sizeof(SavedPartHead);
  const std::uint64_t end = begin + value_bytes;
  const std::uint64_t first = std::max(offset, begin);
  const std::uint64_t last = std::min<std::uint64_t>(offset + bytes.size(), end);
  return first < last ? bytes.subspan(first - offset, last - first) : std::span<const std::byte>();
}

// Writes the value of entry `index`, a part of the tensor `spec`, to item `item`.
Status copy_part(PartsReader& reader, std::size_t index, const std::string& path,
                 const TensorSpec& spec, std::uint32_t part_bytes, std::size_t item,
                 ExportTarget& target) {
  const SavedEntry& entry = reader.entries()[index];
  const std::uint64_t place = Cut(spec, part_bytes).offset_of(entry.key.part);
  SavedPartHead head;
  return reader.read(index, [&](std::uint64_t offset, std::span<const std::byte> bytes) {
    if (offset == 0) {
      const Result<SavedPartHead> read = head_of(bytes, entry, spec, part_bytes);
      if (!read.ok()) return at(path, read.status());
      if (read->codec != 0) {
        return Status(Code::kMalformed, fmt::format("'{}' has been changed meanwhile", path));
      }
      head = *read;
    }
    const std::span<const std::byte> value = of_value(offset, bytes, head.value_bytes);
    const std::uint64_t in_value = std::max<std::uint64_t>(offset, sizeof head) - sizeof head;
    return value.empty() ? Status() : target.write(item, place + in_value, value);
  });
}

// Writes the bytes of entry `index`, a stripe of an attachment, to item `item`.
Status copy_stripe(PartsReader& reader, std::size_t index, const ExportPlan& plan, std::size_t item,
                   ExportTarget& target) {
  const std::uint64_t begin = plan.items[item].stripes.at(reader.entries()[index].key.part);
  return reader.read(index, [&](std::uint64_t offset, std::span<const std::byte> bytes) {
    return target.write(item, begin + offset, bytes);
  });
}

struct SavedTensors {
  Disk& disk;
  const Folder& folder;
  const CheckpointManifest& manifest;
  const Inventory& inventory;
};

// The item of an entry, by its kind and its index in the manifest or the inventory.
using ItemOf = std::map<std::pair<Kind, std::size_t>, std::size_t>;

Status copy_file(const SavedTensors& from, const CheckpointManifest::File& file,
                 const ExportPlan& plan, const ItemOf& items, ExportTarget& target) {
  const CheckpointManifest& manifest = from.manifest;
  const std::string path = from.folder.path_of(manifest.origin.number, file.name);
  Result<PartsReader> reader = open_file(from.disk, from.folder, manifest, file);
  if (!reader.ok()) return reader.status();
  for (std::size_t i = 0; i < reader->entries().size(); ++i) {
    const EntryKey& key = reader->entries()[i].key;
    const bool is_part = key.kind == Kind::kPart;
    const std::size_t number =
        is_part ? from.inventory.number_of(key.name) : from.inventory.number_of(key.name, key.rank);
    const auto item = items.find({key.kind, number});
    if (item == items.end()) continue;
    Status status = is_part ? copy_part(*reader, i, path, manifest.tensors[number],
                                        manifest.part_bytes, item->second, target)
                            : copy_stripe(*reader, i, plan, item->second, target);
    if (!status.ok()) return status;
  }
  return {};
}

Status copy_all(const SavedTensors& from, const ExportPlan& plan, ExportTarget& target) {
  ItemOf items;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    items.emplace(std::pair(plan.items[i].kind, plan.items[i].index), i);
  }
  for (const CheckpointManifest::File& file : from.manifest.files) {
    Status status = copy_file(from, file, plan, items, target);
    if (!status.ok()) return status;
  }
  return {};
}

// The declaration of a tensor, or the description of an attachment.
Json description_of(const SavedTensors& from, Kind kind, std::size_t index) {
  if (kind == Kind::kPart) return json_of(from.manifest.tensors[index]);
  const Inventory::Attached& attached = from.inventory.attached()[index];
  Json json = json_of(attached);
  json["attached"] = true;
  if (attached.dtype) json["elements"] = attached.elements();
  return json;
}

// All tensors and attachments, with the name of each in the export, or why it is skipped.
std::string registry_of(const SavedTensors& from, const ExportPlan& plan, ExportFormat format) {
  const CheckpointManifest& manifest = from.manifest;
  Json json{{"number", manifest.origin.number}, {"step", manifest.origin.step},
            {"made_at", manifest.made_at},      {"release", manifest.release},
            {"workers", manifest.workers},      {"part_bytes", manifest.part_bytes}};
  const char* const named = format == ExportFormat::kNpy ? "file" : "key";
  std::map<std::pair<Kind, std::size_t>, Json> described;
  for (const ExportPlan::Item& item : plan.items) {
    Json& one = described[{item.kind, item.index}] = description_of(from, item.kind, item.index);
    put_name(one, item.title);
    one[named] = item.name;
  }
  for (const auto& [kind, index, why] : plan.skipped) {
    Json& one = described[{kind, index}] = description_of(from, kind, index);
    one["skipped"] = why;
  }
  json["tensors"] = Json::array();
  for (auto& [key, one] : described) json["tensors"].push_back(std::move(one));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void say_what_went(const SavedTensors& from, const ExportPlan& plan, const std::string& to,
                   const Say& say) {
  const std::vector<TensorSpec>& tensors = from.manifest.tensors;
  const std::vector<Inventory::Attached>& attached = from.inventory.attached();
  for (const auto& [kind, index, why] : plan.skipped) {
    const std::string what = kind == Kind::kPart
                                 ? fmt::format("tensor '{}'", tensors[index].name)
                                 : fmt::format("attached {}", attached[index].describe());
    say(fmt::format("{} is left out: {}", what, why));
  }
  std::string count = fmt::format("{} of {} tensors", plan.items_of(Kind::kPart), tensors.size());
  if (!attached.empty()) {
    count +=
        fmt::format(" and {} of {} attachments", plan.items_of(Kind::kAttached), attached.size());
  }
  say(fmt::format("checkpoint {}: {} are in '{}'", from.manifest.origin.number, count, to));
}

}  // namespace

Status export_checkpoint(Disk& disk, Folder& folder, const ExportOptions& options, const Say& say) {
  const Result<CheckpointManifest> manifest = chosen(disk, folder, options.number, say);
  if (!manifest.ok()) return manifest.status();
  const Result<Inventory> inventory = take_inventory(disk, folder, *manifest);
  if (!inventory.ok()) return inventory.status();
  const auto encoded = encoded_tensors(disk, folder, *manifest, *inventory);
  if (!encoded.ok()) return encoded.status();
  const Result<ExportPlan> plan = plan_export(*manifest, *inventory, *encoded, options.format);
  if (!plan.ok()) return plan.status();
  const auto make_target = options.format == ExportFormat::kNpy ? npy_target : safetensors_target;
  const std::unique_ptr<ExportTarget> target = make_target(disk, options.to, *manifest, *plan);
  const SavedTensors from{disk, folder, *manifest, *inventory};
  Status status = target->make();
  if (status.ok()) status = copy_all(from, *plan, *target);
  if (status.ok()) status = target->publish(registry_of(from, *plan, options.format));
  if (!status.ok()) return status;
  say_what_went(from, *plan, options.to, say);
  return {};
}

}  // namespace stretto::checkpoint
