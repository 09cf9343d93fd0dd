// What cells are made of: readers of documents that take a missing field or one of another type as
// Go's zero value, and the texts that several kinds share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "berth/api/json.h"
#include "berth/server/table.h"

namespace berth::server {

namespace json = boost::json;

namespace tables {

// ---- readers; `path` is dotted, "spec.template.metadata" ----------------------------------------
std::int64_t number_at(const json::value& in, std::string_view path, std::int64_t otherwise = 0);
bool truth_at(const json::value& in, std::string_view path, bool otherwise = false);
/// Elements of an array; empty if there is none.
std::span<const json::value> list_at(const json::value& in, std::string_view path);
/// nullptr if there is no object.
const json::object* members_at(const json::value& in, std::string_view path);
/// Members of an object or elements of an array.
std::int64_t size_at(const json::value& in, std::string_view path);
std::optional<TimePoint> time_at(const json::value& in, std::string_view path);
/// The string; `otherwise` if it is empty or there is none.
std::string text_at(const json::value& in, std::string_view path, std::string_view otherwise = "");
/// Canonical text of a quantity; as written if it is none, "0" if there is nothing.
std::string quantity_text(const json::value* quantity);
/// A string, or a number as text: metav1's IntOrString. `otherwise` if it is neither.
std::string text_or_number(const json::value* value, std::string_view otherwise);
/// Strings at `member` of each element, in order; of the elements themselves if `member` is empty.
std::vector<std::string> texts_of(std::span<const json::value> list, std::string_view member = "");
/// Status of the first condition of that type in an array of conditions; "" if there is none.
std::string_view condition_status(std::span<const json::value> conditions, std::string_view type);

// ---- texts --------------------------------------------------------------------------------------
/// duration.HumanDuration: "5s", "2m30s", "3h20m", "2d4h"; "<invalid>" if it lies 2 s or more in
/// the future.
std::string human_duration(Duration d);
/// How long ago; "<unknown>" for no time.
std::string age(std::optional<TimePoint> since, TimePoint now);
/// now - since, at the ends of Duration's range if it lies beyond.
Duration elapsed(TimePoint since, TimePoint now);
/// labels.FormatLabels: "a=b,c=d" by key; "<none>".
std::string labels_text(const json::value* labels);
/// labels.Selector's text of a metav1.LabelSelector: "a=b,c in (x,y),!d" by key; "" for none.
/// nullopt if it is none that Kubernetes would take.
std::optional<std::string> selector_text(const json::value* selector);
/// metav1.FormatLabelSelector: the same with "<none>" and "<error>".
std::string formatted_selector(const json::value* selector);
/// "a,b,c + 4 more...": the first `max` of a list of `count`; `empty` if there is nothing.
std::string first_few(std::span<const std::string> list, std::size_t max, std::string_view empty,
                      std::string_view separator = ",");
/// ASCII alone.
std::string lower(std::string_view text);

// ---- cells --------------------------------------------------------------------------------------
Cell text(std::string_view path, std::string_view otherwise = "");
/// The string, even an empty one, of a field that Go keeps by pointer; `otherwise` without it.
Cell set_text(std::string_view path, std::string_view otherwise);
Cell number(std::string_view path, std::int64_t otherwise = 0);
Cell truth(std::string_view path, bool otherwise = false);
Cell size_of(std::string_view path);
Cell age_since(std::string_view path);

// ---- columns ------------------------------------------------------------------------------------
Column name_column();
Column age_column();
/// Containers and Images of the pod template whose spec is at `path`, with -o wide.
Column containers_column(std::string_view path);
Column images_column(std::string_view path);

} // namespace tables
} // namespace berth::server
