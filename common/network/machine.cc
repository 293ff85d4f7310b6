// SPDX-License-Identifier: Apache-2.0
// From the boot's random number, and the name of the network namespace.
#include "common/network/machine.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <span>
#include <string>

#include "common/memory/crc32c.h"

namespace stretto {
namespace {

// "f81d4fae-7dec-11d0-a765-00a0c91e6bf6": of 128 bits, whose halves are folded.
std::uint64_t number_of(const std::string& uuid) {
  std::uint64_t number = 0;
  for (const char digit : uuid) {
    const std::string_view hex = "0123456789abcdef";
    const std::size_t value = hex.find(digit);
    if (value == std::string_view::npos) continue;
    number = ((number << 4) | (number >> 60)) ^ value;
  }
  return number;
}

std::uint64_t machine() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::array<char, 64> name{};
  const ssize_t length = ::readlink("/proc/self/ns/net", name.data(), name.size());
  const auto read = static_cast<std::size_t>(length < 0 ? 0 : length);
  const std::uint64_t space = crc32c(std::as_bytes(std::span(name).first(read)));
  const std::uint64_t made = number_of(boot) ^ (space << 16);
  return made == 0 ? 1 : made;
}

}  // namespace

std::uint64_t machine_named(std::string_view name) {
  const auto bytes = std::as_bytes(std::span(name));
  const std::uint64_t forwards = crc32c(bytes);
  std::string reversed(name.rbegin(), name.rend());
  const std::uint64_t made = (forwards << 32) | crc32c(std::as_bytes(std::span(reversed)));
  return made == 0 ? 1 : made;
}

std::uint64_t this_machine() {
  static const std::uint64_t kMachine = machine();
  return kMachine;
}

}  // namespace stretto
