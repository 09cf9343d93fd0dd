#include "berth/node/contents/resource_field.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace berth::node {
namespace {

std::int64_t divided(std::int64_t amount, std::int64_t by) {
  return amount / by + (amount % by > 0 ? 1 : 0);
}

bool known(std::string_view resource) {
  constexpr std::array<std::string_view, 3> kResources{"cpu", "memory", "ephemeral-storage"};
  return std::ranges::find(kResources, resource) != kResources.end() ||
         resource.starts_with("hugepages-");
}

api::Quantity amount_in(const model::ResourceList& list, std::string_view resource) {
  const auto found = list.find(resource);
  return found == list.end() ? api::Quantity() : found->second;
}

} // namespace

Result<std::string> resource_field(const model::Container& container, const api::json::value& ref,
                                   const model::ResourceList& allocatable) {
  const std::string_view field = api::string_at(ref, "resource");
  const std::size_t dot = field.find('.');
  const std::string_view side = field.substr(0, dot);
  const std::string_view resource = dot == std::string_view::npos ? "" : field.substr(dot + 1);
  if ((side != "limits" && side != "requests") || !known(resource)) {
    return fail(Code::Invalid, fmt::format("unsupported container resource; try limits.cpu or "
                                           "requests.memory: {}",
                                           field));
  }
  const api::json::value* given = api::find(ref, "divisor");
  std::string divisor_text = "1";
  if (given) {
    divisor_text = given->is_string() ? std::string(given->get_string()) : api::to_json(*given);
  }
  BERTH_TRY(api::Quantity divisor, api::Quantity::parse(divisor_text));
  if (divisor.sign() <= 0) {
    divisor = api::Quantity::from_int(1); // "0" is how Go writes a divisor that nobody gave
  }
  const bool limits = side == "limits";
  const model::ResourceRequirements& own = container.resources;
  api::Quantity amount = amount_in(limits ? own.limits : own.requests, resource);
  if (amount.is_zero()) {
    amount = limits ? amount_in(allocatable, resource) : amount_in(own.limits, resource);
  }
  const std::int64_t value = resource == "cpu"
                                 ? divided(amount.milli_value(), divisor.milli_value())
                                 : divided(amount.value(), divisor.value());
  return fmt::to_string(value);
}

} // namespace berth::node
