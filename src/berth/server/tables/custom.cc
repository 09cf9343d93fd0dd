// Custom resources: additionalPrinterColumns of their version. Source: apiextensions-apiserver
// pkg/registry/customresource/tableconvertor.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/json_path.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

json::value sorted(const json::value& value) {
  if (const json::array* list = value.if_array()) {
    json::array out;
    std::ranges::transform(*list, std::back_inserter(out), &sorted);
    return out;
  }
  const json::object* members = value.if_object();
  if (members == nullptr) {
    return value;
  }
  std::vector<std::pair<std::string, const json::value*>> by_name;
  for (const auto& [name, member] : *members) {
    by_name.emplace_back(name, &member);
  }
  std::ranges::sort(by_name);
  json::object out;
  for (const auto& [name, member] : by_name) {
    out[name] = sorted(*member);
  }
  return out;
}

/// As Go's encoding/json writes a map: members by name, <, > and & escaped.
std::string go_json(const json::value& value) {
  std::string out;
  for (const char c : api::to_json(sorted(value))) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

/// As Go's jsonpath prints a value.
std::string printed(const json::value& value) {
  if (value.is_string()) {
    return std::string(value.get_string());
  }
  if (value.is_null()) {
    return "<no value>";
  }
  return value.is_structured() ? go_json(value) : api::to_json(value);
}

json::value integer(const json::value& value) {
  constexpr double kTooMuch = 9223372036854775808.0;
  if (value.is_int64()) {
    return value;
  }
  if (value.is_double() && std::abs(value.get_double()) < kTooMuch) {
    return static_cast<std::int64_t>(value.get_double());
  }
  return nullptr;
}

json::value date(const json::value& value, TimePoint now) {
  if (!value.is_string()) {
    return nullptr;
  }
  if (value.get_string().empty()) {
    return "<unknown>";
  }
  const auto time = parse_rfc3339(value.get_string());
  return time ? json::value(age(*time, now)) : "<invalid>";
}

/// The cell of a value that was found; null where it is none of the column's type.
json::value cell_of(std::string_view type, const json::value& value, TimePoint now) {
  if (type == "string") {
    return json::value(printed(value));
  }
  if (type == "integer") {
    return integer(value);
  }
  if (type == "number") {
    return value.is_number() ? json::value(value.to_number<double>()) : nullptr;
  }
  if (type == "boolean") {
    return value.is_bool() ? value : nullptr;
  }
  return type == "date" ? date(value, now) : nullptr;
}

Column custom_column(const schema::PrinterColumn& said) {
  auto path = JsonPath::parse(said.json_path);
  Cell cell = [](const Row&) { return nullptr; };
  if (path) {
    cell = [type = said.type, path = *std::move(path)](const Row& row) -> json::value {
      const json::value* found = path.first(row.document());
      return found == nullptr ? nullptr : cell_of(type, *found, row.now);
    };
  }
  return {.name = said.name,
          .type = said.type,
          .format = said.format,
          .description =
              said.description.empty()
                  ? "Custom resource definition column (in JSONPath format): " + said.json_path
                  : said.description,
          .priority = said.priority,
          .cell = std::move(cell)};
}

} // namespace

TableShape custom_shape(std::span<const schema::PrinterColumn> columns) {
  static const schema::PrinterColumn kAge{.name = "Age",
                                          .type = "date",
                                          .description = "How long ago the object was created.",
                                          .json_path = ".metadata.creationTimestamp"};
  if (columns.empty()) {
    columns = {&kAge, 1};
  }
  TableShape out{.columns = {name_column()}};
  std::ranges::transform(columns, std::back_inserter(out.columns), &custom_column);
  return out;
}

} // namespace berth::server::tables
