// Whether the rules that somebody holds cover others, and what is missing. Source:
// component-helpers auth/rbac/validation/policy_comparator.go, kubernetes
// pkg/registry/rbac/validation/policy_compact.go.
#pragma once

#include <string>
#include <vector>

#include "berth/server/access/rbac_objects.h"

namespace berth::server {

/// What `held` lacks of `wanted`, broken down to one group, resource, verb and name (or one URL and
/// verb) a rule; empty if it covers all. O(held x parts of wanted).
PolicyRules missing_rules(const PolicyRules& held, const PolicyRules& wanted);
/// Rules of one group and resource that differ only by their verbs, as one.
PolicyRules compacted(const PolicyRules& rules);
/// {APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}
std::string to_string(const PolicyRule& rule);
/// ["a" "b"]
std::string to_string(const std::vector<std::string>& words);

} // namespace berth::server
