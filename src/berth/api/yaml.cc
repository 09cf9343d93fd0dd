#include "berth/api/yaml.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/json_reader.h"
#include "berth/api/yaml_event.h"
#include "berth/api/yaml_scalar.h"

namespace berth::api {
namespace {

constexpr std::size_t kMaxDepth = 128;
constexpr std::size_t kMaxAliasNodes = 1'000'000;

struct Extent {
  std::size_t nodes = 1;
  std::size_t depth = 1;
};

Extent extent_of(const json::value& value) {
  Extent out;
  const auto include = [&](const json::value& part) {
    const Extent inner = extent_of(part);
    out.nodes += inner.nodes;
    out.depth = std::max(out.depth, inner.depth + 1);
  };
  if (const json::array* array = value.if_array()) {
    std::for_each(array->begin(), array->end(), include);
  } else if (const json::object* object = value.if_object()) {
    std::for_each(object->begin(), object->end(),
                  [&](const auto& member) { include(member.value()); });
  }
  return out;
}

/// Turns the events of one stream into documents. Finished values wait on a stack until their
/// parent is complete.
class Builder {
 public:
  Builder(std::string_view text, std::string_view file, Duplicates duplicates)
      : text_(text), file_(file), on_duplicate_(duplicates) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Builder() { yaml_parser_delete(&parser_); }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Result<std::vector<YamlDocument>> run() {
    std::vector<YamlDocument> documents;
    while (true) {
      YamlEvent event;
      BERTH_CHECK(next(event));
      if (event.type() == YAML_STREAM_END_EVENT) {
        return documents;
      }
      if (event.type() != YAML_DOCUMENT_START_EVENT) {
        continue;
      }
      BERTH_TRY(YamlDocument document, parse_document());
      if (!document.value.is_null()) {
        documents.push_back(std::move(document));
      }
    }
  }

 private:
  struct Entry {
    std::string key;
    Position at;
    bool merged = false;
    PositionMap::Range positions; ///< of its value and what is inside
  };
  struct Anchor {
    json::value value;
    Extent extent;
  };

  Result<YamlDocument> parse_document() {
    anchors_.clear();
    open_anchors_.clear();
    values_.clear();
    entries_.clear();
    path_.clear();
    duplicates_.clear();
    positions_ = {};
    YamlEvent root;
    BERTH_CHECK(next(root));
    BERTH_CHECK(parse_node(root, {}, 1));
    YamlEvent end;
    BERTH_CHECK(next(end));
    return YamlDocument{.value = std::move(values_.back()),
                        .positions = std::move(positions_),
                        .duplicates = std::move(duplicates_)};
  }

  /// Parses the node that starts with `event` and leaves its value on the stack.
  Result<void> parse_node(const YamlEvent& event, PositionMap::Pointer pointer, std::size_t depth) {
    positions_.set(pointer, event.at());
    if (depth > kMaxDepth) {
      return error(event.at(), fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    if (event.type() == YAML_ALIAS_EVENT) {
      return expand_alias(event, depth);
    }
    const std::string anchor(event.anchor());
    if (!anchor.empty()) {
      open_anchors_.insert(anchor);
    }
    switch (event.type()) {
    case YAML_SCALAR_EVENT: {
      BERTH_TRY(json::value value, resolve(event));
      values_.push_back(std::move(value));
      break;
    }
    case YAML_SEQUENCE_START_EVENT:
      BERTH_CHECK(parse_sequence(pointer, depth));
      break;
    case YAML_MAPPING_START_EVENT:
      BERTH_CHECK(parse_mapping(pointer, depth));
      break;
    default:
      return error(event.at(), "a value was expected");
    }
    if (!anchor.empty()) {
      open_anchors_.erase(anchor);
      anchors_.insert_or_assign(anchor,
                                Anchor{json::value(values_.back()), extent_of(values_.back())});
    }
    return {};
  }

  Result<void> parse_sequence(PositionMap::Pointer pointer, std::size_t depth) {
    const std::size_t first = values_.size();
    while (true) {
      YamlEvent event;
      BERTH_CHECK(next(event));
      if (event.type() == YAML_SEQUENCE_END_EVENT) {
        break;
      }
      const std::size_t index = values_.size() - first;
      path_.push_back({.index = index});
      BERTH_CHECK(parse_node(event, pointer.element(index), depth + 1));
      path_.pop_back();
    }
    json::array array;
    array.reserve(values_.size() - first);
    for (std::size_t i = first; i < values_.size(); ++i) {
      array.push_back(std::move(values_[i]));
    }
    values_.resize(first);
    values_.emplace_back(std::move(array));
    return {};
  }

  Result<void> parse_mapping(PositionMap::Pointer pointer, std::size_t depth) {
    const std::size_t first_value = values_.size();
    const std::size_t first_entry = entries_.size();
    while (true) {
      YamlEvent event;
      BERTH_CHECK(next(event));
      if (event.type() == YAML_MAPPING_END_EVENT) {
        return finish_mapping(first_value, first_entry);
      }
      const Position at = event.at();
      if (is_merge(event)) {
        YamlEvent value;
        BERTH_CHECK(next(value));
        BERTH_CHECK(parse_node(value, pointer, depth + 1));
        BERTH_CHECK(merge(at));
        continue;
      }
      BERTH_TRY(std::string key, parse_key(event));
      YamlEvent value;
      BERTH_CHECK(next(value));
      const std::size_t first_position = positions_.size();
      path_.push_back({.name = key, .is_member = true});
      BERTH_CHECK(parse_node(value, pointer.member(key), depth + 1));
      path_.pop_back();
      entries_.push_back({.key = std::move(key),
                          .at = at,
                          .merged = false,
                          .positions = {.from = first_position, .to = positions_.size()}});
    }
  }

  static bool is_merge(const YamlEvent& event) {
    return event.type() == YAML_SCALAR_EVENT && event.scalar() == "<<" &&
           ((event.plain() && event.tag().empty()) || event.tag() == "tag:yaml.org,2002:merge");
  }

  /// Replaces the value on top of the stack, a mapping or a list of them, by its members.
  Result<void> merge(Position at) {
    const json::value source = std::move(values_.back());
    values_.pop_back();
    const auto add = [&](const json::value& from) -> bool {
      const json::object* object = from.if_object();
      if (object == nullptr) {
        return false;
      }
      for (const auto& [key, value] : *object) {
        entries_.push_back({.key = std::string(key), .at = at, .merged = true, .positions = {}});
        values_.emplace_back(value);
      }
      return true;
    };
    const json::array* list = source.if_array();
    const bool maps = list == nullptr ? add(source) : std::all_of(list->begin(), list->end(), add);
    if (!maps) {
      return error(at, "a merge key << takes a map or a list of maps");
    }
    return {};
  }

  Result<void> finish_mapping(std::size_t first_value, std::size_t first_entry) {
    const std::size_t count = entries_.size() - first_entry;
    const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(first_entry);
    std::set<std::string_view> written;
    if (std::any_of(begin, entries_.end(), [](const Entry& entry) { return entry.merged; })) {
      for (auto it = begin; it != entries_.end(); ++it) {
        if (!it->merged) {
          written.insert(it->key);
        }
      }
    }
    json::object object;
    object.reserve(count);
    bool given_twice = false;
    for (std::size_t i = 0; i < count; ++i) {
      const Entry& entry = entries_[first_entry + i];
      // What a map says itself wins over what it merges; of merged maps the earlier wins.
      if (entry.merged && written.contains(entry.key)) {
        continue;
      }
      const auto [member, is_new] = object.emplace(entry.key, std::move(values_[first_value + i]));
      if (is_new || entry.merged) {
        continue;
      }
      if (on_duplicate_ == Duplicates::Refuse) {
        const auto earlier = std::find_if(
            begin, entries_.end(), [&](const Entry& e) { return !e.merged && e.key == entry.key; });
        return error(entry.at, fmt::format("key \"{}\" is given twice, first at line {} column {}",
                                           entry.key, earlier->at.line, earlier->at.column));
      }
      member->value() = std::move(values_[first_value + i]); // emplace left it alone
      given_twice = true;
    }
    if (given_twice) {
      report_duplicates(first_entry);
    }
    entries_.resize(first_entry);
    values_.resize(first_value);
    values_.emplace_back(std::move(object));
    return {};
  }

  /// Reports keys given again, in the order of the text, and forgets where the values stand that do
  /// not count.
  void report_duplicates(std::size_t first_entry) {
    struct Seen {
      const Entry* first = nullptr;
      const Entry* last = nullptr;
    };
    std::map<std::string_view, Seen> by_key;
    std::vector<PositionMap::Range> dropped;
    for (std::size_t i = first_entry; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (entry.merged) {
        continue;
      }
      Seen& seen = by_key.try_emplace(entry.key, Seen{&entry, nullptr}).first->second;
      if (seen.last != nullptr) {
        dropped.push_back(seen.last->positions);
      }
      seen.last = &entry;
    }
    std::vector<Seen> twice;
    for (const auto& [key, seen] : by_key) {
      if (seen.first != seen.last) {
        twice.push_back(seen);
      }
    }
    const auto by_place = [](const Seen& seen) { return seen.last->positions.from; };
    std::ranges::sort(twice, {}, by_place);
    for (const auto& [first, last] : twice) {
      path_.push_back({.name = last->key, .is_member = true});
      duplicates_.push_back({.field = field_path(path_),
                             .line = last->at.line,
                             .column = last->at.column,
                             .first_line = first->at.line,
                             .first_column = first->at.column});
      path_.pop_back();
    }
    std::ranges::sort(dropped, {}, &PositionMap::Range::from);
    positions_.forget(dropped);
  }

  /// The text of a key; numbers and booleans are named as kubectl names them on the way to JSON.
  Result<std::string> parse_key(const YamlEvent& event) {
    json::value key;
    if (event.type() == YAML_ALIAS_EVENT) {
      BERTH_CHECK(expand_alias(event, 1));
      key = std::move(values_.back());
      values_.pop_back();
    } else if (event.type() == YAML_SCALAR_EVENT) {
      BERTH_TRY(key, resolve(event));
      if (!event.anchor().empty()) {
        anchors_.insert_or_assign(std::string(event.anchor()), Anchor{json::value(key), {}});
      }
    } else {
      return error(event.at(), "a map key must be a string" + hint(event.at().line, event.at()));
    }
    if (const json::string* text = key.if_string()) {
      return std::string(*text);
    }
    if (key.is_bool() || key.is_number()) {
      return to_json(key);
    }
    return error(event.at(), "a map key must be a string");
  }

  Result<json::value> resolve(const YamlEvent& event) {
    // "!" asks for a string whatever it looks like.
    const bool untagged = event.tag().empty() || event.tag() == "!";
    if (untagged && !(event.plain() && event.tag().empty())) {
      return json::value(json::string_view(event.scalar().data(), event.scalar().size()));
    }
    auto value = untagged ? resolve_plain_scalar(event.scalar())
                          : resolve_tagged_scalar(event.tag(), event.scalar());
    if (!value) {
      return error(event.at(), value.error().message);
    }
    return value;
  }

  Result<void> expand_alias(const YamlEvent& event, std::size_t depth) {
    const std::string name(event.anchor());
    if (open_anchors_.contains(name)) {
      return error(event.at(), fmt::format("anchor \"{}\" contains itself", name));
    }
    const auto it = anchors_.find(name);
    if (it == anchors_.end()) {
      return error(event.at(), fmt::format("there is no anchor \"{}\" before this alias", name));
    }
    const Anchor& anchor = it->second;
    alias_nodes_ += anchor.extent.nodes;
    if (alias_nodes_ > kMaxAliasNodes) {
      return error(event.at(),
                   fmt::format("aliases expand to more than {} values", kMaxAliasNodes));
    }
    if (depth + anchor.extent.depth - 1 > kMaxDepth) {
      return error(event.at(), fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    values_.emplace_back(anchor.value);
    return {};
  }

  Result<void> next(YamlEvent& event) {
    if (yaml_parser_parse(&parser_, event.raw()) != 0) {
      return {};
    }
    if (parser_.error == YAML_READER_ERROR) {
      const LineColumn at = line_column(text_, std::min(parser_.problem_offset, text_.size()));
      return error({.line = at.line, .column = at.column},
                   fmt::format("not text: {}", parser_.problem));
    }
    std::string message = parser_.problem == nullptr ? "out of memory" : parser_.problem;
    const Position at = position_of(parser_.problem_mark);
    Position context = at;
    if (parser_.context != nullptr) {
      context = position_of(parser_.context_mark);
      message += fmt::format(", {}", parser_.context);
      if (context.line != at.line) {
        message += fmt::format(" at line {} column {}", context.line, context.column);
      }
    }
    return error(at, message + hint(std::min(context.line, at.line), at));
  }

  static Position position_of(const yaml_mark_t& mark) {
    return {.line = static_cast<int>(mark.line) + 1, .column = static_cast<int>(mark.column) + 1};
  }

  tl::unexpected<Error> error(Position at, std::string message) const {
    return fail_at({.file = std::string(file_), .line = at.line, .column = at.column, .field = {}},
                   std::move(message));
  }

  /// What to try, for the mistakes that libyaml's words do not explain. The problem began on
  /// `first_line`.
  std::string hint(int first_line, Position at) const {
    const std::size_t begin = line_start(first_line);
    const std::size_t last = line_start(at.line);
    const std::size_t end = std::min(text_.find('\n', last), text_.size());
    const std::string_view region = text_.substr(begin, end - begin);
    if (region.find("{{") != std::string_view::npos ||
        region.find("{%") != std::string_view::npos) {
      return "; this looks like a template: render it first, e.g. with helm template";
    }
    if (region.find("${") != std::string_view::npos) {
      return "; this looks like a template: fill in its variables first, e.g. with envsubst";
    }
    const std::size_t byte = last + static_cast<std::size_t>(at.column - 1);
    return byte < end && text_[byte] == '\t' ? "; yaml is not indented with tabs: use blanks" : "";
  }

  std::size_t line_start(int line) const {
    std::size_t begin = 0;
    for (int i = 1; i < line && begin < text_.size(); ++i) {
      begin = std::min(text_.find('\n', begin), text_.size() - 1) + 1;
    }
    return begin;
  }

  std::string_view text_;
  std::string_view file_;
  Duplicates on_duplicate_;
  yaml_parser_t parser_{};
  std::vector<json::value> values_;
  std::vector<Entry> entries_;
  std::map<std::string, Anchor> anchors_;
  std::set<std::string> open_anchors_;
  std::size_t alias_nodes_ = 0;
  PositionMap positions_;
  std::vector<PathStep> path_; ///< of the node being parsed; names live in the frames that parse
  std::vector<DuplicateKey> duplicates_;
};

} // namespace

Result<std::vector<YamlDocument>> parse_yaml(std::string_view text, std::string_view file,
                                             Duplicates duplicates) {
  return Builder(text, file, duplicates).run();
}

} // namespace berth::api
