#include "berth/cli/listen_address.h"

#include <charconv>

#include <fmt/format.h>

namespace berth::cli {

Result<ListenAddress> parse_listen_address(const std::string& text, std::string_view flag) {
  ListenAddress listen;
  const std::size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (colon != std::string::npos && colon > 0) {
    listen.address = text.substr(0, colon);
    if (listen.address.starts_with('[') && listen.address.ends_with(']')) {
      listen.address = listen.address.substr(1, listen.address.size() - 2);
    }
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), listen.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) {
    return fail(Code::BadRequest,
                fmt::format("{} {}: want ADDRESS:PORT, e.g. 127.0.0.1:10259", flag, text));
  }
  return listen;
}

} // namespace berth::cli
