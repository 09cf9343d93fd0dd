// "PORT", ":PORT" or "ADDRESS:PORT", as --listen takes it.
#pragma once

#include <cstdint>
#include <string>

#include "berth/base/result.h"

namespace berth::cli {

struct ListenAddress {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0; ///< 0: any that is free
};

/// `flag` is named in the error.
Result<ListenAddress> parse_listen_address(const std::string& text, std::string_view flag);

} // namespace berth::cli
