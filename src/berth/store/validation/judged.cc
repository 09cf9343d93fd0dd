#include "berth/store/validation/judged.h"

#include <algorithm>

#include "berth/store/naming.h"

namespace berth::store {

const api::json::value* Judged::child(std::string_view member) const {
  if (value_ == nullptr || !value_->is_object()) {
    return nullptr;
  }
  const api::json::value* found = value_->get_object().if_contains(member);
  return found == nullptr || found->is_null() ? nullptr : found;
}

Judged Judged::operator[](std::string_view member) const {
  return {child(member), below(member), *errors_};
}

Judged Judged::operator[](std::size_t index) const {
  const api::json::array* list = array();
  return {list != nullptr && index < list->size() ? &(*list)[index] : nullptr,
          keyed(path_, fmt::format_int(index).str()), *errors_};
}

Judged Judged::key(std::string_view name) const {
  return {child(name), keyed(path_, name), *errors_};
}

// Of each field that is looked at, though few have something wrong: formatting them would take as
// long as judging them.
std::string Judged::below(std::string_view member) const {
  std::string path;
  path.reserve(path_.size() + 1 + member.size());
  path.append(path_).append(path_.empty() ? "" : ".").append(member);
  return path;
}

std::string Judged::keyed(std::string_view list, std::string_view key) {
  std::string path;
  path.reserve(list.size() + key.size() + 2);
  path.append(list).append("[").append(key).append("]");
  return path;
}

std::string_view Judged::text() const {
  return value_ != nullptr && value_->is_string() ? std::string_view(value_->get_string())
                                                  : std::string_view();
}

std::string_view Judged::text(std::string_view member) const {
  const api::json::value* found = child(member);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string())
                                                : std::string_view();
}

std::optional<std::int64_t> Judged::number() const {
  return value_ != nullptr && value_->is_int64() ? std::optional(value_->get_int64())
                                                 : std::nullopt;
}

std::optional<std::int64_t> Judged::number(std::string_view member) const {
  const api::json::value* found = child(member);
  return found != nullptr && found->is_int64() ? std::optional(found->get_int64()) : std::nullopt;
}

bool Judged::is_true() const {
  return value_ != nullptr && value_->is_bool() && value_->get_bool();
}

bool Judged::is_true(std::string_view member) const {
  const api::json::value* found = child(member);
  return found != nullptr && found->is_bool() && found->get_bool();
}

const api::json::object* Judged::object() const {
  return value_ == nullptr ? nullptr : value_->if_object();
}

const api::json::array* Judged::array() const {
  return value_ == nullptr ? nullptr : value_->if_array();
}

std::size_t Judged::size() const {
  if (const auto* list = array()) {
    return list->size();
  }
  const auto* map = object();
  return map == nullptr ? 0 : map->size();
}

std::size_t Judged::size(std::string_view member) const {
  const api::json::value* found = child(member);
  if (found == nullptr) {
    return 0;
  }
  return found->is_array() ? found->get_array().size()
                           : (found->is_object() ? found->get_object().size() : 0);
}

std::vector<std::string> Judged::names() const {
  std::vector<std::string> out;
  if (const auto* map = object()) {
    for (const auto& member : *map) {
      out.emplace_back(member.key());
    }
  }
  std::ranges::sort(out);
  return out;
}

std::string Judged::shown() const {
  return value_ == nullptr ? "\"\"" : api::to_json(*value_);
}

void Judged::required(std::string_view detail) const {
  errors_->push_back(required_field(path_, detail));
}

void Judged::forbidden(std::string_view why) const {
  errors_->push_back(forbidden_field(path_, why));
}

void Judged::invalid(std::string_view why) const {
  errors_->push_back(invalid_value(path_, shown(), why));
}

void Judged::invalid(std::string_view as_shown, std::string_view why) const {
  errors_->push_back(invalid_value(path_, as_shown, why));
}

void Judged::invalid(const std::vector<std::string>& whys) const {
  for (const std::string& why : whys) {
    invalid(why);
  }
}

void Judged::unsupported(const std::vector<std::string>& supported) const {
  errors_->push_back(unsupported_value(path_, shown(), supported));
}

void Judged::duplicate() const {
  errors_->push_back(duplicate_value(path_, shown()));
}

void Judged::duplicate(std::string_view as_shown) const {
  errors_->push_back(duplicate_value(path_, as_shown));
}

void Judged::not_found(std::string_view detail) const {
  errors_->push_back(
      not_found_value(path_, detail.empty() ? shown() : fmt::format("{}: {}", shown(), detail)));
}

void Judged::too_long(std::size_t bytes) const {
  errors_->push_back(too_long_value(path_, bytes));
}

void Judged::too_many(std::size_t limit) const {
  errors_->push_back(too_many_value(path_, size(), limit));
}

bool Judged::need_text(std::string_view detail) const {
  if (text().empty()) {
    required(detail);
    return false;
  }
  return true;
}

void Judged::not_negative() const {
  if (number().value_or(0) < 0) {
    invalid("must be greater than or equal to 0");
  }
}

void Judged::positive() const {
  if (number().value_or(1) <= 0) {
    invalid("must be greater than zero");
  }
}

void Judged::in_range(std::int64_t low, std::int64_t high) const {
  if (const auto given = number(); given && (*given < low || *given > high)) {
    invalid(fmt::format("must be between {} and {}, inclusive", low, high));
  }
}

void Judged::one_of(const std::vector<std::string>& supported) const {
  if (!text().empty() && std::ranges::find(supported, text()) == supported.end()) {
    unsupported(supported);
  }
}

void Judged::label_name() const {
  invalid(qualified_name_errors(text()));
}

void Judged::dns_label() const {
  invalid(label_name_errors(text()));
}

void Judged::dns_subdomain() const {
  invalid(subdomain_errors(text()));
}

} // namespace berth::store
