#include "berth/schema/openapi_parameters.h"

#include <algorithm>
#include <array>
#include <string>

#include "berth/base/assert.h"

namespace berth::schema {
namespace {

constexpr std::array kParameters = {
    Parameter{"allowWatchBookmarks", "boolean",
              "A watch sends events of type BOOKMARK, which tell how far it has come."},
    Parameter{"continue", "string", "Go on with a list where its last part ended."},
    Parameter{"dryRun", "string", "All: do everything but store the result."},
    Parameter{"fieldManager", "string",
              "Who changes the object, as managedFields tell it; at most 128 characters."},
    Parameter{"fieldSelector", "string", "Only objects with these values of fields."},
    Parameter{
        "fieldValidation", "string",
        "What becomes of unknown and duplicate fields: Ignore, Warn (the default) or Strict."},
    Parameter{"force", "boolean", "Apply takes over fields that others own."},
    Parameter{"gracePeriodSeconds", "integer",
              "How long the object may take to go; 0 is at once. Defaults to the object's own."},
    Parameter{"labelSelector", "string", "Only objects with these labels."},
    Parameter{"limit", "integer", "How many objects a part of a list may hold."},
    Parameter{"name", "string", "Name of the object."},
    Parameter{"namespace", "string", "Namespace of the objects."},
    Parameter{"orphanDependents", "boolean", "Deprecated; see propagationPolicy."},
    Parameter{"pretty", "string", "Indent the answer."},
    Parameter{"propagationPolicy", "string",
              "What becomes of dependents: Orphan, Background or Foreground."},
    Parameter{"resourceVersion", "string", "The version that the answer is of, or starts from."},
    Parameter{"resourceVersionMatch", "string",
              "How resourceVersion is meant: Exact or NotOlderThan."},
    Parameter{"sendInitialEvents", "boolean",
              "A watch begins with the objects that there are, then a bookmark."},
    Parameter{"timeoutSeconds", "integer", "How long a list or watch may last."},
    Parameter{"watch", "boolean", "Send changes as they happen."},
};

} // namespace

const Parameter& parameter_of(std::string_view name) {
  const auto* const at = std::ranges::find(kParameters, name, &Parameter::name);
  BERTH_ASSERT(at != kParameters.end(), std::string(name));
  return *at;
}

} // namespace berth::schema
