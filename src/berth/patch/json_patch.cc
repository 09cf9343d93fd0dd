#include "berth/patch/json_patch.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::patch {
namespace {

constexpr std::string_view kMissing = "missing value";

tl::unexpected<Error> cannot(std::string message) {
  return fail(Code::Invalid, std::move(message));
}
tl::unexpected<Error> missing(std::string_view what) {
  return cannot(fmt::format("{}: {}", what, kMissing));
}

std::string decoded(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    if (escape && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out += token[i + 1] == '0' ? '~' : '/';
      ++i;
    } else {
      out += token[i];
    }
  }
  return out;
}

/// strconv.Atoi.
Result<std::int64_t> number(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') {
    digits.remove_prefix(1);
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const std::string quoted = api::to_json(json::value(text));
  if (error == std::errc::result_out_of_range) {
    return cannot(fmt::format("strconv.Atoi: parsing {}: value out of range", quoted));
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return cannot(fmt::format("strconv.Atoi: parsing {}: invalid syntax", quoted));
  }
  return value;
}

/// An index into `size` places, counted from the end if negative.
Result<std::size_t> index_in(std::string_view key, std::size_t size) {
  BERTH_TRY(const std::int64_t index, number(key));
  const auto places = static_cast<std::int64_t>(size);
  if (index >= places || index < -places) {
    return cannot(
        fmt::format("Unable to access invalid index: {}: invalid index referenced", index));
  }
  return static_cast<std::size_t>(index < 0 ? index + places : index);
}

/// An object or array and the key in it that a pointer ends with.
struct Spot {
  json::value* container = nullptr;
  std::string key;

  /// The value there; null for a member that is missing or null.
  Result<json::value*> get() const {
    if (json::object* object = container->if_object()) {
      json::value* value = object->if_contains(key);
      return value == nullptr || value->is_null() ? nullptr : value;
    }
    json::array& array = container->get_array();
    BERTH_TRY(const std::size_t index, index_in(key, array.size()));
    return array[index].is_null() ? nullptr : &array[index];
  }

  Result<void> add(json::value value) const {
    if (json::object* object = container->if_object()) {
      (*object)[key] = std::move(value);
      return {};
    }
    json::array& array = container->get_array();
    if (key == "-") {
      array.push_back(std::move(value));
      return {};
    }
    if (const auto given = number(key); !given) {
      return cannot(
          fmt::format("value was not a proper array index: '{}': {}", key, given.error().message));
    }
    BERTH_TRY(const std::size_t index, index_in(key, array.size() + 1));
    array.insert(array.begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
    return {};
  }

  Result<void> set(json::value value) const {
    if (json::object* object = container->if_object()) {
      (*object)[key] = std::move(value);
      return {};
    }
    json::array& array = container->get_array();
    BERTH_TRY(const std::size_t index, index_in(key, array.size()));
    array[index] = std::move(value);
    return {};
  }

  Result<void> remove() const {
    if (json::object* object = container->if_object()) {
      const auto at = object->find(key);
      if (at == object->end()) {
        return missing(fmt::format("Unable to remove nonexistent key: {}", key));
      }
      object->stable_erase(at);
      return {};
    }
    json::array& array = container->get_array();
    BERTH_TRY(const std::size_t index, index_in(key, array.size()));
    array.erase(array.begin() + static_cast<std::ptrdiff_t>(index));
    return {};
  }
};

/// Nothing if something on the way is missing or holds nothing.
std::optional<Spot> find_spot(json::value& document, std::string_view pointer) {
  const std::size_t first = pointer.find('/');
  if (first == std::string_view::npos) {
    return std::nullopt;
  }
  pointer.remove_prefix(first + 1); // what stands before the first slash is not looked at
  json::value* at = &document;
  while (true) {
    if (!at->is_object() && !at->is_array()) {
      return std::nullopt;
    }
    const std::size_t slash = pointer.find('/');
    Spot spot{.container = at, .key = decoded(pointer.substr(0, slash))};
    if (slash == std::string_view::npos) {
      return spot;
    }
    const auto next = spot.get();
    if (!next || *next == nullptr) {
      return std::nullopt;
    }
    at = *next;
    pointer.remove_prefix(slash + 1);
  }
}

class Patcher {
 public:
  explicit Patcher(json::value& document) : document_(document) {}

  Result<void> run(const json::value& operation) {
    const json::value* kind = api::find(operation, "op");
    const std::string op = kind != nullptr && kind->is_string() ? std::string(kind->get_string())
                                                                : std::string("unknown");
    if (op == "add") {
      return add(operation);
    }
    if (op == "remove") {
      return remove(operation);
    }
    if (op == "replace") {
      return replace(operation);
    }
    if (op == "move") {
      return move(operation);
    }
    if (op == "test") {
      return test(operation);
    }
    if (op == "copy") {
      return copy(operation);
    }
    return cannot("Unexpected kind: " + op);
  }

 private:
  static Result<std::string> pointer(const json::value& operation, std::string_view member,
                                     std::string_view op) {
    const json::value* text = api::find(operation, member);
    if (text != nullptr && text->is_string()) {
      return std::string(text->get_string());
    }
    const bool bare = op == "add" || op == "remove" || (op == "copy" && member == "path");
    const std::string_view why = bare               ? ""
                                 : member == "path" ? ": operation missing path field"
                                                    : ": operation, missing from field";
    return missing(fmt::format("{} operation failed to decode {}{}", op, member, why));
  }

  static json::value value_of(const json::value& operation) {
    const json::value* value = api::find(operation, "value");
    return value == nullptr ? json::value() : *value;
  }

  static Result<void> with(std::string_view what, Result<void> result) {
    if (!result) {
      return cannot(fmt::format("{}: {}", what, result.error().message));
    }
    return result;
  }

  Result<void> add(const json::value& operation) {
    BERTH_TRY(const std::string path, pointer(operation, "path", "add"));
    const auto spot = find_spot(document_, path);
    if (!spot) {
      return missing(
          fmt::format("add operation does not apply: doc is missing path: \"{}\"", path));
    }
    return with(fmt::format("error in add for path: '{}'", path), spot->add(value_of(operation)));
  }

  Result<void> remove(const json::value& operation) {
    BERTH_TRY(const std::string path, pointer(operation, "path", "remove"));
    const auto spot = find_spot(document_, path);
    if (!spot) {
      return missing(
          fmt::format("remove operation does not apply: doc is missing path: \"{}\"", path));
    }
    return with(fmt::format("error in remove for path: '{}'", path), spot->remove());
  }

  Result<void> replace(const json::value& operation) {
    BERTH_TRY(const std::string path, pointer(operation, "path", "replace"));
    json::value value = value_of(operation);
    if (path.empty()) {
      if (!value.is_object() && !value.is_array()) {
        return cannot("replace operation value must be object or array");
      }
      document_ = std::move(value);
      return {};
    }
    const auto spot = find_spot(document_, path);
    if (!spot) {
      return missing(
          fmt::format("replace operation does not apply: doc is missing path: {}", path));
    }
    if (!spot->get()) {
      return missing(fmt::format("replace operation does not apply: doc is missing key: {}", path));
    }
    return with(fmt::format("error in remove for path: '{}'", path), spot->set(std::move(value)));
  }

  Result<void> move(const json::value& operation) {
    BERTH_TRY(const std::string from, pointer(operation, "from", "move"));
    const auto source = find_spot(document_, from);
    if (!source) {
      return missing(
          fmt::format("move operation does not apply: doc is missing from path: {}", from));
    }
    const std::string what = fmt::format("error in move for path: '{}'", source->key);
    auto found = source->get();
    if (!found) {
      return cannot(fmt::format("{}: {}", what, found.error().message));
    }
    json::value value = *found == nullptr ? json::value() : **found;
    BERTH_CHECK(with(what, source->remove()));
    BERTH_TRY(const std::string path, pointer(operation, "path", "move"));
    const auto target = find_spot(document_, path);
    if (!target) {
      return missing(
          fmt::format("move operation does not apply: doc is missing destination path: {}", path));
    }
    return with(fmt::format("error in move for path: '{}'", path), target->add(std::move(value)));
  }

  Result<void> test(const json::value& operation) {
    BERTH_TRY(const std::string path, pointer(operation, "path", "test"));
    const json::value value = value_of(operation);
    const std::string failed = fmt::format("testing value {} failed: test failed", path);
    if (path.empty()) {
      return same_value(document_, value) ? Result<void>() : cannot(failed);
    }
    const auto spot = find_spot(document_, path);
    if (!spot) {
      return missing(fmt::format("test operation does not apply: is missing path: {}", path));
    }
    const auto found = spot->get();
    if (!found) {
      return cannot(fmt::format("error in test for path: '{}': {}", path, found.error().message));
    }
    const bool same = *found == nullptr ? value.is_null() : same_value(**found, value);
    return same ? Result<void>() : cannot(failed);
  }

  Result<void> copy(const json::value& operation) {
    BERTH_TRY(const std::string from, pointer(operation, "from", "copy"));
    const auto source = find_spot(document_, from);
    if (!source) {
      return missing(
          fmt::format("copy operation does not apply: doc is missing from path: {}", from));
    }
    const auto found = source->get();
    if (!found) {
      return cannot(fmt::format("error in copy for from: '{}': {}", from, found.error().message));
    }
    BERTH_TRY(const std::string path, pointer(operation, "path", "copy"));
    const auto target = find_spot(document_, path);
    if (!target) {
      return missing(
          fmt::format("copy operation does not apply: doc is missing destination path: {}", path));
    }
    json::value value = *found == nullptr ? json::value() : **found;
    copied_ += value.is_null() ? 0 : api::to_json(value).size();
    if (copied_ > kMostCopied) {
      return cannot(
          fmt::format("Unable to complete the copy, the accumulated size increase of copy "
                      "is {}, exceeding the limit {}",
                      copied_, kMostCopied));
    }
    return with("error while adding value during copy", target->add(std::move(value)));
  }

  json::value& document_;
  std::size_t copied_ = 0;
};

} // namespace

Result<json::value> json_patch(json::value document, const json::value& operations) {
  const json::array& list = operations.get_array();
  if (list.size() > kMostOperations) {
    return fail(Code::RequestEntityTooLarge,
                fmt::format("Request entity is too large: The allowed maximum operations in a JSON "
                            "patch is {}, got {}",
                            kMostOperations, list.size()));
  }
  Patcher patcher(document);
  for (const json::value& operation : list) {
    BERTH_CHECK(patcher.run(operation));
  }
  return document;
}

} // namespace berth::patch
