// What goes to extenders and comes back (extenderv1 of k8s.io/kube-scheduler): JSON whose keys are
// the Go fields' names. No I/O.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/sched/extender.h"
#include "berth/store/request.h"

namespace berth::scheduler {

/// The objects that a question names; empty where one is gone meanwhile.
struct ExtenderObjects {
  api::Object pod;
  std::function<api::Object(std::string_view name)> node;
  std::function<api::Object(std::string_view uid)> victim;
};

/// "http://host/prefix/verb".
std::string extender_url(const sched::Extender& extender, std::string_view verb);
std::string_view verb_of(const sched::Extender& extender, sched::ExtenderVerb verb);

/// Body of the POST: ExtenderArgs, or ExtenderPreemptionArgs. Nodes whole, or their names for an
/// extender that knows the nodes; victims likewise by uid.
std::string question_body(const sched::Extender& extender, const sched::ExtenderQuestion& question,
                          const ExtenderObjects& objects);
/// Error: no JSON of this form, a node that was not asked about, or the extender's own error.
Result<sched::ExtenderAnswer> read_answer(const sched::Extender& extender,
                                          const sched::ExtenderQuestion& question,
                                          std::string_view body);

/// ExtenderBindingArgs.
std::string binding_body(const store::Binding& binding);
/// ExtenderBindingResult: its Error, if it has one.
Result<void> read_binding_answer(std::string_view body);

} // namespace berth::scheduler
