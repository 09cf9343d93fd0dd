#include "berth/sched/extender.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::sched {
namespace {

constexpr std::int64_t kPluginRange = 10; // plugins score to 100, extenders to 10

std::vector<std::string> names_of(const VictimsByNode& victims) {
  std::vector<std::string> names;
  for (const auto& [node, ignored] : victims) {
    names.push_back(node);
  }
  return names;
}

} // namespace

bool is_interested(const Extender& extender, const PodInfo& pod, const ResourceNames& names) {
  if (extender.managed_resources.empty()) {
    return true;
  }
  return std::ranges::any_of(pod.requests, [&](const auto& request) {
    return std::ranges::find(extender.managed_resources, names.name(request.first),
                             &Extender::Resource::name) != extender.managed_resources.end();
  });
}

ExtenderTalk::ExtenderTalk(std::span<const Extender> extenders, const PodInfo& pod,
                           const ResourceNames& names)
    : extenders_(extenders), memory_(extenders.size()) {
  for (std::size_t i = 0; i < extenders.size(); ++i) {
    if (is_interested(extenders[i], pod, names)) {
      interested_.push_back(i);
    }
  }
}

void ExtenderTalk::answer(const ExtenderQuestion& question, Result<ExtenderAnswer> answer) {
  Memory& memory = memory_[question.extender];
  switch (question.verb) {
  case ExtenderVerb::Filter:
    if (!answer) {
      memory.failed_filter = answer.error();
      break;
    }
    for (const std::string& node : question.nodes) {
      Said& said = memory.filtered[node];
      said.passes = std::ranges::find(answer->nodes, node) != answer->nodes.end();
      const auto hard = answer->unresolvable.find(node);
      const auto soft = answer->failed.find(node);
      said.unresolvable = hard != answer->unresolvable.end();
      if (said.unresolvable) {
        said.reason = hard->second;
      } else if (soft != answer->failed.end()) {
        said.reason = soft->second;
      }
    }
    break;
  case ExtenderVerb::Prioritize:
    memory.scored = question.nodes;
    if (answer) {
      memory.scores = std::move(answer->scores);
    }
    break;
  case ExtenderVerb::Preempt:
    memory.asked_victims = question.victims;
    memory.victims = answer ? decltype(memory.victims)(std::move(answer->victims))
                            : tl::unexpected(std::move(answer).error());
    break;
  }
  std::erase_if(questions_, [&](const ExtenderQuestion& open) {
    return open.verb == question.verb && open.extender == question.extender;
  });
}

Result<std::optional<ExtenderTalk::Filtered>>
ExtenderTalk::filter(const std::vector<std::string>& nodes) {
  Filtered out{.nodes = nodes, .refused = {}};
  for (const std::size_t i : interested_) {
    const Extender& extender = extenders_[i];
    Memory& memory = memory_[i];
    if (extender.filter_verb.empty() || out.nodes.empty()) {
      continue;
    }
    if (memory.failed_filter) {
      if (extender.ignorable) {
        continue;
      }
      return tl::unexpected(*memory.failed_filter);
    }
    ExtenderQuestion unknown{
        .verb = ExtenderVerb::Filter, .extender = i, .nodes = {}, .victims = {}};
    std::ranges::copy_if(out.nodes, std::back_inserter(unknown.nodes),
                         [&](const std::string& node) { return !memory.filtered.contains(node); });
    if (!unknown.nodes.empty()) {
      questions_.push_back(std::move(unknown));
      return std::optional<Filtered>();
    }
    std::erase_if(out.nodes, [&](const std::string& node) {
      const Said& said = memory.filtered.find(node)->second;
      if (!said.passes) {
        Filtered::Refused& refused = out.refused[node];
        refused.unresolvable = said.unresolvable;
        if (!said.reason.empty()) {
          refused.reasons.push_back(said.reason);
        }
      }
      return !said.passes;
    });
  }
  return std::optional(std::move(out));
}

std::optional<std::vector<ExtenderTalk::Scores>>
ExtenderTalk::prioritize(const std::vector<std::string>& nodes) {
  std::vector<Scores> out;
  for (const std::size_t i : interested_) {
    const Extender& extender = extenders_[i];
    if (extender.prioritize_verb.empty()) {
      continue;
    }
    if (!memory_[i].scored) {
      questions_.push_back(
          {.verb = ExtenderVerb::Prioritize, .extender = i, .nodes = nodes, .victims = {}});
      continue;
    }
    out.push_back(
        {.extender = i, .factor = extender.weight * kPluginRange, .raw = memory_[i].scores});
  }
  return questions_.empty() ? std::optional(std::move(out)) : std::nullopt;
}

Result<std::optional<VictimsByNode>> ExtenderTalk::preempt(VictimsByNode candidates) {
  for (const std::size_t i : interested_) {
    const Extender& extender = extenders_[i];
    if (extender.preempt_verb.empty() || candidates.empty()) {
      continue;
    }
    if (memory_[i].asked_victims != candidates) {
      questions_.push_back({.verb = ExtenderVerb::Preempt,
                            .extender = i,
                            .nodes = names_of(candidates),
                            .victims = std::move(candidates)});
      return std::optional<VictimsByNode>();
    }
    if (auto applied = apply_victims(i, candidates); !applied && !extender.ignorable) {
      return tl::unexpected(std::move(applied).error());
    }
  }
  return std::optional(std::move(candidates));
}

/// Only nodes and victims that were proposed may come back.
Result<void> ExtenderTalk::apply_victims(std::size_t extender, VictimsByNode& candidates) const {
  const auto& answer = memory_[extender].victims;
  if (!answer) {
    return tl::unexpected(answer.error());
  }
  VictimsByNode left;
  for (const auto& [node, victims] : *answer) {
    const auto proposed = candidates.find(node);
    if (proposed == candidates.end()) {
      return fail(Code::Internal,
                  fmt::format("extender {} claims a preemption candidate that was not proposed: {}",
                              extenders_[extender].url_prefix, node));
    }
    ExtenderVictims kept{.pods = {}, .budget_violations = victims.budget_violations};
    for (const std::string& uid : victims.uids) {
      const auto pod = std::ranges::find_if(proposed->second.pods,
                                            [&](const PodPtr& known) { return known->uid == uid; });
      if (pod == proposed->second.pods.end()) {
        return fail(Code::Internal,
                    fmt::format("extender {} names a victim that is not on node {}: {}",
                                extenders_[extender].url_prefix, node, uid));
      }
      kept.pods.push_back(*pod);
    }
    if (kept.pods.empty()) {
      if (extenders_[extender].ignorable) {
        continue;
      }
      return fail(Code::Internal,
                  fmt::format("expected at least one victim pod on node \"{}\"", node));
    }
    left.emplace(node, std::move(kept));
  }
  candidates = std::move(left);
  return {};
}

} // namespace berth::sched
