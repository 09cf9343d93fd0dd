#include "berth/store/validation/job_policy.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "berth/store/validation/formats.h"
#include "berth/store/validation/index_format.h"

namespace berth::store {
namespace {

constexpr std::size_t kMaxRules = 20;
constexpr std::size_t kMaxExitCodes = 255;
constexpr std::size_t kMaxConditions = 20;

using Names = std::set<std::string, std::less<>>;

Names container_names(const Judged& spec) {
  Names names;
  const Judged pod = spec["template"]["spec"];
  for (const std::string_view list : {"containers", "initContainers"}) {
    pod.each(list, [&](const Judged& container) { names.emplace(container.text("name")); });
  }
  return names;
}

void need_one_of(const Judged& text, const std::vector<std::string>& known) {
  std::string listed;
  for (const std::string& one : known) {
    listed += (listed.empty() ? "" : " ") + quote(one);
  }
  if (text.need_text(fmt::format("valid values: [{}]", listed))) {
    text.one_of(known);
  }
}

void check_exit_codes(const Judged& codes, const Names& containers) {
  need_one_of(codes["operator"], {"In", "NotIn"});
  if (const Judged name = codes["containerName"]; name && !containers.contains(name.text())) {
    name.invalid("must be one of the container or initContainer names in the pod template");
  }
  const Judged values = codes["values"];
  if (values.size() == 0) {
    values.invalid(values ? "[]" : "null", "at least one value is required");
  } else if (values.size() > kMaxExitCodes) {
    values.too_many(kMaxExitCodes);
  }
  std::set<std::int64_t> seen;
  std::int64_t last = INT64_MIN;
  bool ordered = true;
  codes.each("values", [&](const Judged& value) {
    const std::int64_t code = value.number().value_or(0);
    if (codes.text("operator") == "In" && code == 0) {
      value.invalid("must not be 0 for the In operator");
    }
    if (!seen.insert(code).second) {
      value.duplicate();
    }
    ordered = ordered && code >= last;
    last = code;
  });
  if (!ordered) {
    values.invalid("must be ordered");
  }
}

void invalid_rule(const Judged& rule, std::string_view why) {
  Error error = invalid_value(rule.path(), "", why);
  error.message = fmt::format("Invalid value: {}", why); // the rule itself is not shown
  rule.errors().push_back(std::move(error));
}

void check_failure_rule(const Judged& spec, const Judged& rule, const Names& containers) {
  if (rule.text("action") == "FailIndex") {
    if (!spec.has("backoffLimitPerIndex")) {
      rule["action"].invalid("requires the backoffLimitPerIndex to be set");
    }
  } else {
    need_one_of(rule["action"], {"Count", "FailIndex", "FailJob", "Ignore"});
  }
  const bool by_code = rule.has("onExitCodes");
  const bool by_condition = rule.size("onPodConditions") > 0;
  if (by_code) {
    check_exit_codes(rule["onExitCodes"], containers);
  }
  if (rule.size("onPodConditions") > kMaxConditions) {
    rule["onPodConditions"].too_many(kMaxConditions);
  }
  rule.each("onPodConditions", [](const Judged& condition) {
    condition["type"].label_name();
    need_one_of(condition["status"], {"False", "True", "Unknown"});
  });
  if (by_code && by_condition) {
    invalid_rule(rule, "specifying both OnExitCodes and OnPodConditions is not supported");
  } else if (!by_code && !by_condition) {
    invalid_rule(rule, "specifying one of OnExitCodes and OnPodConditions is required");
  }
}

} // namespace

void check_failure_policy(const Judged& spec) {
  const Judged policy = spec["podFailurePolicy"];
  if (!policy) {
    return;
  }
  if (policy.size("rules") > kMaxRules) {
    policy["rules"].too_many(kMaxRules);
  }
  const Names containers = container_names(spec);
  policy.each("rules", [&](const Judged& rule) { check_failure_rule(spec, rule, containers); });
}

void check_success_policy(const Judged& spec) {
  const Judged policy = spec["successPolicy"];
  if (!policy) {
    return;
  }
  if (spec.text("completionMode") != "Indexed") {
    policy.invalid("requires indexed completion mode");
    return;
  }
  if (policy.size("rules") == 0) {
    policy["rules"].required("at least one rules must be specified when the successPolicy is "
                             "specified");
  } else if (policy.size("rules") > kMaxRules) {
    policy["rules"].too_many(kMaxRules);
  }
  const std::int64_t completions = spec.number("completions").value_or(0);
  policy.each("rules", [&](const Judged& rule) {
    if (!rule.has("succeededCount") && !rule.has("succeededIndexes")) {
      rule.required("at least one of succeededCount or succeededIndexes must be specified");
    }
    const Judged count = rule["succeededCount"];
    count.not_negative();
    std::int64_t indexes = 0;
    if (const Judged listed = rule["succeededIndexes"]) {
      if (const auto read = parse_indexes(listed.text(), completions); !read) {
        listed.invalid("error parsing succeededIndexes: " + read.error().message);
      } else {
        for (const IndexRange& range : *read) {
          indexes += range.last - range.first + 1;
        }
      }
    }
    if (count.number().value_or(0) > completions) {
      count.invalid(fmt::format(
          "must be less than or equal to {} (the number of specified completions)", completions));
    }
    if (rule.has("succeededIndexes") && count.number().value_or(0) > indexes) {
      count.invalid(fmt::format("must be less than or equal to {} (the number of indexes in the "
                                "specified succeededIndexes field)",
                                indexes));
    }
  });
}

} // namespace berth::store
