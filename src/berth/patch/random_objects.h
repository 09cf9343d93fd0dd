// A small type that has every way of sharing, and random objects of it, for property tests.
#pragma once

#include <rapidcheck.h>

#include "berth/patch/atom.h"
#include "berth/patch/patch_fixture.h"

namespace berth::patch::test {

/// Toy {name, count, labels {}, items [by name: {name, image, args []}], tags set, whole atomic {},
/// free anything}; strategic merge patch merges `items` by name and `tags`.
inline schema::TypePtr toy_type() {
  using schema::Form;
  auto arena = std::make_shared<schema::Arena>();
  const auto scalar = [&](Form form) {
    schema::Type& type = arena->add();
    type.form = form;
    return &type;
  };
  const auto of = [&](Form form, const schema::Type* element) {
    schema::Type* type = scalar(form);
    type->element = element;
    return type;
  };
  schema::Type* text = scalar(Form::String);
  schema::Type* args = of(Form::List, text);
  schema::Type* item = scalar(Form::Struct);
  item->name = "toy.v1.Item";
  item->fields = {{.name = "args", .type = args},
                  {.name = "image", .type = text},
                  {.name = "name", .type = text}};
  schema::Type* items = of(Form::List, item);
  items->list = schema::ListKind::Map;
  items->list_keys = {"name"};
  items->merges = true;
  items->merge_key = "name";
  schema::Type* tags = of(Form::List, text);
  tags->list = schema::ListKind::Set;
  tags->merges = true;
  schema::Type* whole = of(Form::Map, text);
  whole->atomic = true;
  schema::Type& toy = arena->named("toy.v1.Toy");
  toy.form = Form::Struct;
  toy.fields = {{.name = "apiVersion", .type = text},
                {.name = "count", .type = scalar(Form::Integer)},
                {.name = "free", .type = &deduced_type()},
                {.name = "items", .type = items},
                {.name = "kind", .type = text},
                {.name = "labels", .type = of(Form::Map, text)},
                {.name = "metadata", .type = &deduced_type()},
                {.name = "name", .type = text},
                {.name = "tags", .type = tags},
                {.name = "whole", .type = whole}};
  return schema::pointer_into(arena, toy);
}

inline Target toy_target(const schema::TypePtr& type) {
  return {.type = type.get(),
          .group = "toy",
          .version = "v1",
          .kind = "Toy",
          .zero = zero_object(*type, "toy/v1", "Toy"),
          .resets = {}};
}

inline int any_below(int end) {
  return *rc::gen::inRange(0, end);
}
inline json::string any_word() {
  constexpr std::string_view kWords[] = {"a", "b", "c", "d"};
  return json::string(kWords[any_below(4)]);
}

inline json::object any_labels() {
  json::object out;
  for (int i = any_below(4); i > 0; --i) {
    out[any_word()] = any_word();
  }
  return out;
}

inline json::array any_words() {
  json::array out;
  for (int i = any_below(4); i > 0; --i) {
    if (json::value word = any_word(); std::ranges::find(out, word) == out.end()) {
      out.push_back(std::move(word));
    }
  }
  return out;
}

inline json::array any_items() {
  json::array out;
  for (const json::value& name : any_words()) {
    json::object item{{"name", name}};
    if (any_below(2) == 0) {
      item["image"] = any_word();
    }
    if (any_below(3) == 0) {
      item["args"] = any_words();
    }
    out.push_back(std::move(item));
  }
  return out;
}

/// An object that says some of what a Toy can say; nothing in it is null or empty.
inline json::object any_toy() {
  json::object out{{"apiVersion", "toy/v1"}, {"kind", "Toy"}, {"metadata", {{"name", "t"}}}};
  const auto put = [&](json::string_view name, json::value value) {
    const bool empty = (value.is_array() && value.get_array().empty()) ||
                       (value.is_object() && value.get_object().empty());
    if (any_below(3) != 0 && !empty) {
      out[name] = std::move(value);
    }
  };
  put("name", any_word());
  put("count", any_below(3));
  put("labels", any_labels());
  put("items", any_items());
  put("tags", any_words());
  put("whole", any_labels());
  json::object inner = any_labels();
  inner[any_word()] = any_below(2);
  put("free", json::object{{std::string_view(any_word()), inner}, {"list", any_words()}});
  return out;
}

} // namespace berth::patch::test
