// SPDX-License-Identifier: Apache-2.0
// What an endpoint tells others of where it is: "host:port", then ";way=where" for each other way
// to reach it, such as "10.0.0.7:4567;shm=pQ3_wXs0aLk29dFe". Ways that a reader does not know are
// no concern of its; host:port always works.
#pragma once

#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// The longest that is taken. A job whose addresses do not fit one roster does not begin.
inline constexpr std::size_t kMaxAddressLength = 256;

/// The part that everybody understands.
std::string_view host_port_of(std::string_view address);
/// Where, by that way; empty if the address names no such way.
std::string_view way_in(std::string_view address, std::string_view way);
/// The same with one more way.
std::string with_way(std::string_view address, std::string_view way, std::string_view where);
/// The same at another host: port and ways stay.
Result<std::string> with_host(std::string_view address, std::string_view host);
/// Ok if it is of this form, and not too long.
Status check_address(std::string_view address);

}  // namespace stretto
