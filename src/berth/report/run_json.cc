#include "berth/report/run_json.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/report/text.h"

namespace berth::report {
namespace {

namespace json = boost::json;

constexpr std::string_view kApiVersion = "berth.dev/v1alpha1";

template <class T, class F> json::array array_of(const std::vector<T>& items, F make) {
  json::array out;
  out.reserve(items.size());
  for (const T& item : items) {
    out.push_back(make(item));
  }
  return out;
}

json::array strings(const std::vector<std::string>& items) {
  return array_of(items, [](const std::string& s) { return json::value(s); });
}

json::array ints(const std::vector<int>& items) {
  return array_of(items, [](int i) { return json::value(i); });
}

json::object cluster(const ClusterLine& line) {
  json::array platforms = array_of(line.platforms, [](const auto& p) {
    return json::object{{"platform", p.first}, {"nodes", p.second}};
  });
  json::array profiles = array_of(line.profiles, [](const ProfileLine& p) {
    return json::object{{"schedulerName", p.scheduler_name},
                        {"otherNames", strings(p.other_names)},
                        {"kubernetesVersion", p.kubernetes_version}};
  });
  return {{"nodes", line.nodes},
          {"gpus", line.gpus},
          {"platforms", std::move(platforms)},
          {"seed", line.seed},
          {"gpuPolicy", line.gpu_policy},
          {"speed", line.speed},
          {"scheduler",
           json::object{{"config", line.scheduler_config}, {"profiles", std::move(profiles)}}}};
}

json::object name_of(const ObjectName& object) {
  json::object out{{"apiVersion", object.api_version}, {"kind", object.kind}};
  if (!object.ns.empty()) {
    out["namespace"] = object.ns;
  }
  out["name"] = object.name;
  if (!object.source.empty()) {
    out["source"] = object.source;
  }
  return out;
}

json::object rejection(const Rejection& r) {
  json::object out = name_of(r.object);
  out["code"] = r.code;
  out["message"] = r.message;
  return out;
}

json::object unhandled(const UnhandledKind& kind) {
  return {{"apiVersion", kind.api_version},
          {"kind", kind.kind},
          {"count", kind.objects.size()},
          {"objects", strings(kind.objects)}};
}

json::object note(const Note& n) {
  Where place = n.where;
  place.field.clear();
  return {{"severity", n.warning ? "warning" : "note"},
          {"source", place.file.empty() ? "" : to_string(place)},
          {"field", n.where.field},
          {"message", n.message}};
}

json::object pod(const PodLine& p) {
  return {
      {"namespace", p.ns},
      {"name", p.name},
      {"phase", p.phase},
      {"reason", p.reason},
      {"terminating", p.terminating},
      {"owner", p.owner},
      {"gang", p.gang},
      {"node", p.node},
      {"gpuRequest", p.gpu_request},
      {"gpus", ints(p.gpus)},
      {"gpuUUIDs", strings(p.gpu_uuids)},
      {"allReduceMBps", p.all_reduce_mbps},
      {"waitingMs", p.waiting.count_millis()},
      {"startingMs", p.starting.count_millis()},
      {"runningMs", p.running.count_millis()},
      {"restarts", p.restarts},
      {"states", array_of(p.states,
                          [](const StateEntry& s) {
                            return json::object{{"state", s.state}, {"atMs", s.at.count_millis()}};
                          })},
      {"containers", array_of(p.containers, [](const json::value& v) { return v; })}};
}

json::object job(const JobLine& j) {
  return {{"namespace", j.ns},
          {"name", j.name},
          {"status", j.status},
          {"succeeded", j.succeeded},
          {"failed", j.failed},
          {"completions", j.wanted},
          {"durationMs", j.duration.count_millis()},
          {"message", j.message}};
}

json::object gang(const GangLine& g) {
  return {{"namespace", g.ns},
          {"name", g.name},
          {"phase", g.phase},
          {"minMember", g.min_member},
          {"members", g.members},
          {"placed", g.placed},
          {"nodes", strings(g.nodes)},
          {"gpus", g.gpus},
          {"allReduceMBps", g.all_reduce_mbps},
          {"waitingMs", g.waiting.count_millis()}};
}

std::string_view state_name(GpuCell::State state) {
  switch (state) {
  case GpuCell::State::Free:
    return "free";
  case GpuCell::State::Held:
    return "held";
  case GpuCell::State::Unhealthy:
    return "unhealthy";
  }
  return "";
}

json::object gpu_map(const GpuMap& map) {
  const auto cell = [](const GpuCell& gpu) {
    json::object out{{"state", state_name(gpu.state)}};
    if (!gpu.holder.empty()) {
      out["pod"] = gpu.holder;
    }
    return out;
  };
  return {{"atMs", map.at.count_millis()},
          {"held", map.held()},
          {"total", map.total()},
          {"nodes", array_of(map.nodes, [&](const NodeMap& node) {
             return json::object{{"node", node.node}, {"gpus", array_of(node.gpus, cell)}};
           })}};
}

json::object node(const NodeLine& n) {
  return {{"name", n.name},
          {"platform", n.platform},
          {"product", n.product},
          {"ready", n.ready},
          {"gpus", n.gpus},
          {"unhealthyGPUs", ints(n.unhealthy)},
          {"gpuUUIDs", strings(n.gpu_uuids)}};
}

json::object stuck(const StuckPod& s) {
  return {{"namespace", s.ns},
          {"name", s.name},
          {"phase", s.phase},
          {"code", s.code},
          {"summary", s.summary},
          {"message", s.message},
          {"asks", s.asks},
          {"alone", to_string(s.alone)},
          {"waitingMs", s.waiting.count_millis()}};
}

json::object summary(const RunReport& report) {
  json::object pods{{"total", report.pods.size()}};
  for (const auto& [key, phase] :
       {std::pair{"pending", "Pending"}, std::pair{"running", "Running"},
        std::pair{"succeeded", "Succeeded"}, std::pair{"failed", "Failed"},
        std::pair{"deleted", "Deleted"}}) {
    pods[key] = count_phase(report, phase);
  }
  json::object gpus{{"total", report.at_end.total()},
                    {"heldAtMost", report.busiest.held()},
                    {"heldMs", report.gpu_millis_held}};
  return {{"pods", std::move(pods)}, {"gpus", std::move(gpus)}};
}

} // namespace

json::value timeline_document(const TimelineLine& line) {
  return json::object{{"atMs", line.at.count_millis()},
                      {"object", line.object},
                      {"what", line.what},
                      {"detail", line.detail},
                      {"warning", line.warning}};
}

json::value record_header(const ClusterLine& line, TimePoint start) {
  return json::object{{"apiVersion", kApiVersion},
                      {"kind", "RunRecord"},
                      {"cluster", cluster(line)},
                      {"startTime", to_rfc3339(start)}};
}

json::value run_document(const RunReport& report, WithTimeline timeline) {
  json::object result{{"outcome", to_string(report.outcome)},
                      {"exitCode", report.exit_code},
                      {"startTime", to_rfc3339(report.start)},
                      {"simulatedTime", format_brief(report.elapsed)},
                      {"simulatedMs", report.elapsed.count_millis()}};
  json::object objects{{"applied", array_of(report.applied, name_of)},
                       {"rejected", array_of(report.rejected, rejection)},
                       {"unhandledKinds", array_of(report.unhandled, unhandled)}};
  json::object out{
      {"apiVersion", kApiVersion},
      {"kind", "RunReport"},
      {"cluster", cluster(report.cluster)},
      {"result", std::move(result)},
      {"summary", summary(report)},
      {"objects", std::move(objects)},
      {"notes", array_of(report.notes, note)},
      {"pods", array_of(report.pods, pod)},
      {"jobs", array_of(report.jobs, job)},
      {"gangs", array_of(report.gangs, gang)},
      {"nodes", array_of(report.nodes, node)},
      {"gpuMaps", {{"busiest", gpu_map(report.busiest)}, {"end", gpu_map(report.at_end)}}},
      {"notRunning", array_of(report.stuck, stuck)},
      {"decisions", array_of(report.decisions, [](const json::value& v) { return v; })}};
  if (timeline == WithTimeline::Yes) {
    out["timeline"] = array_of(report.timeline, timeline_document);
  }
  return out;
}

} // namespace berth::report
