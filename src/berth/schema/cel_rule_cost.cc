#include "berth/schema/cel_rule_cost.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/cel/cost_estimate.h"
#include "berth/schema/expression_type.h"
#include "berth/schema/rules.h"

namespace berth::schema {
namespace {

// Source: apiextensions/validation: StaticEstimatedCostLimit, StaticEstimatedCRDCostLimit.
constexpr std::uint64_t kLimit = 10'000'000;
constexpr std::uint64_t kTotalLimit = 100'000'000;
constexpr std::uint64_t kRequestSize = std::uint64_t{3} * 1024 * 1024;
constexpr std::size_t kMostNamed = 4;

std::string exceeds(std::string_view what, std::uint64_t cost, std::uint64_t limit) {
  constexpr double kHopeless = 100;
  constexpr double kClose = 1.5;
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  const std::string text = factor > kHopeless ? "more than 100x"
                           : factor < kClose  ? fmt::format("{:f}x", factor)
                                              : fmt::format("{:.1f}x", factor);
  return fmt::format("{} exceeds budget by factor of {} (try simplifying the rule, or adding "
                     "maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
                     "declared)",
                     what, text);
}

} // namespace

Cardinality below(const Cardinality& of, const Type& type) {
  const Rules* rules = type.rules.get();
  const auto most = rules == nullptr          ? std::optional<std::int64_t>()
                    : type.form == Form::List ? rules->max_items
                                              : rules->max_properties;
  if (!of || !most) {
    return std::nullopt;
  }
  return cel::saturating_multiply(*of,
                                  static_cast<std::uint64_t>(std::max<std::int64_t>(0, *most)));
}

void RuleCosts::add(const cel::Program& program, const CelRule& rule, const CelRules& place,
                    const Cardinality& times, const std::string& path, std::string_view what,
                    FieldErrors& errors) {
  const std::uint64_t one = program.estimated_cost(variables_of(rule, place.self));
  const auto smallest = static_cast<std::uint64_t>(min_serialized(*place.type).value_or(0));
  const std::uint64_t cost =
      cel::saturating_multiply(one, times.value_or(kRequestSize / (smallest + 1)));
  if (cost > kLimit) {
    errors.push_back(
        forbidden_value(path, exceeds(fmt::format("estimated {} cost", what), cost, kLimit)));
  }
  total_ = cel::saturating_add(total_, cost);
  const auto at = std::ranges::find_if(all_, [&](const Cost& other) { return other.cost < cost; });
  all_.insert(at, {.path = path, .cost = cost});
  all_.resize(std::min(all_.size(), kMostNamed));
}

void RuleCosts::judge_total(const std::string& field, FieldErrors& errors) const {
  if (total_ <= kTotalLimit) {
    return;
  }
  for (const Cost& one : all_) {
    errors.push_back(forbidden_value(one.path, "contributed to estimated rule cost total exceeding "
                                               "cost limit for entire OpenAPIv3 schema"));
  }
  errors.push_back(forbidden_value(
      field, exceeds("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 "
                     "schema",
                     total_, kTotalLimit)));
}

} // namespace berth::schema
