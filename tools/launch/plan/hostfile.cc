// SPDX-License-Identifier: Apache-2.0
// Parses host lists and host files into hosts and slots.
#include "tools/launch/plan/hostfile.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "common/network/host_port.h"
#include "common/network/socket_address.h"

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

struct HostLine {
  std::size_t line;
  std::string_view text;
};

// The non-empty lines, without comments and outer blanks.
std::vector<HostLine> entries_of(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // From editors on other systems.
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<HostLine> entries;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (!line.empty()) entries.push_back({number, line});
  }
  return entries;
}

Status at(std::string_view path, const HostLine& entry, const Status& status) {
  return {status.code(), fmt::format("{}:{}: {}", path, entry.line, status.cause())};
}

Status no_host(std::string_view path) {
  return {Code::kInvalidArgument, fmt::format("{}: the host file names no host", path)};
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

// Where the part after the host starts; an IPv6 address has colons and needs brackets.
std::optional<std::size_t> colon_after_host(std::string_view entry) {
  const std::size_t colon = entry.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const bool bracketed = colon > 0 && entry[colon - 1] == ']';
  if (!bracketed && entry.find(':') != colon) return std::nullopt;
  return colon;
}

// A name that begins with a hyphen would be an option to ssh, srun or mpirun.
Status check_name(std::string_view host, std::string_view entry) {
  constexpr std::string_view kNever = " \t,;'\"\\$`&|<>()*?!";
  if (host.empty()) return {Code::kInvalidArgument, "a host in the list has no name"};
  const bool plain = std::ranges::all_of(host, [](char one) { return one > ' ' && one <= '~'; });
  if (plain && host.front() != '-' && host.find_first_of(kNever) == std::string_view::npos) {
    return {};
  }
  return {Code::kInvalidArgument,
          fmt::format("'{}' is no name of a host, wanted 'host slots=N'", entry)};
}

// "[fd00::7]" and "me@[fd00::7]" without brackets, as ssh takes them.
std::string plain_host(std::string_view name) {
  const std::size_t host = name.find('@') + 1;  // 0 where no user is named.
  return std::string(name.substr(0, host)) + std::string(without_brackets(name.substr(host)));
}

// fd00::7:2 is an address, but also means fd00::7 with 2 slots in the form host:slots.
bool is_ambiguous(std::string_view entry) {
  const std::string_view host = entry.substr(entry.find('@') + 1);
  const std::size_t colon = host.rfind(':');
  return colon != std::string_view::npos && parse_slots(host.substr(colon + 1), entry).ok() &&
         SocketAddress::from_digits(std::string(host), 0) &&
         SocketAddress::from_digits(std::string(host.substr(0, colon)), 0);
}

Status check_brackets(std::string_view entry) {
  if (!is_ambiguous(entry)) return {};
  const std::string_view user = entry.substr(0, entry.find('@') + 1);
  const std::string_view host = entry.substr(user.size());
  const std::string_view before = host.substr(0, host.rfind(':'));
  const std::string_view slots = host.substr(before.size() + 1);
  return {Code::kInvalidArgument,
          fmt::format("host '{}' can be read in two ways; with brackets it is {}[{}], or {}[{}]:{} "
                      "for {} slots",
                      entry, user, host, user, before, slots, slots)};
}

// `has_slots`: the number of slots follows.
Result<HostSlots> parse_entry(std::string_view entry, bool has_slots) {
  if (Status status = check_brackets(entry); !has_slots && !status.ok()) return status;
  const std::optional<std::size_t> colon = colon_after_host(entry);
  const std::string_view name = entry.substr(0, colon.value_or(entry.size()));
  HostSlots host{plain_host(name), 1};
  if (Status status = check_name(host.host, entry); !status.ok()) return status;
  if (!colon) return host;
  Result<std::uint32_t> slots = parse_slots(entry.substr(*colon + 1), entry);
  if (!slots.ok()) return slots.status();
  host.slots = *slots;
  return host;
}

// Parses a line of a host file: a host, and an optional number of slots.
Result<HostSlots> parse_line(std::string_view entry) {
  constexpr std::string_view kSlots = "slots=";
  const std::size_t blank = entry.find_first_of(kBlanks);
  const bool has_slots =
      blank != std::string_view::npos && trimmed(entry.substr(blank)).starts_with(kSlots);
  Result<HostSlots> host = parse_entry(entry.substr(0, blank), has_slots);
  if (!host.ok() || blank == std::string_view::npos) return host;
  for (std::string_view rest = trimmed(entry.substr(blank)); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
    rest = trimmed(rest.substr(word.size()));
    if (word.starts_with("max_slots=") || word.starts_with("max-slots=")) continue;
    if (!word.starts_with(kSlots)) {
      return Status(Code::kInvalidArgument,
                    fmt::format("found '{}', wanted 'host slots=N'", entry));
    }
    Result<std::uint32_t> slots = parse_slots(word.substr(kSlots.size()), entry);
    if (!slots.ok()) return slots.status();
    host->slots = *slots;
  }
  return host;
}

}  // namespace

Result<std::vector<HostSlots>> parse_host_list(std::string_view text) {
  std::vector<HostSlots> hosts;
  for (const std::string_view piece : split(text, ',')) {
    Result<HostSlots> host = parse_entry(trimmed(piece), false);
    if (!host.ok()) return host.status();
    hosts.push_back(*host);
  }
  return hosts;
}

Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, std::string_view path) {
  std::vector<HostSlots> hosts;
  for (const HostLine& entry : entries_of(text)) {
    Result<HostSlots> host = parse_line(entry.text);
    if (!host.ok()) return at(path, entry, host.status());
    hosts.push_back(*host);
  }
  if (hosts.empty()) return no_host(path);
  return hosts;
}

Result<std::vector<HostSlots>> parse_process_hosts(std::string_view text, std::string_view path) {
  std::vector<HostSlots> hosts;
  for (const HostLine& entry : entries_of(text)) {
    const std::optional<std::size_t> colon = colon_after_host(entry.text);
    const std::string_view host = entry.text.substr(0, colon.value_or(entry.text.size()));
    if (Status status = check_name(host, entry.text); !status.ok()) return at(path, entry, status);
    hosts.push_back({plain_host(host), 1});
  }
  if (hosts.empty()) return no_host(path);
  return hosts;
}

std::vector<HostSlots> merged(const std::vector<HostSlots>& hosts) {
  std::vector<HostSlots> once;
  for (const HostSlots& host : hosts) {
    const auto same = std::find_if(once.begin(), once.end(),
                                   [&](const HostSlots& one) { return one.host == host.host; });
    if (same == once.end()) {
      once.push_back(host);
    } else {
      same->slots += host.slots;
    }
  }
  return once;
}

std::uint64_t slots_of(const std::vector<HostSlots>& hosts) {
  std::uint64_t slots = 0;
  for (const HostSlots& host : hosts) slots += host.slots;
  return slots;
}

}  // namespace stretto::launch
