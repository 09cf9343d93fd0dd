#include "berth/patch/last_applied.h"

#include "berth/api/json.h"
#include "berth/patch/typed.h"

namespace berth::patch {
namespace {

constexpr std::string_view kAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

std::string_view annotation_of(const json::value& object) {
  const json::value* annotations = api::find_path(object, "metadata.annotations");
  const json::value* text = annotations == nullptr ? nullptr : api::find(*annotations, kAnnotation);
  return text != nullptr && text->is_string() ? std::string_view(text->get_string())
                                              : std::string_view();
}

} // namespace

std::optional<FieldSet> last_applied_fields(const schema::Type& type, const json::value& live,
                                            std::string_view api_version) {
  const std::string_view text = annotation_of(live);
  const auto last = api::parse_json(text);
  if (text.empty() || !last || api::string_at(*last, "apiVersion") != api_version ||
      !check_typed(type, *last, Duplicates::Refused)) {
    return std::nullopt;
  }
  const Comparison since = compare_typed(type, *last, live);
  FieldSet out = fields_of(type, *last);
  for (const FieldSet* changed : {&since.modified, &since.added, &since.removed}) {
    out = FieldSet::without(out, *changed);
  }
  return out;
}

void refresh_last_applied(json::value& object, const json::value& applied) {
  if (annotation_of(object).empty()) {
    return;
  }
  json::value said = applied;
  if (api::find_path(said, "metadata.annotations") != nullptr) {
    json::object& texts =
        api::object_at(api::object_at(said.get_object(), "metadata"), "annotations");
    if (const auto at = texts.find(kAnnotation); at != texts.end()) {
      texts.stable_erase(at);
    }
  }
  api::object_at(api::object_at(object.get_object(), "metadata"), "annotations")[kAnnotation] =
      api::to_json(said) + "\n";
}

} // namespace berth::patch
