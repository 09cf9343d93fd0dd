#include "berth/explain/book.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace berth::explain {
namespace {

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  for (std::size_t at = text.find('/'); at != std::string_view::npos; at = text.find('/', from)) {
    parts.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

std::optional<Wanted::By> kind_of(std::string_view word) {
  using By = Wanted::By;
  if (word == "pod" || word == "pods" || word == "po") {
    return By::Pod;
  }
  if (word == "job" || word == "jobs") {
    return By::Job;
  }
  if (word == "podgroup" || word == "podgroups" || word == "pg") {
    return By::PodGroup;
  }
  return std::nullopt;
}

} // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos; // the last "*", and where its text ends so far
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Result<Wanted> Wanted::parse(std::string_view text) {
  std::vector<std::string_view> parts = parts_of(text);
  Wanted wanted;
  wanted.text_ = std::string(text);
  if (parts.size() > 1) {
    if (const auto kind = kind_of(parts.front())) {
      wanted.by_ = *kind;
      parts.erase(parts.begin());
    }
  }
  if (parts.size() > 2 || std::ranges::any_of(parts, &std::string_view::empty)) {
    return fail(Code::BadRequest,
                fmt::format("\"{}\" names no pod; try NAME, NAMESPACE/NAME, pod/NAME, job/NAME or "
                            "podgroup/NAME, with * for any text",
                            text));
  }
  wanted.name_ = std::string(parts.back());
  wanted.ns_ = parts.size() == 2 ? std::string(parts.front()) : "";
  return wanted;
}

bool Wanted::covers(const Named& pod) const {
  if (!ns_.empty() && !glob_matches(ns_, pod.ns)) {
    return false;
  }
  switch (by_) {
  case By::Pod:
    return glob_matches(name_, pod.name);
  case By::Job:
    return !pod.job.empty() && glob_matches(name_, pod.job);
  case By::PodGroup:
    return !pod.group.empty() && glob_matches(name_, pod.group);
  }
  return false;
}

bool Wanted::covers(const sched::PodInfo& pod) const {
  const api::OwnerReference* owner = pod.pod->meta.controller();
  return covers(Named{.ns = pod.ns(),
                      .name = pod.name(),
                      .job = owner != nullptr && owner->kind == "Job"
                                 ? std::string_view(owner->name)
                                 : std::string_view(),
                      .group = pod.pod->pod_group()});
}

bool Book::wants(const sched::PodInfo& pod) const {
  return std::ranges::any_of(wanted_, [&](const Wanted& wanted) { return wanted.covers(pod); });
}

void Book::add(const std::string& uid, Attempt attempt) {
  const auto [it, is_new] = pods_.try_emplace(uid);
  Pod& pod = it->second;
  if (is_new) {
    pod.uid = uid;
    order_.push_back(uid);
    if (order_.size() > limits_.pods) {
      const auto oldest = std::ranges::min_element(order_, {}, [&](const std::string& known) {
        const Pod& other = pods_.at(known);
        return other.attempts.empty() ? TimePoint::max() : other.attempts.back().at;
      });
      pods_.erase(*oldest);
      order_.erase(oldest);
      ++dropped_;
    }
  }
  pod.attempts.push_back(std::move(attempt));
  if (pod.attempts.size() > std::max<std::size_t>(2, limits_.attempts_a_pod)) {
    pod.attempts.erase(pod.attempts.begin() + 1);
    ++pod.dropped;
  }
}

void Book::amend(const std::string& uid, std::string_view outcome, std::string_view message) {
  if (const auto it = pods_.find(uid); it != pods_.end()) {
    it->second.attempts.back().outcome = outcome;
    it->second.attempts.back().message = message;
  }
}

std::vector<const Book::Pod*> Book::pods() const {
  std::vector<const Pod*> out;
  std::ranges::transform(order_, std::back_inserter(out),
                         [&](const std::string& uid) { return &pods_.at(uid); });
  return out;
}

} // namespace berth::explain
