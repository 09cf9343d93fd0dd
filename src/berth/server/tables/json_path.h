// JSONPath as columns of custom resources use it: .a.b, .a\.b, ['a.b'], [0], [-1], [-1:], [0:4:2],
// [*], .*, [?(@.type=="Ready")] with ==, != or alone. Source: client-go util/jsonpath.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"

namespace berth::server::tables {

namespace json = boost::json;

/// Immutable once parsed.
class JsonPath {
 public:
  /// Error Invalid names the path and the character where it stops to be one.
  static Result<JsonPath> parse(std::string_view text);

  /// The first value at the path; nullptr if there is none. null is a value. O(size).
  const json::value* first(const json::value& document) const;

 private:
  class Reader;

  struct Member {
    std::string name;
  };
  struct Index {
    std::int64_t at = 0; ///< negative: from the end
  };
  /// Elements begin <= i < end, each step-th; negative: from the end. Nothing if it reaches beyond
  /// the array.
  struct Slice {
    std::optional<std::int64_t> begin;
    std::optional<std::int64_t> end;
    std::int64_t step = 1;
  };
  struct All {};
  enum class Test { Exists, Equal, Different };
  /// Elements of an array whose value at `path` passes.
  struct Filter {
    std::shared_ptr<const JsonPath> path;
    Test test = Test::Exists;
    json::value against;
  };
  using Step = std::variant<Member, Index, Slice, All, Filter>;

  static bool passes(const Filter& filter, const json::value& element);
  static void take_slice(const Slice& slice, const json::array& list,
                         std::vector<const json::value*>& out);
  /// Appends what one step leads to from `at`.
  static void take(const Step& step, const json::value& at, std::vector<const json::value*>& out);

  std::vector<Step> steps_;
};

} // namespace berth::server::tables
