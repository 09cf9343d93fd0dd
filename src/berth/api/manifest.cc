#include "berth/api/manifest.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/json_positions.h"
#include "berth/api/json_reader.h"

namespace berth::api {
namespace {

constexpr int kMaxListDepth = 8;

struct Document {
  json::value value;
  std::shared_ptr<const PositionMap> positions;
  std::vector<DuplicateKey> duplicates;
};

std::string escaped(std::string_view token) {
  std::string out;
  for (const char c : token) {
    out += c == '~' ? "~0" : (c == '/' ? "~1" : std::string(1, c));
  }
  return out;
}

std::size_t skip_blanks(std::string_view text, std::size_t from) {
  return std::min(text.find_first_not_of(" \t\r\n", from), text.size());
}

/// One JSON value after another, as `kubectl get -o json` and concatenations of it have them.
Result<std::vector<Document>> read_json_stream(std::string_view text, std::string_view file,
                                               Duplicates duplicates) {
  std::vector<Document> out;
  LineColumn start;
  std::size_t counted = 0;
  for (std::size_t at = skip_blanks(text, 0); at < text.size();) {
    BERTH_TRY(JsonValue read, read_json_value(text, at, file, {}, duplicates));
    const LineColumn step = line_column(text.substr(counted), at - counted);
    start = {.line = start.line + step.line - 1,
             .column = step.line > 1 ? step.column : start.column + step.column - 1};
    counted = at;
    // Anything but an object will be refused: where it starts is enough.
    const std::size_t size = read.value.is_object() ? read.end - at : 1;
    for (std::size_t& offset : read.dropped) {
      offset -= at;
    }
    auto positions = std::make_shared<const PositionMap>(
        json_positions(text.substr(at, size), start, read.dropped));
    out.push_back({.value = std::move(read.value),
                   .positions = std::move(positions),
                   .duplicates = std::move(read.duplicates)});
    at = skip_blanks(text, read.end);
  }
  return out;
}

Result<std::vector<Document>> read_yaml_stream(std::string_view text, std::string_view file,
                                               Duplicates duplicates) {
  BERTH_TRY(std::vector<YamlDocument> documents, parse_yaml(text, file, duplicates));
  std::vector<Document> out;
  out.reserve(documents.size());
  for (YamlDocument& document : documents) {
    out.push_back({.value = std::move(document.value),
                   .positions = std::make_shared<const PositionMap>(std::move(document.positions)),
                   .duplicates = std::move(document.duplicates)});
  }
  return out;
}

/// JSON is YAML too, but its own reader is ten times as fast. What it refuses may still be YAML in
/// braces: worth a second reading if it looks like it, or is small.
Result<std::vector<Document>> read_documents(std::string_view text, std::string_view file,
                                             Duplicates duplicates) {
  constexpr std::size_t kSmall = 1UL << 20U;
  const std::size_t start = skip_blanks(text, 0);
  const bool braces = start < text.size() && (text[start] == '{' || text[start] == '[');
  if (!braces) {
    return read_yaml_stream(text, file, duplicates);
  }
  const std::size_t inside = skip_blanks(text, start + 1);
  const bool quoted_key = inside < text.size() && text[inside] == '"';
  auto as_json = read_json_stream(text, file, duplicates);
  if (as_json || (text.size() > kSmall && (quoted_key || text[start] == '['))) {
    return as_json;
  }
  auto as_yaml = read_yaml_stream(text, file, duplicates);
  return as_yaml || !quoted_key ? std::move(as_yaml) : std::move(as_json);
}

std::string_view described(const json::value& value) {
  return value.is_array() ? "a list" : (value.is_string() ? "plain text" : "a single value");
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Result<void> add(json::value value, const std::shared_ptr<const PositionMap>& positions,
                   std::string pointer, int depth) {
    Manifest made{.object = {}, .where = {}, .positions = positions, .pointer = std::move(pointer)};
    const Position at = positions->find_next(PositionMap::Pointer::of(made.pointer), cursor_);
    made.where = {.file = file_, .line = at.line, .column = at.column, .field = {}};
    if (!value.is_object()) {
      return fail_at(
          made.where,
          fmt::format("a Kubernetes object is a map with apiVersion, kind and metadata, this is {}",
                      described(value)));
    }
    if (string_at(value, "kind").ends_with("List") && find(value, "items") != nullptr) {
      return add_items(value.get_object(), made, depth);
    }
    if (find(value, "kind") == nullptr && find(value, "apiVersion") == nullptr) {
      return fail_at(
          made.where,
          "no Kubernetes object: it has neither apiVersion nor kind; is this a configuration "
          "or values file?");
    }
    auto object = Object::from_json(std::move(value));
    if (!object) {
      return tl::unexpected(made.locate(std::move(object).error()));
    }
    made.object = *std::move(object);
    if (made.object.gvk().group.ends_with(".config.k8s.io")) {
      return fail_at(made.where, fmt::format("a {} configures a program and is no object of a "
                                             "cluster; give it to the flag that reads it",
                                             made.object.gvk().kind));
    }
    if (made.object.meta().name.empty() && made.object.meta().generate_name.empty()) {
      return fail_at(made.locate("metadata.name"),
                     fmt::format("a {} needs a name", made.object.gvk().kind));
    }
    out_.push_back(std::move(made));
    return {};
  }

  /// Starts on another document.
  void begin() { cursor_ = 0; }
  std::vector<Manifest> take() { return std::move(out_); }

 private:
  Result<void> add_items(json::object& list, const Manifest& at, int depth) {
    json::array* items = list["items"].if_array();
    if (items == nullptr) {
      return fail_at(at.locate("items"), "items must be a list");
    }
    if (depth >= kMaxListDepth) {
      return fail_at(at.where,
                     fmt::format("lists within lists deeper than {} levels", kMaxListDepth));
    }
    for (std::size_t i = 0; i < items->size(); ++i) {
      json::value item = std::move((*items)[i]);
      complete(item, list);
      BERTH_CHECK(
          add(std::move(item), at.positions, fmt::format("{}/items/{}", at.pointer, i), depth + 1));
    }
    return {};
  }

  /// Items of a PodList need not repeat that they are Pods.
  static void complete(json::value& item, const json::object& list) {
    const json::string& kind = list.at("kind").get_string();
    const std::size_t stem = kind.size() - std::string_view("List").size();
    if (stem == 0 || !item.is_object()) {
      return;
    }
    json::object& object = item.get_object();
    if (!object.contains("kind")) {
      object["kind"] = kind.subview(0, stem);
    }
    if (const json::value* version = list.if_contains("apiVersion");
        version != nullptr && !object.contains("apiVersion")) {
      object["apiVersion"] = *version;
    }
  }

  std::string file_;
  std::size_t cursor_ = 0; ///< how far the walk through the document's positions has come
  std::vector<Manifest> out_;
};

Result<LenientManifests> read(std::string_view text, std::string_view file, Duplicates duplicates) {
  // UTF-16 has zero bytes too, and says so at its start; libyaml reads it.
  const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos && !utf16) {
    const LineColumn at = line_column(text, zero);
    return fail_at({.file = std::string(file), .line = at.line, .column = at.column, .field = {}},
                   "binary data where yaml or json was expected");
  }
  BERTH_TRY(std::vector<Document> documents, read_documents(text, file, duplicates));
  LenientManifests out;
  Reader reader(file);
  for (Document& document : documents) {
    reader.begin();
    BERTH_CHECK(reader.add(std::move(document.value), document.positions, "", 0));
    std::ranges::move(document.duplicates, std::back_inserter(out.duplicates));
  }
  out.manifests = reader.take();
  return out;
}

} // namespace

Where Manifest::locate(std::string_view field_path) const {
  const Position at = positions ? positions->find(pointer + pointer_of(field_path)) : Position();
  return {
      .file = where.file, .line = at.line, .column = at.column, .field = std::string(field_path)};
}

Error Manifest::locate(Error error) const {
  if (!error.where || error.where->line == 0) {
    error.where = locate(error.where ? error.where->field : "");
  }
  return error;
}

Result<std::vector<Manifest>> read_manifests(std::string_view text, std::string_view file) {
  BERTH_TRY(LenientManifests strict, read(text, file, Duplicates::Refuse));
  return std::move(strict.manifests);
}

Result<LenientManifests> read_manifests_leniently(std::string_view text, std::string_view file) {
  return read(text, file, Duplicates::TakeLast);
}

std::string pointer_of(std::string_view field_path) {
  std::string out;
  while (!field_path.empty()) {
    if (field_path.front() == '.') {
      field_path.remove_prefix(1);
    }
    const bool bracket = field_path.starts_with('[');
    const std::size_t end = bracket ? std::min(field_path.find(']'), field_path.size())
                                    : std::min(field_path.find_first_of(".["), field_path.size());
    out += "/" + escaped(field_path.substr(bracket ? 1 : 0, end - (bracket ? 1 : 0)));
    field_path.remove_prefix(std::min(end + (bracket ? 1 : 0), field_path.size()));
  }
  return out;
}

} // namespace berth::api
