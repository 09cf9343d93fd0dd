// What both sides of SPDY/3 prime the compression of headers with. Source: SPDY protocol draft 3,
// 2.6.10.1.
#pragma once

#include <string>

namespace berth::net::spdy {

/// Its Adler-32 checksum, which every compressed stream names, is 0xE3C6A7C2.
const std::string& header_dictionary();

} // namespace berth::net::spdy
