#include "berth/server/access/flow_control.h"

#include <algorithm>
#include <utility>

#include <boost/json/object.hpp>

#include "berth/server/access/decision.h"

namespace berth::server {
namespace {

constexpr std::size_t kObjectsPerSeat = 100;
constexpr std::size_t kMostSeats = 10;
constexpr std::string_view kNodesGroup = "system:nodes";
constexpr std::string_view kSystemAccounts = "system:serviceaccounts:kube-system";

bool is_probe(const RequestInfo& info) {
  return !info.is_resource &&
         std::ranges::any_of(
             std::array{"/healthz", "/livez", "/readyz"}, [&](std::string_view probe) {
               return info.path == probe || info.path.starts_with(std::string(probe) + "/");
             });
}

bool is_component(const User& user) {
  return user.name == "system:kube-scheduler" || user.name == "system:kube-controller-manager" ||
         in_group(user, kSystemAccounts);
}

bool reads(const RequestInfo& info) {
  return info.verb == "get" || info.verb == "list" || info.verb == "watch" || info.verb == "head";
}

} // namespace

Level level_of(const User& user, const RequestInfo& info) {
  if (is_probe(info)) {
    return Level::Exempt;
  }
  const bool lease = info.group == "coordination.k8s.io" && info.resource == "leases";
  const bool of_node =
      info.group.empty() &&
      (info.resource == "nodes" || (info.resource == "pods" && info.subresource == "status"));
  const bool one = info.verb != "list" && info.verb != "watch";
  if (one &&
      ((in_group(user, kNodesGroup) && (lease || of_node)) || (is_component(user) && lease))) {
    return Level::System;
  }
  return reads(info) || !info.is_resource ? Level::Reading : Level::Writing;
}

int seats_of(const RequestInfo& info, std::size_t objects) {
  if (info.verb != "list" && info.verb != "deletecollection") {
    return 1;
  }
  return static_cast<int>(
      std::clamp<std::size_t>((objects + kObjectsPerSeat - 1) / kObjectsPerSeat, 1, kMostSeats));
}

FlowControl::FlowControl(Options options) : patience_(options.patience) {
  at(Level::System).limits = options.system;
  at(Level::Writing).limits = options.writing;
  at(Level::Reading).limits = options.reading;
}

void FlowControl::begin(Shelf& shelf, Flow& flow, Known& known) {
  shelf.time = std::max(shelf.time, flow.start);
  flow.start = std::max(shelf.time, flow.start) + known.seats;
  ++flow.running;
  shelf.in_use += known.seats;
  known.running = true;
}

FlowControl::Ticket FlowControl::offer(const Request& request, TimePoint now) {
  Shelf& shelf = at(request.level);
  Known known{.level = request.level, .flow = request.flow, .seats = 0, .running = true};
  if (request.level == Level::Exempt) {
    known_.emplace(++last_, std::move(known));
    return {.verdict = Verdict::Run, .id = last_};
  }
  known.seats = std::clamp(request.seats, 1, shelf.limits.seats);
  const auto found = shelf.flows.find(request.flow);
  const std::size_t of_flow = found == shelf.flows.end() ? 0 : found->second.waiting.size();
  const bool run = shelf.waiting == 0 && shelf.in_use + known.seats <= shelf.limits.seats;
  if (!run && (shelf.waiting >= shelf.limits.waiting || of_flow >= shelf.limits.waiting_of_flow)) {
    return {};
  }
  const auto [at_flow, added] = shelf.flows.try_emplace(request.flow);
  Flow& flow = at_flow->second;
  if (added) {
    flow.start = shelf.time;
  }
  const Id id = ++last_;
  if (run) {
    begin(shelf, flow, known);
  } else {
    known.running = false;
    if (flow.waiting.empty()) {
      flow.start = std::max(flow.start, shelf.time);
      shelf.ready.emplace(flow.start, request.flow);
    }
    flow.waiting.push_back(id);
    ++shelf.waiting;
    deadlines_.emplace(id, now + patience_);
  }
  const Verdict verdict = run ? Verdict::Run : Verdict::Wait;
  known_.emplace(id, std::move(known));
  return {.verdict = verdict, .id = id};
}

/// Forgets a request, running or waiting.
void FlowControl::leave(Id id) {
  const auto node = known_.extract(id);
  if (node.empty() || node.mapped().level == Level::Exempt) {
    return;
  }
  const Known& known = node.mapped();
  Shelf& shelf = at(known.level);
  const auto at_flow = shelf.flows.find(known.flow);
  Flow& flow = at_flow->second;
  if (known.running) {
    --flow.running;
    shelf.in_use -= known.seats;
  } else {
    std::erase(flow.waiting, id);
    --shelf.waiting;
    deadlines_.erase(id);
    if (flow.waiting.empty()) {
      shelf.ready.erase({flow.start, known.flow});
    }
  }
  if (flow.running == 0 && flow.waiting.empty()) {
    shelf.flows.erase(at_flow);
  }
}

/// Begins what fits, fairest first. The first that does not fit is waited for: a wide list is not
/// overtaken for ever.
void FlowControl::dispatch(Shelf& shelf, std::vector<Id>& running) {
  while (!shelf.ready.empty()) {
    Flow& flow = shelf.flows.at(shelf.ready.begin()->second);
    const Id id = flow.waiting.front();
    Known& known = known_.at(id);
    if (shelf.in_use + known.seats > shelf.limits.seats) {
      return;
    }
    shelf.ready.erase(shelf.ready.begin());
    flow.waiting.pop_front();
    --shelf.waiting;
    deadlines_.erase(id);
    begin(shelf, flow, known);
    running.push_back(id);
    if (!flow.waiting.empty()) {
      shelf.ready.emplace(flow.start, known.flow);
    }
  }
}

std::vector<FlowControl::Id> FlowControl::finished(Id id) {
  std::vector<Id> running;
  const auto found = known_.find(id);
  if (found == known_.end()) {
    return running;
  }
  Shelf& shelf = at(found->second.level);
  leave(id);
  dispatch(shelf, running);
  return running;
}

FlowControl::Expired FlowControl::expire(TimePoint now) {
  Expired out;
  while (!deadlines_.empty() && deadlines_.begin()->second <= now) {
    out.refused.push_back(deadlines_.begin()->first);
    leave(out.refused.back());
  }
  if (!out.refused.empty()) {
    for (Shelf& shelf : shelves_) {
      dispatch(shelf, out.running);
    }
  }
  return out;
}

std::optional<TimePoint> FlowControl::next_expiry() const {
  return deadlines_.empty() ? std::nullopt : std::optional(deadlines_.begin()->second);
}

Status too_many_requests() {
  return {.code = 429,
          .reason = "TooManyRequests",
          .message = "Too many requests, please try again later.",
          .details = boost::json::object{{"retryAfterSeconds", 1}}};
}

} // namespace berth::server
