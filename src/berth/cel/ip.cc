#include "berth/cel/ip.h"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace berth::cel {
namespace {

bool is_multicast(const Ip& ip) {
  return ip.family == 4 ? (ip.bytes[0] & 0xf0) == 0xe0 : ip.bytes[0] == 0xff;
}

bool is_ipv4_in_ipv6(const Ip& ip) {
  return ip.family == 6 &&
         std::all_of(ip.bytes.begin(), ip.bytes.begin() + 10, [](auto b) { return b == 0; }) &&
         ip.bytes[10] == 0xff && ip.bytes[11] == 0xff;
}

} // namespace

std::optional<Ip> parse_ip(std::string_view text) {
  const std::string copy(text);
  Ip out;
  if (::inet_pton(AF_INET, copy.c_str(), out.bytes.data()) == 1) {
    return out;
  }
  out.family = 6;
  if (::inet_pton(AF_INET6, copy.c_str(), out.bytes.data()) == 1 && !is_ipv4_in_ipv6(out)) {
    return out;
  }
  return std::nullopt;
}

std::optional<Cidr> parse_cidr(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto ip = parse_ip(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  int prefix = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  const bool leading_zero = digits.size() > 1 && digits.front() == '0';
  if (!ip || error != std::errc() || end != digits.data() + digits.size() || prefix < 0 ||
      prefix > ip->bits() || leading_zero) {
    return std::nullopt;
  }
  return Cidr{.ip = *ip, .prefix = prefix};
}

std::string to_string(const Ip& ip) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(ip.family == 4 ? AF_INET : AF_INET6, ip.bytes.data(), text.data(), text.size());
  return text.data();
}

std::string to_string(const Cidr& cidr) {
  return fmt::format("{}/{}", to_string(cidr.ip), cidr.prefix);
}

Ip masked(const Ip& ip, int prefix) {
  Ip out = ip;
  for (int i = 0; i < 16; ++i) {
    const int kept = std::clamp(prefix - i * 8, 0, 8);
    out.bytes[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(0xff00 >> kept);
  }
  return out;
}

bool contains(const Cidr& range, const Ip& ip) {
  return range.ip.family == ip.family && masked(range.ip, range.prefix) == masked(ip, range.prefix);
}

bool contains(const Cidr& range, const Cidr& other) {
  return range.prefix <= other.prefix && contains(range, other.ip);
}

bool is_unspecified(const Ip& ip) {
  return std::ranges::all_of(ip.bytes, [](auto b) { return b == 0; });
}

bool is_loopback(const Ip& ip) {
  if (ip.family == 4) {
    return ip.bytes[0] == 127;
  }
  return std::all_of(ip.bytes.begin(), ip.bytes.end() - 1, [](auto b) { return b == 0; }) &&
         ip.bytes[15] == 1;
}

bool is_link_local_multicast(const Ip& ip) {
  return ip.family == 4 ? ip.bytes[0] == 224 && ip.bytes[1] == 0 && ip.bytes[2] == 0
                        : ip.bytes[0] == 0xff && (ip.bytes[1] & 0x0f) == 0x02;
}

bool is_link_local_unicast(const Ip& ip) {
  return ip.family == 4 ? ip.bytes[0] == 169 && ip.bytes[1] == 254
                        : ip.bytes[0] == 0xfe && (ip.bytes[1] & 0xc0) == 0x80;
}

bool is_global_unicast(const Ip& ip) {
  const bool broadcast = ip.family == 4 && std::all_of(ip.bytes.begin(), ip.bytes.begin() + 4,
                                                       [](auto b) { return b == 0xff; });
  return !broadcast && !is_unspecified(ip) && !is_loopback(ip) && !is_multicast(ip) &&
         !is_link_local_unicast(ip);
}

} // namespace berth::cel
