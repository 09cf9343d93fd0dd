#include "berth/net/base64.h"

#include <algorithm>

#include <openssl/evp.h>

namespace berth::net {

std::string to_base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string packed;
  std::ranges::copy_if(text, std::back_inserter(packed), [](char c) {
    return std::string_view(" \t\r\n").find(c) == std::string_view::npos;
  });
  const auto padding = static_cast<std::size_t>(packed.ends_with("==")  ? 2
                                                : packed.ends_with('=') ? 1
                                                                        : 0);
  if (packed.find('=') < packed.size() - padding) {
    return std::nullopt;
  }
  std::string out(packed.size() / 4 * 3 + 1, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(packed.data()),
                                   static_cast<int>(packed.size()));
  if (size < 0 || packed.size() % 4 != 0) {
    return std::nullopt;
  }
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

} // namespace berth::net
