// SPDX-License-Identifier: Apache-2.0
// Manifests as text. The content is used only if its checksum matches, and is still validated: a
// person may have edited both.
#include "checkpoint/manifest.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "checkpoint/json_fields.h"
#include "checkpoint/spec_json.h"
#include "common/memory/crc32c.h"

namespace stretto::checkpoint {
namespace {

constexpr std::string_view kFirstWords = "stretto checkpoint ";
constexpr std::uint32_t kManifestVersion = 1;

std::uint32_t checksum_of(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

std::string first_line(std::string_view body) {
  return fmt::format("{}{} crc32c {:08x}\n", kFirstWords, kManifestVersion, checksum_of(body));
}

bool read_hex(const Json& json, const char* name, std::uint64_t& into) {
  std::string text;
  if (!read(json, name, text) || text.empty()) return false;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, into, 16);
  return error == std::errc() && stop == end;
}

bool read_origin(const Json& json, CheckpointId& origin) {
  return read_hex(json, "job", origin.job) && read(json, "number", origin.number) &&
         read(json, "step", origin.step);
}

bool read_file(const Json& json, CheckpointManifest::File& file) {
  std::uint64_t checksum = 0;
  if (!read(json, "name", file.name) || !read(json, "bytes", file.seal.bytes) ||
      !read_hex(json, "seal", checksum) || !read(json, "entries", file.entries)) {
    return false;
  }
  file.seal.checksum = static_cast<std::uint32_t>(checksum);
  return checksum == file.seal.checksum && is_file_name(file.name);
}

bool read_files(const Json& json, std::vector<CheckpointManifest::File>& files) {
  const Json* found = field(json, "files");
  if (found == nullptr || !found->is_array()) return false;
  std::set<std::string> names;
  for (const Json& each : *found) {
    if (!read_file(each, files.emplace_back())) return false;
    if (!names.insert(files.back().name).second) return false;
  }
  return true;
}

Status read_tensors(const Json& json, std::vector<TensorSpec>& tensors) {
  const Json* found = field(json, "tensors");
  if (found == nullptr || !found->is_array()) return {Code::kMalformed, "it lists no tensors"};
  std::set<std::string> names;
  for (const Json& each : *found) {
    Result<TensorSpec> spec = spec_of(each);
    if (!spec.ok()) return spec.status();
    if (!names.insert(spec->name).second) {
      return {Code::kMalformed, fmt::format("tensor '{}' is in it twice", spec->name)};
    }
    tensors.push_back(*std::move(spec));
  }
  return {};
}

Result<CheckpointManifest> manifest_of(const Json& json) {
  CheckpointManifest manifest;
  if (!json.is_object() || !read_origin(json, manifest.origin) ||
      !read(json, "made_at", manifest.made_at) || !read(json, "release", manifest.release) ||
      !read(json, "workers", manifest.workers) || !read(json, "part_bytes", manifest.part_bytes) ||
      manifest.part_bytes == 0 || !read_files(json, manifest.files)) {
    return Status(Code::kMalformed, "a field is missing, of another type, or cannot be so");
  }
  if (field(json, "from") != nullptr && !read(json, "from", manifest.from)) {
    return Status(Code::kMalformed, "'from' is no number");
  }
  if (Status status = read_tensors(json, manifest.tensors); !status.ok()) return status;
  return manifest;
}

// "1 crc32c 0a1b2c3d" after the first words.
bool read_first_line(std::string_view line, std::uint32_t& version, std::uint32_t& checksum) {
  const char* const end = line.data() + line.size();
  const auto [behind, error] = std::from_chars(line.data(), end, version);
  constexpr std::string_view kMiddle = " crc32c ";
  const std::string_view rest(behind, static_cast<std::size_t>(end - behind));
  if (error != std::errc() || !rest.starts_with(kMiddle)) return false;
  const auto [stop, wrong] = std::from_chars(behind + kMiddle.size(), end, checksum, 16);
  return wrong == std::errc() && stop == end;
}

}  // namespace

bool is_file_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  };
  return !name.empty() && name.size() <= 128 && name.front() != '.' &&
         std::ranges::all_of(name, plain);
}

std::string encode(const CheckpointManifest& manifest) {
  Json json{{"job", fmt::format("{:x}", manifest.origin.job)},
            {"number", manifest.origin.number},
            {"step", manifest.origin.step},
            {"made_at", manifest.made_at},
            {"release", manifest.release},
            {"workers", manifest.workers},
            {"part_bytes", manifest.part_bytes},
            {"files", Json::array()},
            {"tensors", Json::array()}};
  if (manifest.from != 0) json["from"] = manifest.from;
  for (const CheckpointManifest::File& file : manifest.files) {
    json["files"].push_back({{"name", file.name},
                             {"bytes", file.seal.bytes},
                             {"seal", fmt::format("{:08x}", file.seal.checksum)},
                             {"entries", file.entries}});
  }
  for (const TensorSpec& spec : manifest.tensors) json["tensors"].push_back(json_of(spec));
  const std::string body = json.dump(1) + "\n";
  return first_line(body) + body;
}

Result<CheckpointManifest> decode_manifest(std::string_view text, const std::string& path) {
  const auto refused = [&path](Code code, std::string_view why) {
    return Status(code, fmt::format("'{}' is no manifest that can be used: {}", path, why));
  };
  const std::size_t line_end = text.find('\n');
  if (!text.starts_with(kFirstWords) || line_end == std::string_view::npos) {
    return refused(Code::kMalformed, "it does not begin as one");
  }
  std::uint32_t version = 0;
  std::uint32_t checksum = 0;
  const std::string_view line = text.substr(kFirstWords.size(), line_end - kFirstWords.size());
  if (!read_first_line(line, version, checksum)) {
    return refused(Code::kMalformed, "its first line is damaged");
  }
  if (version != kManifestVersion) {
    return refused(Code::kUnsupported,
                   fmt::format("it has format {}, and this is Stretto of format {}; read it with "
                               "the release that wrote it, or a later one",
                               version, kManifestVersion));
  }
  const std::string_view body = text.substr(line_end + 1);
  if (checksum != checksum_of(body)) return refused(Code::kMalformed, "its checksum is wrong");
  Result<CheckpointManifest> manifest = manifest_of(Json::parse(body, nullptr, false));
  if (!manifest.ok()) return refused(manifest.status().code(), manifest.status().cause());
  return manifest;
}

}  // namespace stretto::checkpoint
