#include "berth/explain/decisions_json.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace berth::explain {
namespace {

namespace json = boost::json;

template <class T, class F> json::array array_of(const T& items, F make) {
  json::array out;
  for (const auto& item : items) {
    out.push_back(make(item));
  }
  return out;
}

json::array strings(const std::vector<std::string>& items) {
  return array_of(items, [](const std::string& s) { return json::value(s); });
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
  case Verdict::Fits:
    return "fits";
  case Verdict::Refused:
    return "refused";
  case Verdict::NotLookedAt:
    return "notLookedAt";
  }
  return "";
}

json::value objection(const Objection& o) {
  return json::object{{"plugin", o.plugin}, {"code", o.code}, {"reasons", strings(o.reasons)}};
}

json::value shortage(const Shortage& s) {
  return json::object{
      {"resource", s.resource}, {"asked", s.asked}, {"mostFree", s.free}, {"node", s.node}};
}

json::value row(const Row& r) {
  json::object out{{"verdict", name_of(r.verdict)}, {"nodes", strings(r.nodes)}};
  if (r.verdict == Verdict::Fits) {
    out["best"] = r.best;
    out["total"] = r.total;
    out["scores"] = array_of(r.scores, [](const Score& s) {
      return json::object{{"raw", s.raw}, {"weighted", s.weighted}};
    });
  } else {
    out["objections"] = array_of(r.objections, &objection);
    out["shortages"] = array_of(r.shortages, &shortage);
  }
  return out;
}

json::value attempt(const Attempt& a) {
  json::object out{{"attempt", a.number},
                   {"at", to_rfc3339(a.at)},
                   {"sinceFirstMs", (a.at - a.first).count_millis()},
                   {"wokenBy", a.woken_by},
                   {"outcome", a.outcome},
                   {"message", a.message},
                   {"node", a.node},
                   {"gpus", array_of(a.gpus, [](int gpu) { return json::value(gpu); })}};
  if (!a.slices.empty()) {
    out["slices"] = a.slices;
  }
  if (!a.vgpus.empty()) {
    out["vgpus"] = a.vgpus;
  }
  if (a.nominated_node) {
    out["nominatedNode"] = *a.nominated_node;
  }
  out["victims"] = strings(a.victims);
  out["waitsFor"] = strings(a.waits_for);
  out["nodes"] = a.nodes;
  out["feasibleNodes"] = a.feasible;
  out["scorers"] = array_of(a.scorers, [](const Scorer& s) {
    return json::object{{"plugin", s.plugin}, {"weight", s.weight}};
  });
  out["rows"] = array_of(a.rows, &row);
  return out;
}

} // namespace

json::value pod_document(const Book::Pod& pod) {
  const Attempt& last = pod.attempts.back();
  return json::object{{"namespace", last.ns},
                      {"name", last.pod},
                      {"uid", pod.uid},
                      {"owner", last.owner},
                      {"podGroup", last.group},
                      {"profile", last.profile},
                      {"attemptsDropped", pod.dropped},
                      {"attempts", array_of(pod.attempts, &attempt)}};
}

json::value book_document(const Book& book, const std::function<bool(const Book::Pod&)>& shown) {
  json::array items;
  for (const Book::Pod* pod : book.pods()) {
    if (shown(*pod)) {
      items.push_back(pod_document(*pod));
    }
  }
  return json::object{
      {"apiVersion", "berth.dev/v1alpha1"},
      {"kind", "DecisionList"},
      {"wanted", array_of(book.wanted(), [](const Wanted& w) { return json::value(w.text()); })},
      {"podsDropped", book.dropped_pods()},
      {"items", std::move(items)}};
}

} // namespace berth::explain
