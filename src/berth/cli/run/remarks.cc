#include "berth/cli/run/remarks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/time.h"
#include "berth/model/pod.h"
#include "berth/runtime/simulated_runtime.h"

namespace berth::cli {
namespace {

namespace json = api::json;

constexpr std::string_view kOurs = "berth.dev/";
constexpr std::size_t kNamed = 20;

/// The pod that an object is, or makes.
struct Template {
  const json::value* pod = nullptr; ///< with metadata and spec; nullptr: none
  std::string path;                 ///< of it in the object: "" or "spec.template."
};

Template template_of(const api::Object& object) {
  const auto is = [&](std::string_view group, std::string_view kind) {
    return object.gvk().group == group && object.gvk().kind == kind;
  };
  if (is("", "Pod")) {
    return {.pod = &object.json(), .path = ""};
  }
  if (is("batch", "Job")) {
    return {.pod = api::find_path(object.json(), "spec.template"), .path = "spec.template."};
  }
  return {};
}

bool is_duration(std::string_view text) {
  return text == "forever" || parse_duration(text).has_value();
}

bool is_number(std::string_view text, int highest) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() && number >= 0 &&
         number <= highest;
}

// What is wrong with an annotation of ours; nullopt: nothing. A container's name may follow the
// key.
std::optional<std::string> fault_of(std::string_view key, std::string_view value) {
  const auto is = [&](std::string_view known) {
    return key == known || (key.starts_with(known) && key.substr(known.size()).starts_with('.'));
  };
  if (is(model::kRunForAnnotation) || is(runtime::kStopTakesAnnotation)) {
    return is_duration(value)
               ? std::nullopt
               : std::optional(fmt::format("want a duration such as \"45m\", or forever, got "
                                           "\"{}\"; it is passed over",
                                           value));
  }
  if (is(runtime::kExitCodeAnnotation)) {
    return is_number(value, 255)
               ? std::nullopt
               : std::optional(fmt::format(
                     "want a number from 0 to 255, got \"{}\"; it is passed over", value));
  }
  if (is(runtime::kFailTimesAnnotation)) {
    return is_number(value, 1 << 20)
               ? std::nullopt
               : std::optional(fmt::format("want a number, got \"{}\"; it is passed over", value));
  }
  return key == model::kGpuIndicesAnnotation
             ? std::nullopt
             : std::optional(fmt::format("no such annotation; there are {}, {}, {} and {}",
                                         model::kRunForAnnotation, runtime::kExitCodeAnnotation,
                                         runtime::kFailTimesAnnotation,
                                         runtime::kStopTakesAnnotation));
}

void about_annotations(const api::Manifest& manifest, const Template& made,
                       std::vector<report::Note>& notes) {
  const json::value* annotations = api::find_path(*made.pod, "metadata.annotations");
  if (annotations == nullptr || !annotations->is_object()) {
    return;
  }
  for (const auto& [name, value] : annotations->as_object()) {
    const std::string_view key(name.data(), name.size());
    if (!key.starts_with(kOurs) || !value.is_string()) {
      continue;
    }
    const json::string& text = value.as_string();
    if (auto fault = fault_of(key, {text.data(), text.size()})) {
      notes.push_back(
          {.warning = true,
           .where = manifest.locate(fmt::format("{}metadata.annotations[{}]", made.path, key)),
           .message = *std::move(fault)});
    }
  }
}

bool has_claims(const Template& made) {
  const json::value* claims = api::find_path(*made.pod, "spec.resourceClaims");
  return claims != nullptr && claims->is_array() && !claims->as_array().empty();
}

bool has_queue(const api::Manifest& manifest) {
  return manifest.object.meta().labels.contains("kueue.x-k8s.io/queue-name");
}

std::string name_of(const api::Object& object) {
  const api::ObjectMeta& meta = object.meta();
  return fmt::format("{} {}{}{}", object.gvk().kind, meta.ns, meta.ns.empty() ? "" : "/",
                     meta.name.empty() ? meta.generate_name + "*" : meta.name);
}

/// A remark made once for all objects that it is true of.
struct Remark {
  std::string_view one;  ///< after "Pod ns/name"
  std::string_view many; ///< after "12 objects"
  std::vector<const api::Manifest*> about = {};

  void add_to(std::vector<report::Note>& notes) const {
    if (about.empty()) {
      return;
    }
    const api::Object& first = about.front()->object;
    Where where = about.front()->where;
    where.column = 0;
    notes.push_back({.warning = true,
                     .where = std::move(where),
                     .message = about.size() == 1
                                    ? fmt::format("{} {}", name_of(first), one)
                                    : fmt::format("{} objects, first {}, {}", about.size(),
                                                  name_of(first), many)});
  }
};

} // namespace

std::vector<report::Note> remarks_on(const std::vector<api::Manifest>& objects) {
  std::vector<report::Note> notes;
  Remark claims{.one =
                    "asks for devices through resourceClaims: nothing here allocates them, it is "
                    "placed as if it asked for none",
                .many = "ask for devices through resourceClaims: nothing here allocates them, they "
                        "are placed as if they asked for none"};
  Remark queues{.one = "names a queue of Kueue: no Kueue runs here, it starts without admission",
                .many = "name a queue of Kueue: no Kueue runs here, they start without admission"};
  for (const api::Manifest& manifest : objects) {
    const Template made = template_of(manifest.object);
    if (made.pod == nullptr) {
      continue;
    }
    about_annotations(manifest, made, notes);
    if (has_claims(made)) {
      claims.about.push_back(&manifest);
    }
    if (has_queue(manifest)) {
      queues.about.push_back(&manifest);
    }
  }
  if (notes.size() > kNamed) {
    const std::size_t more = notes.size() - kNamed;
    notes.resize(kNamed);
    notes.push_back({.warning = true,
                     .where = {},
                     .message = fmt::format("{} more annotations are passed over", more)});
  }
  claims.add_to(notes);
  queues.add_to(notes);
  return notes;
}

} // namespace berth::cli
