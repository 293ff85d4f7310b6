// SPDX-License-Identifier: Apache-2.0
// Describes a folder of checkpoints as text and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "checkpoint/json_fields.h"
#include "checkpoint/spec_json.h"
#include "tools/checkpoint/attachment_json.h"
#include "tools/checkpoint/commands.h"
#include "tools/checkpoint/inventory.h"
#include "tools/checkpoint/tensor_file.h"

namespace stretto::checkpoint {
namespace {

// A complete checkpoint.
struct Complete {
  const CheckpointManifest& manifest;
  const Inventory& inventory;
};

// "f32[300x8], 9600 bytes", as far as known.
std::string content_of(const Inventory::Attached& attached) {
  std::string type;
  if (attached.dtype) {
    type = fmt::format("{}[{}], ", name_of(*attached.dtype),
                       fmt::join(shape_of(attached.shape, attached.elements()), "x"));
  }
  if (attached.saved == attached.bytes()) return fmt::format("{}{} bytes", type, attached.bytes());
  return fmt::format("{}{} of {} bytes", type, attached.saved, attached.bytes());
}

void say_complete(const Complete& found, const Say& say) {
  const CheckpointManifest& manifest = found.manifest;
  std::uint64_t bytes = 0;
  for (const CheckpointManifest::File& file : manifest.files) bytes += file.seal.bytes;
  say(fmt::format(
      "checkpoint {} is complete: step {}, made {} by Stretto {}, {} workers, {} files, "
      "{} bytes, parts of {} bytes",
      manifest.origin.number, manifest.origin.step, manifest.made_at, manifest.release,
      manifest.workers, manifest.files.size(), bytes, manifest.part_bytes));
  for (const CheckpointManifest::File& file : manifest.files) {
    say(fmt::format("  file {}: {} bytes, {} entries", file.name, file.seal.bytes, file.entries));
  }
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    const Inventory::Tensor& tensor = found.inventory.tensors()[i];
    say(fmt::format("  tensor '{}': {}, {} of {} parts", manifest.tensors[i].name,
                    manifest.tensors[i].describe(), tensor.saved.size(), tensor.parts));
  }
  for (const Inventory::Attached& attached : found.inventory.attached()) {
    say(fmt::format("  attached {}: {}", attached.describe(), content_of(attached)));
  }
}

Json json_of_files(const CheckpointManifest& manifest) {
  Json json = Json::array();
  for (const CheckpointManifest::File& file : manifest.files) {
    json.push_back({{"name", file.name}, {"bytes", file.seal.bytes}, {"entries", file.entries}});
  }
  return json;
}

Json json_of_complete(const Complete& found) {
  const CheckpointManifest& manifest = found.manifest;
  Json json{{"number", manifest.origin.number}, {"complete", true},
            {"step", manifest.origin.step},     {"job", fmt::format("{:x}", manifest.origin.job)},
            {"made_at", manifest.made_at},      {"release", manifest.release},
            {"workers", manifest.workers},      {"part_bytes", manifest.part_bytes},
            {"files", json_of_files(manifest)}, {"tensors", Json::array()},
            {"attached", Json::array()}};
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    const Inventory::Tensor& tensor = found.inventory.tensors()[i];
    Json spec = json_of(manifest.tensors[i]);
    spec["described"] = manifest.tensors[i].describe();
    spec["parts"] = tensor.parts;
    spec["parts_saved"] = tensor.saved.size();
    json["tensors"].push_back(std::move(spec));
  }
  for (const Inventory::Attached& attached : found.inventory.attached()) {
    Json described = json_of(attached);
    described["bytes_saved"] = attached.saved;
    json["attached"].push_back(std::move(described));
  }
  return json;
}

// Describes one checkpoint: in lines, or as an element of `list`.
void inspect_one(Disk& disk, Folder& folder, std::uint64_t number, Json* list, const Say& say) {
  const Result<CheckpointManifest> manifest = folder.open(number);
  Status why = manifest.status();
  if (manifest.ok()) {
    const Result<Inventory> inventory = take_inventory(disk, folder, *manifest);
    why = inventory.status();
    if (inventory.ok()) {
      const Complete found{*manifest, *inventory};
      if (list == nullptr) return say_complete(found, say);
      list->push_back(json_of_complete(found));
      return;
    }
  }
  if (list == nullptr) {
    return say(fmt::format("checkpoint {} is not complete: {}", number, why.cause()));
  }
  list->push_back({{"number", number}, {"complete", false}, {"why", why.cause()}});
}

}  // namespace

Status inspect(Disk& disk, Folder& folder, bool json, const Say& say) {
  const Result<std::vector<std::uint64_t>> numbers = checkpoints_in(disk, folder);
  if (!numbers.ok()) return numbers.status();
  Json list = Json::array();
  for (const std::uint64_t number : *numbers) {
    inspect_one(disk, folder, number, json ? &list : nullptr, say);
  }
  if (!json) {
    say_if_newest_is_lost(folder, say);
    return {};
  }
  const Json all{{"folder", folder.path()}, {"checkpoints", std::move(list)}};
  say(all.dump(-1, ' ', true, Json::error_handler_t::replace));
  return {};
}

}  // namespace stretto::checkpoint
