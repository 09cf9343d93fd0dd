// What Kubernetes adds: quantities, URLs, IP addresses and ranges, semantic versions. Source:
// k8s.io/apiserver/pkg/cel/library (quantity.go, urls.go, ip.go, cidr.go, semverlib.go).
#include <algorithm>

#include <fmt/format.h>

#include "berth/cel/library.h"

namespace berth::cel {
namespace {

using Args = std::span<const Value>;
using api::Quantity;

const std::string& text(const Value& value) {
  return *value.get<std::string>();
}
template <class T> const T& as(const Value& value) {
  return *value.opaque<T>();
}
Value number(std::strong_ordering order) {
  return {std::int64_t{order < 0 ? -1 : order > 0 ? 1 : 0}};
}

// ---- quantities
// ---------------------------------------------------------------------------------

Outcome quantity_of(Args args) {
  const auto read = Quantity::parse(text(args[0]));
  return read ? Outcome(opaque_value(*read)) : failure(read.error().message);
}

Quantity second(const Value& value) {
  const auto* whole = value.get<std::int64_t>();
  return whole != nullptr ? Quantity::from_int(*whole) : as<Quantity>(value);
}

bool is_integer(const Quantity& quantity) {
  const std::int64_t whole = quantity.value();
  return whole != INT64_MAX && whole != INT64_MIN && Quantity::from_int(whole) == quantity;
}

Outcome as_integer(Args args) {
  const auto& quantity = as<Quantity>(args[0]);
  return is_integer(quantity) ? Outcome(Value(quantity.value()))
                              : failure("cannot convert value to integer");
}

/// Thousandths where they fit, so that "1.5" is 1.5.
Outcome as_float(Args args) {
  const auto& quantity = as<Quantity>(args[0]);
  const std::int64_t milli = quantity.milli_value();
  return Value(milli == INT64_MAX || milli == INT64_MIN ? static_cast<double>(quantity.value())
                                                        : static_cast<double>(milli) / 1000);
}

// ---- networks
// -----------------------------------------------------------------------------------

template <auto parse> Outcome parsed(Args args, std::string_view what) {
  const auto read = parse(text(args[0]));
  return read ? Outcome(opaque_value(*read))
              : failure(fmt::format("{} \"{}\" parse error during conversion from string", what,
                                    text(args[0])));
}

template <bool (*holds)(const Ip&)> Outcome ip_is(Args args) {
  return Value(holds(as<Ip>(args[0])));
}

Outcome is_canonical(Args args) {
  const auto ip = parse_ip(text(args[0]));
  if (!ip) {
    return failure(
        fmt::format("IP Address \"{}\" parse error during conversion from string", text(args[0])));
  }
  return Value(to_string(*ip) == text(args[0]));
}

Outcome contains_ip(Args args) {
  const auto* given = args[1].get<std::string>();
  const auto ip = given != nullptr ? parse_ip(*given) : std::optional(as<Ip>(args[1]));
  return ip ? Outcome(Value(contains(as<Cidr>(args[0]), *ip)))
            : failure(fmt::format("IP Address \"{}\" parse error during conversion from string",
                                  text(args[1])));
}

Outcome contains_cidr(Args args) {
  const auto* given = args[1].get<std::string>();
  const auto range = given != nullptr ? parse_cidr(*given) : std::optional(as<Cidr>(args[1]));
  return range ? Outcome(Value(contains(as<Cidr>(args[0]), *range)))
               : failure(fmt::format("network address parse error during conversion from string: "
                                     "\"{}\"",
                                     text(args[1])));
}

std::vector<Declaration> ip_functions() {
  return {
      {"ip(string) -> net.IP", [](Args a) { return parsed<parse_ip>(a, "IP Address"); }},
      {"isIP(string) -> bool",
       [](Args a) -> Outcome { return Value(parse_ip(text(a[0])).has_value()); }},
      {"ip.isCanonical(string) -> bool", is_canonical},
      {"net.IP::family() -> int",
       [](Args a) -> Outcome { return Value(std::int64_t{as<Ip>(a[0]).family}); }},
      {"net.IP::isUnspecified() -> bool", ip_is<is_unspecified>},
      {"net.IP::isLoopback() -> bool", ip_is<is_loopback>},
      {"net.IP::isLinkLocalMulticast() -> bool", ip_is<is_link_local_multicast>},
      {"net.IP::isLinkLocalUnicast() -> bool", ip_is<is_link_local_unicast>},
      {"net.IP::isGlobalUnicast() -> bool", ip_is<is_global_unicast>},
      {"string(net.IP) -> string",
       [](Args a) -> Outcome { return Value(to_string(as<Ip>(a[0]))); }},
  };
}

std::vector<Declaration> cidr_functions() {
  return {
      {"cidr(string) -> net.CIDR", [](Args a) { return parsed<parse_cidr>(a, "CIDR"); }},
      {"isCIDR(string) -> bool",
       [](Args a) -> Outcome { return Value(parse_cidr(text(a[0])).has_value()); }},
      {"net.CIDR::containsIP(net.IP) -> bool", contains_ip},
      {"net.CIDR::containsIP(string) -> bool", contains_ip},
      {"net.CIDR::containsCIDR(net.CIDR) -> bool", contains_cidr},
      {"net.CIDR::containsCIDR(string) -> bool", contains_cidr},
      {"net.CIDR::ip() -> net.IP",
       [](Args a) -> Outcome { return opaque_value(as<Cidr>(a[0]).ip); }},
      {"net.CIDR::masked() -> net.CIDR",
       [](Args a) -> Outcome {
         const auto& range = as<Cidr>(a[0]);
         return opaque_value(Cidr{.ip = masked(range.ip, range.prefix), .prefix = range.prefix});
       }},
      {"net.CIDR::prefixLength() -> int",
       [](Args a) -> Outcome { return Value(std::int64_t{as<Cidr>(a[0]).prefix}); }},
      {"string(net.CIDR) -> string",
       [](Args a) -> Outcome { return Value(to_string(as<Cidr>(a[0]))); }},
  };
}

Outcome query_of(Args args) {
  std::vector<std::pair<Value, Value>> out;
  for (const auto& [key, value] : as<Url>(args[0]).query) {
    const auto held = std::ranges::find_if(
        out, [&wanted = key](const auto& one) { return text(one.first) == wanted; });
    if (held == out.end()) {
      out.emplace_back(Value(key), list_value({Value(value)}));
    } else {
      std::vector<Value> all;
      for (std::size_t i = 0; i < held->second.list()->size(); ++i) {
        all.push_back(held->second.list()->at(i));
      }
      all.emplace_back(value);
      held->second = list_value(std::move(all));
    }
  }
  return map_value(std::move(out));
}

template <std::string Url::*part> Outcome url_part(Args args) {
  return Value(as<Url>(args[0]).*part);
}

std::vector<Declaration> url_functions() {
  return {
      {"url(string) -> kubernetes.URL",
       [](Args a) -> Outcome {
         const auto read = parse_url(text(a[0]));
         return read ? Outcome(opaque_value(*read))
                     : failure(fmt::format("URL parse error during conversion from string: parse "
                                           "\"{}\": invalid URI for request",
                                           text(a[0])));
       }},
      {"isURL(string) -> bool",
       [](Args a) -> Outcome { return Value(parse_url(text(a[0])).has_value()); }},
      {"kubernetes.URL::getScheme() -> string", url_part<&Url::scheme>},
      {"kubernetes.URL::getHost() -> string", url_part<&Url::host>},
      {"kubernetes.URL::getHostname() -> string", url_part<&Url::hostname>},
      {"kubernetes.URL::getPort() -> string", url_part<&Url::port>},
      {"kubernetes.URL::getEscapedPath() -> string", url_part<&Url::path>},
      {"kubernetes.URL::getQuery() -> map(string, list(string))", query_of},
  };
}

// ---- versions
// -----------------------------------------------------------------------------------

SemverForm form_of(Args args) {
  return args.size() > 1 && *args[1].get<bool>() ? SemverForm::Normalized : SemverForm::Strict;
}

Outcome version_of(Args args) {
  const auto read = parse_semver(text(args[0]), form_of(args));
  return read ? Outcome(opaque_value(*read))
              : failure(fmt::format("invalid semantic version \"{}\"", text(args[0])));
}

Outcome is_version(Args args) {
  return Value(parse_semver(text(args[0]), form_of(args)).has_value());
}

template <std::uint64_t Semver::*part> Outcome version_part(Args args) {
  return Value(static_cast<std::int64_t>(as<Semver>(args[0]).*part));
}

} // namespace

std::vector<Declaration> quantity_functions() {
  const Run plus = [](Args a) -> Outcome {
    return opaque_value(as<Quantity>(a[0]) + second(a[1]));
  };
  const Run minus = [](Args a) -> Outcome {
    return opaque_value(as<Quantity>(a[0]) - second(a[1]));
  };
  return {
      {"quantity(string) -> kubernetes.Quantity", quantity_of},
      {"isQuantity(string) -> bool",
       [](Args a) -> Outcome { return Value(Quantity::parse(text(a[0])).has_value()); }},
      {"kubernetes.Quantity::isInteger() -> bool",
       [](Args a) -> Outcome { return Value(is_integer(as<Quantity>(a[0]))); }},
      {"kubernetes.Quantity::asInteger() -> int", as_integer},
      {"kubernetes.Quantity::asApproximateFloat() -> double", as_float},
      {"kubernetes.Quantity::sign() -> int",
       [](Args a) -> Outcome { return Value(std::int64_t{as<Quantity>(a[0]).sign()}); }},
      {"kubernetes.Quantity::add(kubernetes.Quantity) -> kubernetes.Quantity", plus},
      {"kubernetes.Quantity::add(int) -> kubernetes.Quantity", plus},
      {"kubernetes.Quantity::sub(kubernetes.Quantity) -> kubernetes.Quantity", minus},
      {"kubernetes.Quantity::sub(int) -> kubernetes.Quantity", minus},
      {"kubernetes.Quantity::isGreaterThan(kubernetes.Quantity) -> bool",
       [](Args a) -> Outcome { return Value(as<Quantity>(a[0]) > as<Quantity>(a[1])); }},
      {"kubernetes.Quantity::isLessThan(kubernetes.Quantity) -> bool",
       [](Args a) -> Outcome { return Value(as<Quantity>(a[0]) < as<Quantity>(a[1])); }},
      {"kubernetes.Quantity::compareTo(kubernetes.Quantity) -> int",
       [](Args a) -> Outcome { return number(as<Quantity>(a[0]) <=> as<Quantity>(a[1])); }},
  };
}

std::vector<Declaration> network_functions() {
  std::vector<Declaration> out = url_functions();
  for (const auto& subject : {ip_functions(), cidr_functions()}) {
    out.insert(out.end(), subject.begin(), subject.end());
  }
  return out;
}

std::vector<Declaration> version_functions() {
  return {
      {"semver(string) -> kubernetes.Semver", version_of},
      {"semver(string, bool) -> kubernetes.Semver", version_of},
      {"isSemver(string) -> bool", is_version},
      {"isSemver(string, bool) -> bool", is_version},
      {"kubernetes.Semver::major() -> int", version_part<&Semver::major>},
      {"kubernetes.Semver::minor() -> int", version_part<&Semver::minor>},
      {"kubernetes.Semver::patch() -> int", version_part<&Semver::patch>},
      {"kubernetes.Semver::isGreaterThan(kubernetes.Semver) -> bool",
       [](Args a) -> Outcome { return Value(compare(as<Semver>(a[0]), as<Semver>(a[1])) > 0); }},
      {"kubernetes.Semver::isLessThan(kubernetes.Semver) -> bool",
       [](Args a) -> Outcome { return Value(compare(as<Semver>(a[0]), as<Semver>(a[1])) < 0); }},
      {"kubernetes.Semver::compareTo(kubernetes.Semver) -> int",
       [](Args a) -> Outcome { return number(compare(as<Semver>(a[0]), as<Semver>(a[1]))); }},
  };
}

} // namespace berth::cel
