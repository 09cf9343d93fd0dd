#include "berth/patch/strategic_merge.h"

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/patch/go_text.h"
#include "berth/patch/strategic_list.h"

namespace berth::patch {
namespace {

using schema::Form;
using schema::Type;

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList";
constexpr std::string_view kElementOrder = "$setElementOrder";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kList = "[]interface {}";

tl::unexpected<Error> bad_format(std::string_view what) {
  return fail(Code::BadRequest, fmt::format("invalid patch format of {}", what));
}

tl::unexpected<Error> unknown_directive(const json::value& directive, const json::value& map) {
  const std::string shown =
      directive.is_string() ? go_value(directive)
                            : fmt::format("%!s({}={})", go_type(directive), go_value(directive));
  return fail(Code::Internal,
              fmt::format("unknown patch type: {} in map: {}", shown, go_value(map)));
}

/// How one field is patched.
struct FieldRule {
  const Type* type = nullptr; ///< null: nothing known below
  bool merges = false;
  MergeKey key;
};

std::string_view go_name(const Type& type) {
  const std::string_view name = type.name;
  return name.substr(name.rfind('.') + 1);
}

Result<FieldRule> rule_of(const Type* type, std::string_view field) {
  if (type == nullptr || type->form == Form::Any) {
    return FieldRule{};
  }
  if (type->form != Form::Struct) {
    return FieldRule{.type = type->element};
  }
  const schema::Field* known = type->field(field);
  if (known == nullptr) {
    if (type->preserve_unknown) {
      return FieldRule{};
    }
    return fail(Code::Internal,
                fmt::format("unable to find api field in struct {} for the json field {}",
                            go_name(*type), api::to_json(json::value(field))));
  }
  return FieldRule{
      .type = known->type, .merges = known->type->merges, .key = {known->type->merge_key}};
}

/// "$setElementOrder/ports" -> "ports".
Result<std::string> list_of(std::string_view key, std::string_view prefix, std::string_view what) {
  if (key.size() <= prefix.size() || key[prefix.size()] != '/') {
    return bad_format(what);
  }
  return std::string(key.substr(prefix.size() + 1));
}

// A patch of what is not there is taken as it is, without its nulls: they would delete nothing.
json::value without_nulls(json::value value) {
  if (json::object* object = value.if_object()) {
    json::object out;
    for (auto& [key, member] : *object) {
      if (!member.is_null()) {
        out[key] = without_nulls(std::move(member));
      }
    }
    return out;
  }
  if (json::array* array = value.if_array()) {
    for (json::value& element : *array) {
      element = without_nulls(std::move(element));
    }
  }
  return value;
}

void erase(json::object& object, std::string_view key) {
  if (const auto at = object.find(key); at != object.end()) {
    object.stable_erase(at);
  }
}

class Merger {
 public:
  Result<json::value> map(json::value original, json::value patch, const Type* type) {
    json::object& changes = patch.get_object();
    if (const json::value* directive = changes.if_contains(kDirective)) {
      return by_directive(json::value(*directive), std::move(patch));
    }
    if (!original.is_object()) {
      original.emplace_object();
    }
    json::object& target = original.get_object();
    BERTH_CHECK(retain_keys(target, changes));
    BERTH_CHECK(set_orders(target, changes, type));
    for (auto& [key, change] : changes) {
      BERTH_CHECK(member(target, key, std::move(change), type));
    }
    return original;
  }

 private:
  static Result<json::value> by_directive(const json::value& directive, json::value patch) {
    if (directive == "replace") {
      erase(patch.get_object(), kDirective);
      return patch;
    }
    if (directive == "delete") {
      return json::value(json::object());
    }
    return unknown_directive(directive, patch);
  }

  static Result<void> retain_keys(json::object& target, json::object& changes) {
    const json::value* given = changes.if_contains(kRetainKeys);
    if (given == nullptr) {
      return {};
    }
    if (!given->is_array()) {
      return bad_format("retainKeys");
    }
    const json::array keys = given->get_array();
    erase(changes, kRetainKeys);
    const auto kept = [&](std::string_view key) {
      return std::ranges::any_of(
          keys, [&](const json::value& one) { return one.is_string() && one.get_string() == key; });
    };
    for (const auto& [key, change] : changes) {
      if (!change.is_null() && !key.starts_with(kDeleteFrom) && !key.starts_with(kElementOrder) &&
          !kept(key)) {
        return bad_format("retainKeys");
      }
    }
    json::object retained;
    for (auto& [key, value] : target) {
      if (kept(key)) {
        retained[key] = std::move(value);
      }
    }
    target = std::move(retained);
    return {};
  }

  // Lists with a wanted order are merged first, and ordered.
  Result<void> set_orders(json::object& target, json::object& changes, const Type* type) {
    std::vector<std::string> orders;
    for (const auto& [key, change] : changes) {
      if (key.starts_with(kElementOrder)) {
        orders.emplace_back(key);
      }
    }
    for (const std::string& order : orders) {
      const json::value wanted = changes.at(order);
      erase(changes, order);
      if (!wanted.is_array()) {
        return wrong_type(kList, wanted);
      }
      BERTH_TRY(const std::string field, list_of(order, kElementOrder, "setElementOrder list"));
      BERTH_CHECK(set_order(target, changes, type, field, wanted.get_array()));
      erase(changes, field);
    }
    return {};
  }

  Result<void> set_order(json::object& target, json::object& changes, const Type* type,
                         const std::string& field, const json::array& wanted) {
    json::value* original = target.if_contains(field);
    json::value* change = changes.if_contains(field);
    for (const json::value* list : {original, change}) {
      if (list != nullptr && !list->is_array()) {
        return wrong_type(kList, *list);
      }
    }
    BERTH_TRY(const FieldRule rule, rule_of(type, field));
    const json::array patched = change == nullptr ? json::array() : change->get_array();
    const json::array live = original == nullptr ? json::array() : original->get_array();
    BERTH_CHECK(check_order(patched, wanted, rule.key));
    if (original == nullptr && change == nullptr) {
      return {};
    }
    json::array merged = original == nullptr ? patched : live;
    if (original != nullptr && change != nullptr) {
      BERTH_TRY(merged, list(live, patched, rule, Parallel::No));
    }
    BERTH_TRY(const bool maps, holds_maps(live, patched));
    static_cast<void>(maps);
    BERTH_TRY(json::array ordered, in_order(merged, wanted, live, rule.key));
    target[field] = std::move(ordered);
    return {};
  }

  // Elements of the patch must all be in the wanted order, and come in it.
  static Result<void> check_order(const json::array& patched, const json::array& wanted,
                                  const MergeKey& key) {
    if (patched.empty() || wanted.empty()) {
      return {};
    }
    std::size_t place = 0;
    for (const json::value& element : patched) {
      if (!key.name.empty() && !element.is_object()) {
        return wrong_type("map[string]interface {}", element);
      }
      if (element.is_object() && element.get_object().contains(kDirective)) {
        continue;
      }
      const json::value* own = key.of(element);
      if (own == nullptr) {
        return no_merge_key(element, key.name);
      }
      while (place < wanted.size()) {
        const json::value* other = key.of(wanted[place]);
        if (other == nullptr) {
          return wanted[place].is_object() ? no_merge_key(wanted[place], key.name)
                                           : wrong_type("map[string]interface {}", wanted[place]);
        }
        ++place;
        if (*own == *other) {
          own = nullptr;
          break;
        }
      }
      if (own != nullptr) {
        return fail(Code::Internal,
                    fmt::format("The order in patch list:\n{}\n doesn't match {} list:\n{}\n",
                                go_value(json::value(patched)), kElementOrder,
                                go_value(json::value(wanted))));
      }
    }
    return {};
  }

  enum class Parallel { No, Deletes };

  Result<void> member(json::object& target, std::string_view name, json::value change,
                      const Type* type) {
    std::string key(name);
    Parallel parallel = Parallel::No;
    if (name.starts_with(kDeleteFrom)) {
      BERTH_TRY(key, list_of(name, kDeleteFrom, "primitive list"));
      parallel = Parallel::Deletes;
    }
    if (change.is_null()) {
      erase(target, key);
      return {};
    }
    json::value* original = target.if_contains(key);
    if (original == nullptr || go_type(*original) != go_type(change)) {
      if (parallel == Parallel::No) {
        target[key] = without_nulls(std::move(change));
      }
      return {};
    }
    BERTH_TRY(const FieldRule rule, rule_of(type, key));
    if (change.is_object()) {
      BERTH_TRY(*original, map(std::move(*original), std::move(change), rule.type));
    } else if (change.is_array()) {
      BERTH_TRY(*original, list(original->get_array(), change.get_array(), rule, parallel));
    } else {
      *original = std::move(change);
    }
    return {};
  }

  Result<json::array> list(const json::array& original, const json::array& patch,
                           const FieldRule& rule, Parallel parallel) {
    if (!rule.merges || (original.empty() && patch.empty())) {
      return patch;
    }
    BERTH_TRY(const bool maps, holds_maps(original, patch));
    if (maps) {
      return list_of_maps(original, patch, rule);
    }
    if (parallel == Parallel::Deletes) {
      json::array left;
      for (const json::value& scalar : original) {
        if (place_of(scalar, patch, {}) < 0) {
          left.push_back(scalar);
        }
      }
      return left;
    }
    json::array both = original;
    both.insert(both.end(), patch.begin(), patch.end());
    return in_order(distinct(both), patch, original, rule.key);
  }

  Result<json::array> list_of_maps(json::array live, const json::array& patch,
                                   const FieldRule& rule) {
    if (rule.key.name.empty()) {
      return fail(Code::Internal, "cannot merge lists without merge key for type struct");
    }
    BERTH_TRY(const json::array changes, plain_elements(live, patch, rule.key));
    json::array merged = live;
    for (const json::value& change : changes) {
      if (rule.key.of(change) == nullptr) {
        return no_merge_key(change, rule.key.name);
      }
      const std::ptrdiff_t place = place_of(change, merged, rule.key);
      if (place < 0) {
        merged.push_back(without_nulls(change));
        continue;
      }
      json::value& element = merged[static_cast<std::size_t>(place)];
      BERTH_TRY(element, map(std::move(element), change,
                             rule.type == nullptr ? nullptr : rule.type->element));
    }
    return in_order(merged, changes, live, rule.key);
  }

  // Does what elements with directives say to `live`; the others are left to be merged.
  static Result<json::array> plain_elements(json::array& live, const json::array& patch,
                                            const MergeKey& key) {
    json::array plain;
    bool replace = false;
    for (const json::value& element : patch) {
      const json::value* directive = element.get_object().if_contains(kDirective);
      if (directive == nullptr) {
        plain.push_back(element);
      } else if (*directive == "replace") {
        replace = true;
      } else if (*directive == "merge") {
        return fail(Code::Internal, "merging lists cannot yet be specified in the patch");
      } else if (*directive != "delete") {
        return unknown_directive(*directive, element);
      } else if (key.of(element) == nullptr) {
        return no_merge_key(element, key.name);
      } else {
        for (auto at = place_of(element, live, key); at >= 0; at = place_of(element, live, key)) {
          live.erase(live.begin() + at);
        }
      }
    }
    if (replace) {
      live = std::move(plain);
      return json::array();
    }
    return plain;
  }
};

} // namespace

Result<json::value> strategic_merge(json::value original, json::value patch, const Type& type) {
  return Merger().map(std::move(original), std::move(patch), &type);
}

} // namespace berth::patch
