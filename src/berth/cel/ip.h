// IP addresses and prefixes in expressions. Source: k8s.io/apiserver/pkg/cel/library ip.go, cidr.go
// (Go's net/netip): no zones, no IPv4 in IPv6, no leading zeros.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::cel {

struct Ip {
  std::array<std::uint8_t, 16> bytes{}; ///< the first four of IPv4
  int family = 4;                       ///< 4 or 6

  int bits() const { return family == 4 ? 32 : 128; }
  auto operator<=>(const Ip&) const = default;
};

/// `bits` as written: of "10.1.2.3/8" the address is kept whole.
struct Cidr {
  Ip ip;
  int prefix = 0;

  auto operator<=>(const Cidr&) const = default;
};

std::optional<Ip> parse_ip(std::string_view text);
std::optional<Cidr> parse_cidr(std::string_view text);
std::string to_string(const Ip& ip);
std::string to_string(const Cidr& cidr);

/// The address with all bits behind the prefix zero.
Ip masked(const Ip& ip, int prefix);
bool contains(const Cidr& range, const Ip& ip);
bool contains(const Cidr& range, const Cidr& other);

bool is_unspecified(const Ip& ip);
bool is_loopback(const Ip& ip);
bool is_link_local_multicast(const Ip& ip);
bool is_link_local_unicast(const Ip& ip);
bool is_global_unicast(const Ip& ip);

} // namespace berth::cel
