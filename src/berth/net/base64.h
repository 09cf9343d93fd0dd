// RFC 4648 base64, as Secrets and kubeconfig files write bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::net {

std::string to_base64(std::string_view bytes);
/// Line breaks and blanks are skipped; none if what is left is no base64.
std::optional<std::string> from_base64(std::string_view text);

} // namespace berth::net
