// A live value and an applied one made one, and fields taken out of a value.
#include "berth/patch/atom.h"
#include "berth/patch/keyed_list.h"
#include "berth/patch/typed.h"

namespace berth::patch {
namespace {

using schema::Type;

std::optional<json::value> merged(const Type& type, const json::value* live,
                                  const json::value* applied);

std::optional<json::value> merged_map(const Type& type, const json::object* live,
                                      const json::object* applied) {
  json::object out;
  const auto take = [&](json::string_view key, const json::value* old, const json::value* said) {
    const Type* of = member_type(type, key);
    if (auto value = merged(of == nullptr ? deduced_type() : *of, old, said)) {
      out[key] = std::move(*value);
    }
  };
  if (live != nullptr) {
    for (const auto& [key, value] : *live) {
      take(key, &value, applied == nullptr ? nullptr : applied->if_contains(key));
    }
  }
  if (applied != nullptr) {
    for (const auto& [key, value] : *applied) {
      if (live == nullptr || !live->contains(key)) {
        take(key, nullptr, &value);
      }
    }
  }
  return out.empty() ? std::nullopt : std::optional<json::value>(std::move(out));
}

/// Two orders made one: elements that both have come as the applied list has them; each other
/// element keeps its place relative to its own list.
class ListMerger {
 public:
  ListMerger(const Type& type, const json::array* live, const json::array* applied)
      : element_(element_type(type)), live_(type, live), applied_(type, applied) {
    for (const auto& [element, item] : applied_.order()) {
      if (live_.has(element)) {
        shared_.push_back(&element);
      }
    }
  }

  std::optional<json::value> merge() {
    std::size_t l = 0;
    std::size_t r = 0;
    const auto& lefts = live_.order();
    const auto& rights = applied_.order();
    while (l < lefts.size() || r < rights.size()) {
      if (l < lefts.size() && r < rights.size()) {
        const PathElement& element = lefts[l].first;
        if (element == rights[r].first) {
          take_applied(rights[r].first);
          ++l;
          ++r;
          next_shared_++;
          continue;
        }
        if (applied_.has(element) && next_shared_ < shared_.size() &&
            !(*shared_[next_shared_] == element)) {
          ++l; // its turn comes with the applied list
          continue;
        }
      }
      if (l < lefts.size()) {
        const auto& [element, item] = lefts[l];
        if (!applied_.has(element)) {
          put(merged(element_, item, nullptr));
          ++l;
          continue;
        }
        if (done_.has_member(element)) {
          ++l;
          if (r >= rights.size()) {
            continue;
          }
        }
      }
      if (r < rights.size()) {
        const PathElement& element = rights[r].first;
        take_applied(element);
        ++r;
        if (next_shared_ < shared_.size() && *shared_[next_shared_] == element) {
          ++next_shared_;
        }
      }
    }
    return out_.empty() ? std::nullopt : std::optional<json::value>(std::move(out_));
  }

 private:
  void put(std::optional<json::value> value) {
    if (value) {
      out_.push_back(std::move(*value));
    }
  }
  // Of several live elements of one key none is merged: the applied one takes their place.
  void take_applied(const PathElement& element) {
    done_.add(element, true, {});
    put(merged(element_, live_.only(element), applied_.at(applied_.all(element).front())));
  }

  const Type& element_;
  KeyedList live_;
  KeyedList applied_;
  std::vector<const PathElement*> shared_;
  std::size_t next_shared_ = 0;
  FieldSet done_;
  json::array out_;
};

std::optional<json::value> merged(const Type& type, const json::value* live,
                                  const json::value* applied) {
  const json::value* kept = applied != nullptr ? applied : live;
  const Atom atom = atom_of(type, kept);
  if (atom.kind == Atom::Kind::Scalar || atom.atomic) {
    return *kept;
  }
  if (atom.kind == Atom::Kind::List) {
    const json::array* lefts = live == nullptr ? nullptr : live->if_array();
    const json::array* rights = applied == nullptr ? nullptr : applied->if_array();
    // Of two empty sides the applied one counts, so that null and [] stay different.
    if ((lefts == nullptr || lefts->empty()) && (rights == nullptr || rights->empty())) {
      return *kept;
    }
    return ListMerger(type, lefts, rights).merge();
  }
  const json::object* lefts = live == nullptr ? nullptr : live->if_object();
  const json::object* rights = applied == nullptr ? nullptr : applied->if_object();
  if ((lefts == nullptr || lefts->empty()) && (rights == nullptr || rights->empty())) {
    return *kept;
  }
  return merged_map(type, lefts, rights);
}

json::value removed_from_list(const Type& type, const json::array& array, const FieldSet& removed) {
  json::array out;
  for (const json::value& item : array) {
    const auto element = element_of(type, item);
    if (!element) {
      out.push_back(item);
    } else if (!removed.has_member(*element)) {
      const FieldSet& below = removed.under(*element);
      out.push_back(below.empty() ? item : remove_fields(element_type(type), item, below));
    }
  }
  return out.empty() ? json::value() : json::value(std::move(out));
}

json::value removed_from_map(const Type& type, const json::object& object,
                             const FieldSet& removed) {
  json::object out;
  for (const auto& [key, value] : object) {
    const PathElement element = PathElement::field(key);
    if (removed.has_member(element)) {
      continue;
    }
    const FieldSet& below = removed.under(element);
    const Type* of = member_type(type, key);
    out[key] =
        below.empty() ? value : remove_fields(of == nullptr ? deduced_type() : *of, value, below);
  }
  return out.empty() ? json::value() : json::value(std::move(out));
}

} // namespace

json::value merge_typed(const Type& type, const json::value& live, const json::value& applied) {
  return merged(type, &live, &applied).value_or(json::value());
}

json::value remove_fields(const Type& type, const json::value& value, const FieldSet& removed) {
  const Atom atom = atom_of(type, &value);
  if (atom.kind == Atom::Kind::Scalar) {
    return value;
  }
  if (atom.atomic) {
    return {};
  }
  if (atom.kind == Atom::Kind::List) {
    return value.is_array() ? removed_from_list(type, value.get_array(), removed) : json::value();
  }
  return value.is_object() ? removed_from_map(type, value.get_object(), removed) : json::value();
}

} // namespace berth::patch
