#include "berth/server/tables/cells.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/quantity.h"
#include "berth/api/selector.h"

namespace berth::server::tables {

std::int64_t number_at(const json::value& in, std::string_view path, std::int64_t otherwise) {
  const json::value* at = api::find_path(in, path);
  if (at == nullptr) {
    return otherwise;
  }
  boost::system::error_code none;
  const auto whole = at->to_number<std::int64_t>(none);
  return none ? otherwise : whole;
}

bool truth_at(const json::value& in, std::string_view path, bool otherwise) {
  const json::value* at = api::find_path(in, path);
  return at != nullptr && at->is_bool() ? at->get_bool() : otherwise;
}

std::span<const json::value> list_at(const json::value& in, std::string_view path) {
  const json::value* at = api::find_path(in, path);
  if (at == nullptr || !at->is_array()) {
    return {};
  }
  return {at->get_array().data(), at->get_array().size()};
}

const json::object* members_at(const json::value& in, std::string_view path) {
  const json::value* at = api::find_path(in, path);
  return at == nullptr ? nullptr : at->if_object();
}

std::int64_t size_at(const json::value& in, std::string_view path) {
  const json::object* members = members_at(in, path);
  return static_cast<std::int64_t>(members != nullptr ? members->size() : list_at(in, path).size());
}

std::optional<TimePoint> time_at(const json::value& in, std::string_view path) {
  const auto time = parse_rfc3339(api::string_at(in, path));
  return time ? std::optional(*time) : std::nullopt;
}

std::string text_at(const json::value& in, std::string_view path, std::string_view otherwise) {
  const std::string_view text = api::string_at(in, path);
  return std::string(text.empty() ? otherwise : text);
}

std::string quantity_text(const json::value* quantity) {
  const std::string written = text_or_number(quantity, "0");
  const auto parsed = api::Quantity::parse(written);
  return parsed ? parsed->to_string() : written;
}

std::string text_or_number(const json::value* value, std::string_view otherwise) {
  if (value != nullptr && value->is_string()) {
    return std::string(value->get_string());
  }
  return value != nullptr && value->is_number() ? api::to_json(*value) : std::string(otherwise);
}

std::vector<std::string> texts_of(std::span<const json::value> list, std::string_view member) {
  std::vector<std::string> out;
  for (const json::value& element : list) {
    if (!member.empty()) {
      out.emplace_back(api::string_at(element, member));
    } else if (element.is_string()) {
      out.emplace_back(element.get_string());
    }
  }
  return out;
}

std::string_view condition_status(std::span<const json::value> conditions, std::string_view type) {
  for (const json::value& condition : conditions) {
    if (api::string_at(condition, "type") == type) {
      return api::string_at(condition, "status");
    }
  }
  return "";
}

std::string human_duration(Duration d) {
  return d.count_seconds() < -1 ? "<invalid>" : to_age(d);
}

Duration elapsed(TimePoint since, TimePoint now) {
  std::int64_t nanos = 0;
  if (__builtin_sub_overflow(now.unix_nanos(), since.unix_nanos(), &nanos)) {
    return since < now ? Duration::max() : Duration::nanos(INT64_MIN);
  }
  return Duration::nanos(nanos);
}

std::string age(std::optional<TimePoint> since, TimePoint now) {
  return since ? human_duration(elapsed(*since, now)) : "<unknown>";
}

std::string labels_text(const json::value* labels) {
  std::vector<std::string> parts;
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->get_object()) {
      parts.push_back(fmt::format("{}={}", std::string_view(key), text_or_number(&value, "")));
    }
  }
  std::ranges::sort(parts);
  return parts.empty() ? "<none>" : fmt::format("{}", fmt::join(parts, ","));
}

namespace {

/// One of matchExpressions; nullopt if it is none.
std::optional<std::string> expression_text(const json::value& expression) {
  const std::string_view key = api::string_at(expression, "key");
  const auto op = api::parse_operator(api::string_at(expression, "operator"));
  std::vector<std::string> values = texts_of(list_at(expression, "values"));
  std::ranges::sort(values);
  if (key.empty() || !op) {
    return std::nullopt;
  }
  switch (*op) {
  case api::Operator::In:
  case api::Operator::NotIn:
    if (values.empty()) {
      return std::nullopt;
    }
    return fmt::format("{} {} ({})", key, *op == api::Operator::In ? "in" : "notin",
                       fmt::join(values, ","));
  case api::Operator::Exists:
  case api::Operator::DoesNotExist:
    if (!values.empty()) {
      return std::nullopt;
    }
    return fmt::format("{}{}", *op == api::Operator::Exists ? "" : "!", key);
  case api::Operator::Gt:
  case api::Operator::Lt:
    break; // of node selectors alone
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> selector_text(const json::value* selector) {
  if (selector == nullptr) {
    return "";
  }
  std::vector<std::pair<std::string, std::string>> parts; // by key
  if (const json::object* labels = members_at(*selector, "matchLabels")) {
    for (const auto& [key, value] : *labels) {
      parts.emplace_back(key, fmt::format("{}={}", std::string_view(key),
                                          value.is_string() ? std::string_view(value.get_string())
                                                            : std::string_view()));
    }
  }
  for (const json::value& expression : list_at(*selector, "matchExpressions")) {
    auto text = expression_text(expression);
    if (!text) {
      return std::nullopt;
    }
    parts.emplace_back(api::string_at(expression, "key"), *std::move(text));
  }
  std::ranges::stable_sort(parts, {}, &std::pair<std::string, std::string>::first);
  std::vector<std::string> texts;
  for (auto& part : parts) {
    texts.push_back(std::move(part.second));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string formatted_selector(const json::value* selector) {
  const auto text = selector_text(selector);
  if (!text) {
    return "<error>";
  }
  return text->empty() ? "<none>" : *text;
}

std::string first_few(std::span<const std::string> list, std::size_t max, std::string_view empty,
                      std::string_view separator) {
  const auto shown = list.first(std::min(max, list.size()));
  const std::string joined = fmt::format("{}", fmt::join(shown, separator));
  if (list.size() > max) {
    return fmt::format("{} + {} more...", joined, list.size() - max);
  }
  return joined.empty() ? std::string(empty) : joined;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

Cell text(std::string_view path, std::string_view otherwise) {
  return [=](const Row& row) { return json::value(text_at(row.document(), path, otherwise)); };
}

Cell set_text(std::string_view path, std::string_view otherwise) {
  return [=](const Row& row) {
    const json::value* at = api::find_path(row.document(), path);
    return at != nullptr && at->is_string() ? *at : json::value(std::string(otherwise));
  };
}

Cell number(std::string_view path, std::int64_t otherwise) {
  return [=](const Row& row) { return json::value(number_at(row.document(), path, otherwise)); };
}

Cell truth(std::string_view path, bool otherwise) {
  return [=](const Row& row) { return json::value(truth_at(row.document(), path, otherwise)); };
}

Cell size_of(std::string_view path) {
  return [=](const Row& row) { return json::value(size_at(row.document(), path)); };
}

Cell age_since(std::string_view path) {
  return [=](const Row& row) { return json::value(age(time_at(row.document(), path), row.now)); };
}

Column name_column() {
  return {.name = "Name",
          .format = "name",
          .description = "Name of the object, unique among those of its kind and namespace.",
          .cell = [](const Row& row) { return json::value(row.object.meta().name); }};
}

Column age_column() {
  return {.name = "Age",
          .description = "How long ago the object was created.",
          .cell = [](const Row& row) {
            return json::value(age(row.object.meta().creation_timestamp, row.now));
          }};
}

namespace {

Column template_column(std::string_view name, std::string_view description, std::string_view path,
                       std::string_view member) {
  return {.name = std::string(name),
          .description = std::string(description),
          .priority = 1,
          .cell = [=](const Row& row) {
            const auto containers = list_at(row.document(), std::string(path) + ".containers");
            return json::value(fmt::format("{}", fmt::join(texts_of(containers, member), ",")));
          }};
}

} // namespace

Column containers_column(std::string_view path) {
  return template_column("Containers", "Names of the template's containers.", path, "name");
}

Column images_column(std::string_view path) {
  return template_column("Images", "Images of the template's containers.", path, "image");
}

} // namespace berth::server::tables
