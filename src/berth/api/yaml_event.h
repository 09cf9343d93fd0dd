// One event of libyaml with its place, tag and anchor; freed with it. For yaml.cc only.
#pragma once

#include <string_view>

#include <yaml.h>

#include "berth/api/yaml.h"

namespace berth::api {

inline std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text));
}

class YamlEvent {
 public:
  YamlEvent() = default;
  ~YamlEvent() { yaml_event_delete(&event_); }
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;

  yaml_event_t* raw() { return &event_; }
  yaml_event_type_t type() const { return event_.type; }
  Position at() const {
    return {.line = static_cast<int>(event_.start_mark.line) + 1,
            .column = static_cast<int>(event_.start_mark.column) + 1};
  }
  std::string_view scalar() const {
    return {reinterpret_cast<const char*>(event_.data.scalar.value), event_.data.scalar.length};
  }
  std::string_view tag() const { return text_of(event_.data.scalar.tag); }
  bool plain() const { return event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE; }
  std::string_view anchor() const {
    switch (event_.type) {
    case YAML_SCALAR_EVENT:
      return text_of(event_.data.scalar.anchor);
    case YAML_SEQUENCE_START_EVENT:
      return text_of(event_.data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
      return text_of(event_.data.mapping_start.anchor);
    case YAML_ALIAS_EVENT:
      return text_of(event_.data.alias.anchor);
    default:
      return {};
    }
  }

 private:
  yaml_event_t event_{};
};

} // namespace berth::api
