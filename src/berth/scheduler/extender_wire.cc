#include "berth/scheduler/extender_wire.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::scheduler {
namespace {

namespace json = boost::json;
using sched::ExtenderAnswer;
using sched::ExtenderQuestion;
using sched::ExtenderVerb;

json::object args_of(const sched::Extender& extender, const ExtenderQuestion& question,
                     const ExtenderObjects& objects) {
  json::object args{{"Pod", objects.pod.json()}, {"Nodes", nullptr}, {"NodeNames", nullptr}};
  if (extender.node_cache_capable) {
    args["NodeNames"] = json::array(question.nodes.begin(), question.nodes.end());
    return args;
  }
  json::array items;
  for (const std::string& name : question.nodes) {
    if (const api::Object node = objects.node(name)) {
      items.push_back(node.json());
    }
  }
  args["Nodes"] = json::object{{"metadata", json::object()}, {"items", std::move(items)}};
  return args;
}

json::object preemption_args(const sched::Extender& extender, const ExtenderQuestion& question,
                             const ExtenderObjects& objects) {
  json::object by_node;
  for (const auto& [node, victims] : question.victims) {
    json::array pods;
    for (const sched::PodPtr& victim : victims.pods) {
      const api::Object object = objects.victim(victim->uid);
      pods.push_back(extender.node_cache_capable || !object
                         ? json::value(json::object{{"UID", victim->uid}})
                         : object.json());
    }
    by_node[node] =
        json::object{{"Pods", std::move(pods)}, {"NumPDBViolations", victims.budget_violations}};
  }
  return {{"Pod", objects.pod.json()},
          {extender.node_cache_capable ? "NodeNameToMetaVictims" : "NodeNameToVictims",
           std::move(by_node)}};
}

/// A member of that type; null counts as absent.
const json::value* member(const json::value& in, std::string_view name, json::kind kind) {
  const json::object* object = in.if_object();
  const json::value* found = object == nullptr ? nullptr : object->if_contains(name);
  return found != nullptr && found->kind() == kind ? found : nullptr;
}

std::string text(const json::value& in, std::string_view name) {
  const json::value* found = member(in, name, json::kind::string);
  return found == nullptr ? std::string() : std::string(found->as_string());
}

tl::unexpected<Error> unusable(std::string why) {
  return fail(Code::Internal, std::move(why));
}

void read_reasons(const json::value& in, std::string_view name,
                  std::map<std::string, std::string, std::less<>>& out) {
  if (const json::value* reasons = member(in, name, json::kind::object)) {
    for (const auto& [node, reason] : reasons->as_object()) {
      out.emplace(std::string(node), reason.is_string() ? std::string(reason.as_string()) : "");
    }
  }
}

/// NodeNames of an extender that knows the nodes, else Nodes; as kube-scheduler, NodeNames of the
/// others are not looked at.
std::vector<std::string> passing_nodes(const sched::Extender& extender, const json::value& in) {
  std::vector<std::string> out;
  if (const json::value* names = member(in, "NodeNames", json::kind::array);
      names != nullptr && extender.node_cache_capable) {
    for (const json::value& name : names->as_array()) {
      out.emplace_back(name.is_string() ? std::string(name.as_string()) : std::string());
    }
    return out;
  }
  const json::value* nodes = member(in, "Nodes", json::kind::object);
  const json::value* items =
      nodes == nullptr ? nullptr : member(*nodes, "items", json::kind::array);
  if (items != nullptr) {
    for (const json::value& item : items->as_array()) {
      const json::value* metadata = member(item, "metadata", json::kind::object);
      out.push_back(metadata == nullptr ? "" : text(*metadata, "name"));
    }
  }
  return out;
}

Result<ExtenderAnswer> read_filter(const sched::Extender& extender,
                                   const ExtenderQuestion& question, const json::value& in) {
  if (!in.is_object()) {
    return unusable("the answer is no JSON object");
  }
  if (std::string error = text(in, "Error"); !error.empty()) {
    return unusable(std::move(error));
  }
  ExtenderAnswer answer;
  answer.nodes = passing_nodes(extender, in);
  for (const std::string& node : answer.nodes) {
    if (std::ranges::find(question.nodes, node) == question.nodes.end()) {
      return unusable(
          fmt::format("extender \"{}\" claims a filtered node \"{}\" which is not found "
                      "in the input node list",
                      extender.url_prefix, node));
    }
  }
  read_reasons(in, "FailedNodes", answer.failed);
  read_reasons(in, "FailedAndUnresolvableNodes", answer.unresolvable);
  return answer;
}

Result<ExtenderAnswer> read_scores(const json::value& in) {
  if (!in.is_array()) {
    return unusable("the answer is no JSON array");
  }
  ExtenderAnswer answer;
  for (const json::value& item : in.as_array()) {
    const json::value* score = member(item, "Score", json::kind::int64);
    answer.scores[text(item, "Host")] = score == nullptr ? 0 : score->as_int64();
  }
  return answer;
}

Result<ExtenderAnswer> read_victims(const json::value& in) {
  const json::value* by_node = member(in, "NodeNameToMetaVictims", json::kind::object);
  if (!in.is_object()) {
    return unusable("the answer is no JSON object");
  }
  ExtenderAnswer answer;
  if (by_node == nullptr) {
    return answer; // nowhere
  }
  for (const auto& [node, meta] : by_node->as_object()) {
    ExtenderAnswer::Victims& victims = answer.victims[std::string(node)];
    if (const json::value* pods = member(meta, "Pods", json::kind::array)) {
      for (const json::value& pod : pods->as_array()) {
        victims.uids.push_back(text(pod, "UID"));
      }
    }
    if (const json::value* n = member(meta, "NumPDBViolations", json::kind::int64)) {
      victims.budget_violations = n->as_int64();
    }
  }
  return answer;
}

} // namespace

std::string extender_url(const sched::Extender& extender, std::string_view verb) {
  std::string_view prefix = extender.url_prefix;
  while (prefix.ends_with('/')) {
    prefix.remove_suffix(1);
  }
  return fmt::format("{}/{}", prefix, verb);
}

std::string_view verb_of(const sched::Extender& extender, ExtenderVerb verb) {
  switch (verb) {
  case ExtenderVerb::Filter:
    return extender.filter_verb;
  case ExtenderVerb::Prioritize:
    return extender.prioritize_verb;
  case ExtenderVerb::Preempt:
    return extender.preempt_verb;
  }
  return "";
}

std::string question_body(const sched::Extender& extender, const ExtenderQuestion& question,
                          const ExtenderObjects& objects) {
  return api::to_json(question.verb == ExtenderVerb::Preempt
                          ? preemption_args(extender, question, objects)
                          : args_of(extender, question, objects));
}

Result<ExtenderAnswer> read_answer(const sched::Extender& extender,
                                   const ExtenderQuestion& question, std::string_view body) {
  BERTH_TRY(const json::value in, api::parse_json(body));
  switch (question.verb) {
  case ExtenderVerb::Filter:
    return read_filter(extender, question, in);
  case ExtenderVerb::Prioritize:
    return read_scores(in);
  case ExtenderVerb::Preempt:
    return read_victims(in);
  }
  return ExtenderAnswer();
}

std::string binding_body(const store::Binding& binding) {
  return api::to_json(json::object{{"PodName", binding.pod.name},
                                   {"PodNamespace", binding.pod.ns},
                                   {"PodUID", binding.uid},
                                   {"Node", binding.node}});
}

Result<void> read_binding_answer(std::string_view body) {
  BERTH_TRY(const json::value in, api::parse_json(body));
  if (std::string error = text(in, "Error"); !error.empty()) {
    return unusable(std::move(error));
  }
  return {};
}

} // namespace berth::scheduler
