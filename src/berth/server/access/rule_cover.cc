#include "berth/server/access/rule_cover.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "berth/store/errors.h"

namespace berth::server {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

void add_parts(const PolicyRule& rule, PolicyRules& out) {
  for (const std::string& group : rule.api_groups) {
    for (const std::string& resource : rule.resources) {
      for (const std::string& verb : rule.verbs) {
        PolicyRule part{.verbs = {verb},
                        .api_groups = {group},
                        .resources = {resource},
                        .resource_names = {},
                        .non_resource_urls = {}};
        if (rule.resource_names.empty()) {
          out.push_back(std::move(part));
          continue;
        }
        for (const std::string& name : rule.resource_names) {
          part.resource_names = {name};
          out.push_back(part);
        }
      }
    }
  }
  for (const std::string& url : rule.non_resource_urls) {
    for (const std::string& verb : rule.verbs) {
      out.push_back({.verbs = {verb},
                     .api_groups = {},
                     .resources = {},
                     .resource_names = {},
                     .non_resource_urls = {url}});
    }
  }
}

bool covers_resource(const Words& held, std::string_view wanted) {
  if (has(held, "*") || has(held, wanted)) {
    return true;
  }
  const std::size_t slash = wanted.find('/');
  return slash != std::string_view::npos && has(held, fmt::format("*{}", wanted.substr(slash)));
}

bool covers_url(const Words& held, std::string_view wanted) {
  return std::ranges::any_of(held, [&](std::string_view url) {
    const std::size_t last = url.find_last_not_of('*');
    const std::string_view stem = url.substr(0, last == std::string_view::npos ? 0 : last + 1);
    return url == wanted || (url.ends_with('*') && wanted.starts_with(stem));
  });
}

/// Whether one rule covers one part.
bool covers(const PolicyRule& held, const PolicyRule& part) {
  if (!has(held.verbs, "*") && !has(held.verbs, part.verbs.front())) {
    return false;
  }
  if (!part.non_resource_urls.empty()) {
    return covers_url(held.non_resource_urls, part.non_resource_urls.front());
  }
  if (!has(held.api_groups, "*") && !has(held.api_groups, part.api_groups.front())) {
    return false;
  }
  return covers_resource(held.resources, part.resources.front()) &&
         (held.resource_names.empty() ||
          (!part.resource_names.empty() && has(held.resource_names, part.resource_names.front())));
}

bool is_simple(const PolicyRule& rule) {
  return rule.resource_names.size() <= 1 && rule.non_resource_urls.empty() &&
         rule.api_groups.size() == 1 && rule.resources.size() == 1;
}

} // namespace

PolicyRules missing_rules(const PolicyRules& held, const PolicyRules& wanted) {
  PolicyRules parts;
  for (const PolicyRule& rule : wanted) {
    add_parts(rule, parts);
  }
  std::erase_if(parts, [&](const PolicyRule& part) {
    return std::ranges::any_of(held, [&](const PolicyRule& rule) { return covers(rule, part); });
  });
  return parts;
}

PolicyRules compacted(const PolicyRules& rules) {
  PolicyRules out;
  std::map<std::tuple<std::string, std::string, Words>, std::size_t> simple;
  for (const PolicyRule& rule : rules) {
    if (!is_simple(rule)) {
      out.push_back(rule);
      continue;
    }
    const auto [at, added] = simple.try_emplace(
        {rule.api_groups.front(), rule.resources.front(), rule.resource_names}, out.size());
    if (added) {
      out.push_back(rule);
      continue;
    }
    for (const std::string& verb : rule.verbs) {
      if (Words& verbs = out[at->second].verbs; !has(verbs, verb)) {
        verbs.push_back(verb);
      }
    }
  }
  return out;
}

std::string to_string(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "" : " ") + store::quote(word);
  }
  return "[" + out + "]";
}

std::string to_string(const PolicyRule& rule) {
  std::string out;
  const auto add = [&](std::string_view name, const Words& words) {
    if (!words.empty()) {
      out += fmt::format("{}{}:{}", out.empty() ? "" : ", ", name, to_string(words));
    }
  };
  add("APIGroups", rule.api_groups);
  add("Resources", rule.resources);
  add("NonResourceURLs", rule.non_resource_urls);
  add("ResourceNames", rule.resource_names);
  add("Verbs", rule.verbs);
  return "{" + out + "}";
}

} // namespace berth::server
