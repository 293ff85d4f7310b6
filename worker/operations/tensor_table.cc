// SPDX-License-Identifier: Apache-2.0
// Declared tensors, and requests that name an undeclared one.
#include "worker/operations/tensor_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace stretto {

std::string TensorState::describe() const {
  return is_group ? spec.name : fmt::format("tensor '{}'", spec.name);
}

PartState::LaneName TensorState::lane_of(const Operation& operation) const {
  if (operation.kind == Operation::Kind::kProbe) return PartState::kProbes;
  const bool apart = spec.options.mode == Mode::kEagerAsync;
  return apart && !operation.pushes() ? PartState::kPulls : PartState::kShares;
}

PartState::LaneName TensorState::lane_of(const wire::ValueFrame& value) const {
  const bool apart = spec.options.mode == Mode::kEagerAsync;
  return apart && !value.answers_push ? PartState::kPulls : PartState::kShares;
}

void TensorState::fail(const Status& why) {
  failed = why;
  for (PartState& part : parts) part.clear();
}

void Tensors::add(std::uint32_t id, const TensorSpec& spec, const Cut& cut,
                  const std::vector<LinkId>& links, Rank rank) {
  auto [found, is_new] = tensors_.try_emplace(
      id, TensorState{.id = id, .spec = spec, .cut = cut, .parts = {}, .probed = {}, .failed = {}});
  if (!is_new) return;
  ids_[spec.name] = id;
  TensorState& tensor = found->second;
  tensor.parts.reserve(links.size());
  const bool coded = spec.options.codec && spec.options.codec->lossy();
  std::set<LinkId> probed;
  for (std::uint32_t part = 0; part < links.size(); ++part) {
    tensor.parts.emplace_back(links[part], has_rounds(spec.options.mode),
                              coded ? std::make_shared<PartCoder>(spec, part, rank) : nullptr);
    if (came_late_) tensor.parts.back().last.come_late();
    if (probed.insert(links[part]).second) tensor.probed.push_back(part);
  }
}

void Tensors::come_late() {
  came_late_ = true;
  for (auto& [id, tensor] : tensors_) {
    for (PartState& part : tensor.parts) part.last.come_late();
  }
}

TensorState* Tensors::find(std::uint32_t id) {
  const auto found = tensors_.find(id);
  return found == tensors_.end() ? nullptr : &found->second;
}

const TensorState* Tensors::find(std::uint32_t id) const {
  const auto found = tensors_.find(id);
  return found == tensors_.end() ? nullptr : &found->second;
}

const TensorState* Tensors::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? nullptr : find(found->second);
}

TensorState* Tensors::find(const wire::Key& key) {
  TensorState* tensor = find(key.tensor);
  return tensor != nullptr && key.part < tensor->parts.size() ? tensor : nullptr;
}

// Parts are cut, and the user's memory is accessed, as declared.
Status Tensors::check(const Tensor& tensor) const {
  const TensorState* known = find(tensor.id);
  if (known == nullptr) {
    return {Code::kInvalidArgument,
            fmt::format("tensor {} was not declared by this worker", tensor.id)};
  }
  const TensorSpec& declared = known->spec;
  if (tensor.elements == declared.elements && tensor.dtype == declared.dtype) return {};
  return {
      Code::kInvalidArgument,
      fmt::format("tensor '{}' is given as {}[{}], and was declared by this worker as {}[{}]; use "
                  "the Tensor that its declare() gave",
                  declared.name, name_of(tensor.dtype), tensor.elements, name_of(declared.dtype),
                  declared.elements)};
}

std::vector<LinkId> Tensors::links_of(std::uint32_t id) const {
  std::vector<LinkId> links;
  for (const PartState& part : tensors_.at(id).parts) links.push_back(part.link());
  return links;
}

std::set<LinkId> Tensors::awaited_by(const Operation& operation) const {
  std::set<LinkId> links;
  const TensorState* tensor = find(operation.tensor.id);
  if (tensor == nullptr) return links;
  const PartState::LaneName lane = tensor->lane_of(operation);
  for (const PartState& part : tensor->parts) {
    if (part.has(lane, operation)) links.insert(part.link());
  }
  return links;
}

std::uint64_t Tensors::rounds_begun(std::uint32_t id, std::uint32_t part) const {
  const TensorState* tensor = find(id);
  const bool known = tensor != nullptr && part < tensor->parts.size();
  return known ? tensor->parts[part].rounds_begun() : 0;
}

std::vector<std::uint32_t> Tensors::move(LinkId from, LinkId to) {
  std::vector<std::uint32_t> moved;
  for (auto& [id, tensor] : tensors_) {
    bool any = false;
    for (PartState& part : tensor.parts) {
      if (part.link() != from) continue;
      part.move_to(to);
      any = true;
    }
    if (any) moved.push_back(id);
  }
  std::ranges::sort(moved);
  return moved;
}

bool Tensors::settled() const {
  return std::ranges::all_of(tensors_, [](const auto& known) {
    const TensorState& tensor = known.second;
    return !tensor.failed.ok() || std::ranges::all_of(tensor.parts, &PartState::settled);
  });
}

void Tensors::fail_all(const Status& why) {
  for (auto& [id, tensor] : tensors_) {
    if (tensor.failed.ok()) tensor.fail(why);
  }
}

}  // namespace stretto
