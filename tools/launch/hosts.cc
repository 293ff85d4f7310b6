// SPDX-License-Identifier: Apache-2.0
// From the texts of host lists and host files to hosts and slots.
#include "tools/launch/hosts.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "common/config.h"

namespace stretto::launch {
namespace {

constexpr std::uint32_t kMaxSlots = 4096;
constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

// The lines that say something, without comments and outer blanks.
std::vector<std::string_view> entries_of(std::string_view text) {
  std::vector<std::string_view> entries;
  for (std::string_view line : split(text, '\n')) {
    line = trimmed(line.substr(0, line.find('#')));
    if (!line.empty()) entries.push_back(line);
  }
  return entries;
}

Result<std::uint32_t> parse_slots(std::string_view text, std::string_view entry) {
  std::uint32_t slots = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, slots);
  if (error != std::errc() || stop != end || slots < 1 || slots > kMaxSlots) {
    return Status(Code::kInvalidArgument,
                  fmt::format("host '{}' has '{}' slots, wanted a whole number from 1 to {}", entry,
                              text, kMaxSlots));
  }
  return slots;
}

// Where the part after host starts; an address of IPv6 has colons of its own and needs brackets.
std::optional<std::size_t> colon_after_host(std::string_view entry) {
  const std::size_t colon = entry.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const bool bracketed = colon > 0 && entry[colon - 1] == ']';
  if (!bracketed && entry.find(':') != colon) return std::nullopt;
  return colon;
}

Result<HostSlots> parse_entry(std::string_view entry) {
  if (entry.empty()) return Status(Code::kInvalidArgument, "a host in the list has no name");
  const std::optional<std::size_t> colon = colon_after_host(entry);
  if (!colon) return HostSlots{std::string(entry), 1};
  Result<std::uint32_t> slots = parse_slots(entry.substr(*colon + 1), entry);
  if (!slots.ok()) return slots.status();
  return HostSlots{std::string(entry.substr(0, *colon)), *slots};
}

}  // namespace

Result<std::vector<HostSlots>> parse_host_list(std::string_view text) {
  std::vector<HostSlots> hosts;
  for (const std::string_view piece : split(text, ',')) {
    Result<HostSlots> host = parse_entry(trimmed(piece));
    if (!host.ok()) return host.status();
    hosts.push_back(*host);
  }
  return hosts;
}

Result<std::vector<HostSlots>> parse_hostfile(std::string_view text) {
  std::vector<HostSlots> hosts;
  for (const std::string_view entry : entries_of(text)) {
    const std::size_t blank = entry.find_first_of(kBlanks);
    Result<HostSlots> host = parse_entry(entry.substr(0, blank));
    if (!host.ok()) return host.status();
    if (blank != std::string_view::npos) {
      constexpr std::string_view kSlots = "slots=";
      const std::string_view rest = trimmed(entry.substr(blank));
      if (!rest.starts_with(kSlots)) {
        return Status(Code::kInvalidArgument,
                      fmt::format("'{}' in the host file, wanted 'host slots=N'", entry));
      }
      Result<std::uint32_t> slots = parse_slots(rest.substr(kSlots.size()), entry);
      if (!slots.ok()) return slots.status();
      host->slots = *slots;
    }
    hosts.push_back(*host);
  }
  if (hosts.empty()) return Status(Code::kInvalidArgument, "the host file names no host");
  return hosts;
}

Result<std::vector<HostSlots>> parse_process_hosts(std::string_view text) {
  std::vector<HostSlots> hosts;
  for (const std::string_view entry : entries_of(text)) {
    const std::optional<std::size_t> colon = colon_after_host(entry);
    hosts.push_back({std::string(colon ? entry.substr(0, *colon) : entry), 1});
  }
  if (hosts.empty()) return Status(Code::kInvalidArgument, "the host file names no host");
  return hosts;
}

Status require_loopback(const std::vector<HostSlots>& hosts) {
  for (const HostSlots& host : hosts) {
    if (is_loopback(host.host)) continue;
    return {
        Code::kUnsupported,
        fmt::format("host '{}': only this host can be used, by the name localhost or 127.0.0.1; "
                    "starting processes elsewhere is not built yet",
                    host.host)};
  }
  return {};
}

std::uint64_t slots_of(const std::vector<HostSlots>& hosts) {
  std::uint64_t slots = 0;
  for (const HostSlots& host : hosts) slots += host.slots;
  return slots;
}

}  // namespace stretto::launch
