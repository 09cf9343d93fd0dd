#include "berth/schema/protobuf.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/time.h"
#include "berth/schema/bundle.h"
#include "berth/schema/catalogue.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

constexpr std::string_view kMagic("k8s\0", 4);
constexpr int kMostNesting = 100;
constexpr std::int64_t kMostSeconds = 9'000'000'000; // what a TimePoint reaches, about 285 years
constexpr std::int64_t kMostNanos = 999'999'999;
constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

// ---- the table of field numbers
struct WireField {
  std::string name;
  std::string type; ///< s, B, i, b, d, or a message's name
  char shape = '1'; ///< '*' repeated, '%' map
};
using WireMessage = std::map<std::uint64_t, WireField>;
using WireTable = std::map<std::string, WireMessage, std::less<>>;

WireMessage message_of(std::string_view text) {
  WireMessage fields;
  while (!text.empty()) {
    const std::size_t end = text.find(", ");
    const std::string_view one = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 2);
    const std::size_t first = one.find(' ');
    const std::size_t second = one.find(' ', first + 1);
    std::uint64_t number = 0;
    std::from_chars(one.data(), one.data() + first, number);
    WireField field{.name = std::string(one.substr(first + 1, second - first - 1)),
                    .type = std::string(one.substr(second + 1))};
    if (field.type.starts_with('*') || field.type.starts_with('%')) {
      field.shape = field.type.front();
      field.type.erase(0, 1);
    }
    fields.emplace(number, std::move(field));
  }
  return fields;
}

const WireTable& table() {
  static const WireTable kTable = [] {
    WireTable made;
    const auto bundle = api::parse_json(bundle_text());
    if (const json::value* wire = bundle ? api::find(*bundle, "wire") : nullptr) {
      for (const auto& [name, text] : wire->as_object()) {
        made.emplace(name, message_of(std::string_view(text.as_string())));
      }
    }
    return made;
  }();
  return kTable;
}

// ---- the wire
tl::unexpected<Error> damaged(std::string_view why) {
  return fail(Code::BadRequest, fmt::format("the protobuf body cannot be read: {}", why));
}

enum class WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Item {
  std::uint64_t number = 0;
  WireType type = WireType::Varint;
  std::uint64_t value = 0; ///< of Varint and the fixed ones
  std::string_view bytes;
};

/// The fields of one message, one after the other.
class Items {
 public:
  explicit Items(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }

  Result<Item> next() {
    BERTH_TRY(const std::uint64_t key, varint());
    Item item{.number = key >> 3, .type = static_cast<WireType>(key & 7)};
    switch (item.type) {
    case WireType::Varint: {
      BERTH_TRY(item.value, varint());
      return item;
    }
    case WireType::Fixed64:
      return fixed(item, 8);
    case WireType::Fixed32:
      return fixed(item, 4);
    case WireType::Bytes: {
      BERTH_TRY(const std::uint64_t size, varint());
      if (size > rest_.size()) {
        return damaged("it ends early");
      }
      item.bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return item;
    }
    }
    return damaged("a field has an unknown form");
  }

 private:
  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) {
        return damaged("it ends early");
      }
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    return damaged("a number is too long");
  }

  Result<Item> fixed(Item item, std::size_t size) {
    if (rest_.size() < size) {
      return damaged("it ends early");
    }
    for (std::size_t i = 0; i < size; ++i) {
      item.value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(size);
    return item;
  }

  std::string_view rest_;
};

std::int64_t signed_of(std::uint64_t value) {
  return std::bit_cast<std::int64_t>(value);
}

std::string to_base64(std::string_view bytes) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t block = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      block = block << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += i + j <= bytes.size() ? kLetters[block >> (18 - 6 * j) & 63U] : '=';
    }
  }
  return out;
}

/// Numbers and texts of a small message, by field number.
struct Parts {
  std::map<std::uint64_t, std::int64_t> numbers;
  std::map<std::uint64_t, std::string> texts;

  std::int64_t number(std::uint64_t at) const {
    const auto found = numbers.find(at);
    return found == numbers.end() ? 0 : found->second;
  }
  std::string text(std::uint64_t at) const {
    const auto found = texts.find(at);
    return found == texts.end() ? std::string() : found->second;
  }
};

Result<Parts> parts_of(std::string_view bytes) {
  Parts parts;
  for (Items items(bytes); !items.at_end();) {
    BERTH_TRY(const Item item, items.next());
    if (item.type == WireType::Bytes) {
      parts.texts[item.number] = std::string(item.bytes);
    } else {
      parts.numbers[item.number] = signed_of(item.value);
    }
  }
  return parts;
}

class Reader {
 public:
  /// `type`: of the object that the fields go into, which may be null; fields that it does not have
  /// are structs that Go embeds, whose fields are the object's own.
  Result<void> read(std::string_view message, std::string_view bytes, const Type* type,
                    json::object& into) {
    const Deeper deeper(depth_);
    if (depth_ > kMostNesting) {
      return damaged("it is nested too deeply");
    }
    const auto known = table().find(message);
    if (known == table().end()) {
      return damaged(fmt::format("{} is unknown", message));
    }
    for (Items items(bytes); !items.at_end();) {
      BERTH_TRY(const Item item, items.next());
      const auto field = known->second.find(item.number);
      if (field == known->second.end()) {
        continue;
      }
      BERTH_CHECK(read_field(field->second, item, type, into));
    }
    return {};
  }

 private:
  struct Deeper {
    explicit Deeper(int& counted) : depth(counted) { ++depth; }
    ~Deeper() { --depth; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    int& depth;
  };

  static bool is_message(const WireField& field) { return field.type.size() > 1; }

  static const Type* type_of(const Type* owner, const WireField& field) {
    const Field* found =
        owner == nullptr || owner->form != Form::Struct ? nullptr : owner->field(field.name);
    if (found == nullptr) {
      return nullptr;
    }
    return field.shape == '1' ? found->type : found->type->element;
  }

  Result<void> read_field(const WireField& field, const Item& item, const Type* owner,
                          json::object& into) {
    const Type* type = type_of(owner, field);
    if (field.shape == '%') {
      return read_entry(field, item, type, into);
    }
    const bool embedded = field.shape == '1' && is_message(field) && type == nullptr &&
                          owner != nullptr && owner->form == Form::Struct &&
                          owner->field(field.name) == nullptr;
    if (embedded) {
      return read(field.type, item.bytes, owner, into);
    }
    if (field.shape == '*') {
      json::value& list = into[field.name];
      if (!list.is_array()) {
        list.emplace_array();
      }
      if (field.type == "i" && item.type == WireType::Bytes) {
        return damaged("packed numbers are not expected");
      }
      BERTH_TRY(json::value element, value_of(field.type, item, type));
      list.get_array().push_back(std::move(element));
      return {};
    }
    BERTH_TRY(json::value value, value_of(field.type, item, type));
    into[field.name] = std::move(value);
    return {};
  }

  Result<void> read_entry(const WireField& field, const Item& item, const Type* type,
                          json::object& into) {
    std::string key;
    Item value{.number = 2, .type = WireType::Bytes};
    for (Items items(item.bytes); !items.at_end();) {
      BERTH_TRY(const Item part, items.next());
      if (part.number == 1) {
        key = part.bytes;
      } else if (part.number == 2) {
        value = part;
      }
    }
    BERTH_TRY(json::value read, value_of(field.type, value, type));
    api::object_at(into, field.name)[key] = std::move(read);
    return {};
  }

  Result<json::value> value_of(const std::string& type, const Item& item, const Type* schema) {
    if (type.size() == 1) {
      return scalar(type.front(), item);
    }
    if (auto special = special_value(type, item.bytes)) {
      return *std::move(special);
    }
    json::object object;
    BERTH_CHECK(read(type, item.bytes, schema, object));
    if (type.ends_with(".ExtraValue") || type == fmt::format("{}Verbs", kMeta)) {
      json::value* items = object.if_contains("items"); // Go lists that are messages of their own
      return items == nullptr ? json::value(json::array()) : std::move(*items);
    }
    return object;
  }

  static json::value scalar(char type, const Item& item) {
    switch (type) {
    case 's':
      return json::string(item.bytes);
    case 'B':
      return json::string(to_base64(item.bytes));
    case 'b':
      return item.value != 0;
    case 'd':
      return std::bit_cast<double>(item.value);
    default:
      return signed_of(item.value);
    }
  }

  /// Messages that JSON writes as something else.
  static std::optional<Result<json::value>> special_value(std::string_view type,
                                                          std::string_view bytes) {
    const auto parts = parts_of(bytes);
    const auto from = [&](auto&& make) -> Result<json::value> {
      if (!parts) {
        return tl::unexpected(parts.error());
      }
      return make(*parts);
    };
    if (type == "io.k8s.apimachinery.pkg.api.resource.Quantity") {
      return from([](const Parts& p) { return json::value(p.text(1)); });
    }
    if (type == "io.k8s.apimachinery.pkg.util.intstr.IntOrString") {
      return from([](const Parts& p) {
        return p.number(1) == 0 ? json::value(p.number(2)) : json::value(p.text(3));
      });
    }
    if (type == "io.k8s.apimachinery.pkg.runtime.RawExtension" ||
        type == fmt::format("{}FieldsV1", kMeta)) {
      return from([](const Parts& p) {
        return api::parse_json(p.text(1)).value_or(json::value(json::object()));
      });
    }
    const bool micro = type == fmt::format("{}MicroTime", kMeta);
    if (micro || type == fmt::format("{}Time", kMeta)) {
      return from([&](const Parts& p) -> json::value {
        if (p.numbers.empty()) {
          return nullptr;
        }
        const std::int64_t seconds = std::clamp(p.number(1), -kMostSeconds, kMostSeconds);
        const std::int64_t nanos = std::clamp<std::int64_t>(p.number(2), 0, kMostNanos);
        const TimePoint time = TimePoint::from_unix_seconds(seconds) + Duration::nanos(nanos);
        return json::value(micro ? to_rfc3339_micro(time) : to_rfc3339(time));
      });
    }
    if (type == fmt::format("{}Duration", kMeta)) {
      return from(
          [](const Parts& p) { return json::value(to_string(Duration::nanos(p.number(1)))); });
    }
    return std::nullopt;
  }

  int depth_ = 0;
};

} // namespace

bool is_protobuf(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

Result<json::value> read_protobuf(std::string_view bytes) {
  if (!is_protobuf(bytes)) {
    return damaged("it does not begin as Kubernetes' envelope does");
  }
  BERTH_TRY(const Parts envelope, parts_of(bytes.substr(kMagic.size())));
  BERTH_TRY(const Parts meta, parts_of(envelope.text(1)));
  const api::GroupVersionKind gvk = api::make_gvk(meta.text(1), meta.text(2));
  const TypePtr type = Catalogue::builtin().type(gvk);
  if (type == nullptr || !table().contains(type->name)) {
    return damaged(fmt::format("no kind \"{}\" of version \"{}\" is known in protobuf", gvk.kind,
                               gvk.api_version()));
  }
  json::object object{{"kind", gvk.kind}, {"apiVersion", gvk.api_version()}};
  BERTH_CHECK(Reader().read(type->name, envelope.text(2), type.get(), object));
  return object;
}

} // namespace berth::schema
