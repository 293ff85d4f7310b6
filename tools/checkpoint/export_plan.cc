// SPDX-License-Identifier: Apache-2.0
// A tensor is exported whole or not at all.
#include "tools/checkpoint/export_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "tools/checkpoint/attachment_check.h"
#include "tools/checkpoint/tensor_file.h"

namespace stretto::checkpoint {
namespace {

constexpr const char* kAttachedPrefix = "attached/";

Status in_part(const TensorSpec& spec, std::uint32_t part, std::string_view what) {
  return {Code::kMalformed,
          fmt::format("tensor '{}' is there in part: its part {} {}", spec.name, part, what)};
}

// Why a tensor is skipped; nullopt if it is exported.
Result<std::optional<std::string>> reason_to_skip(const TensorSpec& spec,
                                                  const Inventory::Tensor& tensor,
                                                  bool is_encoded) {
  using Reason = std::optional<std::string>;
  if (tensor.parts == 0) return Reason();
  if (tensor.saved.empty()) return Reason("no part is saved");
  if (const auto missing = first_missing(tensor)) {
    return in_part(
        spec, *missing,
        fmt::format("is not saved, and {} of {} are", tensor.saved.size(), tensor.parts));
  }
  const auto has_value = [](const auto& part) { return part.second; };
  if (std::ranges::none_of(tensor.saved, has_value)) return Reason("there is no value yet");
  const auto without = std::ranges::find_if_not(tensor.saved, has_value);
  if (without != tensor.saved.end()) {
    return in_part(spec, without->first, "has no value yet, and others have");
  }
  return is_encoded ? Reason("values are encoded by a codec") : Reason();
}

Status add_tensors(const CheckpointManifest& manifest, const Inventory& inventory,
                   const std::set<std::size_t>& encoded, ExportPlan& plan) {
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    const TensorSpec& spec = manifest.tensors[i];
    auto skip = reason_to_skip(spec, inventory.tensors()[i], encoded.contains(i));
    if (!skip.ok()) return skip.status();
    if (*skip) {
      plan.skipped.push_back({.kind = Kind::kPart, .index = i, .why = **skip});
      continue;
    }
    plan.items.push_back({.kind = Kind::kPart,
                          .index = i,
                          .title = spec.name,
                          .name = {},
                          .dtype = spec.dtype,
                          .shape = shape_of(spec),
                          .bytes = spec.bytes()});
  }
  return {};
}

std::optional<std::string> reason_to_skip(const Inventory::Attached& attached) {
  if (attached.rank != kOfAll) return "each worker has its own";
  if (!attached.dtype) return "there are bytes, and no element type";
  return std::nullopt;
}

std::vector<std::uint64_t> begins_of(const std::map<std::uint32_t, std::uint64_t>& stripes) {
  std::vector<std::uint64_t> begins;
  std::uint64_t next = 0;
  for (const auto& [number, bytes] : stripes) {
    begins.push_back(next);
    next += bytes;
  }
  return begins;
}

// Titles are the attachments' own names at first.
Status add_attached(const Inventory& inventory, ExportPlan& plan) {
  for (std::size_t i = 0; i < inventory.attached().size(); ++i) {
    const Inventory::Attached& attached = inventory.attached()[i];
    if (std::optional<std::string> why = reason_to_skip(attached)) {
      plan.skipped.push_back({.kind = Kind::kAttached, .index = i, .why = *std::move(why)});
      continue;
    }
    if (Status status = check_whole(attached); !status.ok()) return status;
    plan.items.push_back({.kind = Kind::kAttached,
                          .index = i,
                          .title = attached.name,
                          .name = {},
                          .dtype = *attached.dtype,
                          .shape = shape_of(attached.shape, attached.elements()),
                          .bytes = attached.bytes(),
                          .stripes = begins_of(attached.stripes)});
  }
  return {};
}

// Makes titles unique: tensors keep theirs, and names of skipped tensors stay reserved.
void tell_apart(const CheckpointManifest& manifest, std::vector<ExportPlan::Item>& items) {
  std::set<std::string> of_servers;
  for (const TensorSpec& spec : manifest.tensors) of_servers.insert(spec.name);
  std::set<std::string> taken = of_servers;
  for (const ExportPlan::Item& item : items) taken.insert(item.title);
  for (ExportPlan::Item& item : items) {
    if (item.kind == Kind::kPart || !of_servers.contains(item.title)) continue;
    while (!taken.insert(item.title).second) item.title.insert(0, kAttachedPrefix);
  }
}

Status nothing_to_export(const CheckpointManifest& manifest, const Inventory& inventory,
                         const ExportPlan& plan) {
  std::string why = "none is declared, and nothing is attached";
  if (!plan.skipped.empty()) {
    const auto& [kind, index, reason] = plan.skipped.front();
    why = fmt::format(
        "of '{}', for one, {}",
        kind == Kind::kPart ? manifest.tensors[index].name : inventory.attached()[index].name,
        reason);
  }
  return {Code::kInvalidArgument,
          fmt::format("checkpoint {} has no tensor that can be exported: {}",
                      manifest.origin.number, why)};
}

// Assigns offsets in an order in which all items are aligned. The total is bounded by the size of
// the files: an index has 4 bytes for each 4 MiB.
void lay_out(std::vector<ExportPlan::Item>& items) {
  std::ranges::sort(items, {}, [](const ExportPlan::Item& item) {
    return std::tuple(std::size_t{8} - bytes_of(item.dtype), item.kind, item.index);
  });
  std::uint64_t next = 0;
  for (ExportPlan::Item& item : items) {
    item.begin = next;
    next += item.bytes;
  }
}

}  // namespace

std::size_t ExportPlan::items_of(Kind kind) const {
  return static_cast<std::size_t>(std::ranges::count(items, kind, &Item::kind));
}

Result<ExportPlan> plan_export(const CheckpointManifest& manifest, const Inventory& inventory,
                               const std::set<std::size_t>& encoded, ExportFormat format) {
  ExportPlan plan;
  Status status = add_tensors(manifest, inventory, encoded, plan);
  if (status.ok()) status = add_attached(inventory, plan);
  if (!status.ok()) return status;
  if (plan.items.empty()) return nothing_to_export(manifest, inventory, plan);
  tell_apart(manifest, plan.items);
  std::vector<std::string_view> titles;
  for (const ExportPlan::Item& item : plan.items) titles.push_back(item.title);
  const std::vector<std::string> written =
      format == ExportFormat::kNpy ? npy_names(titles) : safetensors_keys(titles);
  for (std::size_t i = 0; i < written.size(); ++i) plan.items[i].name = written[i];
  if (format == ExportFormat::kSafetensors) lay_out(plan.items);
  return plan;
}

}  // namespace stretto::checkpoint
