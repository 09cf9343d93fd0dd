// What values of a custom resource must satisfy beyond their form: the value validations of a
// structural schema. Sources: apiextensions/v1 JSONSchemaProps, KEP-20190425-structural-openapi.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "berth/api/pattern.h"

namespace berth::schema {

struct Rules {
  std::vector<boost::json::value> one_of_values; ///< enum; empty: any
  std::string pattern;
  std::shared_ptr<const api::Pattern> compiled; ///< of `pattern`; null if there is none
  std::string format;
  std::optional<std::int64_t> min_length; ///< in characters
  std::optional<std::int64_t> max_length;
  std::optional<std::int64_t> min_items;
  std::optional<std::int64_t> max_items;
  std::optional<std::int64_t> min_properties;
  std::optional<std::int64_t> max_properties;
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::optional<double> multiple_of;
  bool exclusive_minimum = false;
  bool exclusive_maximum = false;
  bool unique_items = false;
  std::vector<std::string> required;

  std::vector<Rules> all_of;
  std::vector<Rules> any_of;
  std::vector<Rules> one_of;
  std::shared_ptr<const Rules> none_of; ///< `not`

  /// Only of rules inside all_of, any_of, one_of and none_of, and of a root's metadata; elsewhere
  /// members and elements have types of their own.
  std::string type;
  std::map<std::string, Rules, std::less<>> properties;
  std::shared_ptr<const Rules> items;
  std::shared_ptr<const Rules> additional;

  /// x-kubernetes-validations, as written: cel_rules.h.
  boost::json::array validations;
};

} // namespace berth::schema
