// SPDX-License-Identifier: Apache-2.0
// The address that an endpoint advertises: "host:port", then ";way=where" for each other transport,
// such as "10.0.0.7:4567;shm=pQ3_wXs0aLk29dFe". Readers ignore transports that they do not know;
// host:port always works.
#pragma once

#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// Longest accepted address. A job does not begin if its addresses do not fit one roster.
inline constexpr std::size_t kMaxAddressLength = 256;

/// The host:port part, which every member understands.
std::string_view host_port_of(std::string_view address);
/// The location for transport `way`; empty if the address does not name it.
std::string_view way_in(std::string_view address, std::string_view way);
/// `address` with one more transport.
std::string with_way(std::string_view address, std::string_view way, std::string_view where);
/// `address` at another host; port and transports stay.
Result<std::string> with_host(std::string_view address, std::string_view host);
/// Ok if `address` has this form and is not too long.
Status check_address(std::string_view address);

}  // namespace stretto
