// SPDX-License-Identifier: Apache-2.0
// A tensor is exported whole or not at all.
#include "tools/checkpoint/export_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "tools/checkpoint/tensor_file.h"

namespace stretto::checkpoint {
namespace {

Status in_part(const TensorSpec& spec, std::uint32_t part, std::string_view what) {
  return {Code::kMalformed,
          fmt::format("tensor '{}' is there in part: its part {} {}", spec.name, part, what)};
}

// Why a tensor is left out; nothing if it is not.
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

// Where each one's data begins, in an order in which all are aligned.
void lay_out(std::vector<ExportPlan::Item>& items, const CheckpointManifest& manifest) {
  std::ranges::sort(items, {}, [&manifest](const ExportPlan::Item& item) {
    const std::size_t element = bytes_of(manifest.tensors[item.tensor].dtype);
    return std::tuple(std::size_t{8} - element, item.tensor);
  });
  std::uint64_t next = 0;
  for (ExportPlan::Item& item : items) {
    item.begin = next;
    next += item.bytes;  // At most 2^20 tensors of 2^42 bytes.
  }
}

}  // namespace

Result<ExportPlan> plan_export(const CheckpointManifest& manifest, const Inventory& inventory,
                               const std::set<std::size_t>& encoded, ExportFormat format) {
  ExportPlan plan;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    const TensorSpec& spec = manifest.tensors[i];
    auto skip = reason_to_skip(spec, inventory.tensors()[i], encoded.contains(i));
    if (!skip.ok()) return skip.status();
    if (*skip) {
      plan.skipped.push_back({.tensor = i, .why = **skip});
      continue;
    }
    names.push_back(spec.name);
    plan.items.push_back({.tensor = i, .name = {}, .shape = shape_of(spec), .bytes = spec.bytes()});
  }
  if (plan.items.empty()) {
    const std::string why =
        plan.skipped.empty()
            ? "none is declared"
            : fmt::format("of '{}', for one, {}", manifest.tensors[plan.skipped[0].tensor].name,
                          plan.skipped[0].why);
    return Status(Code::kInvalidArgument,
                  fmt::format("checkpoint {} has no tensor that can be exported: {}",
                              manifest.origin.number, why));
  }
  const std::vector<std::string> written =
      format == ExportFormat::kNpy ? npy_names(names) : safetensors_keys(names);
  for (std::size_t i = 0; i < written.size(); ++i) plan.items[i].name = written[i];
  if (format == ExportFormat::kSafetensors) lay_out(plan.items, manifest);
  return plan;
}

}  // namespace stretto::checkpoint
