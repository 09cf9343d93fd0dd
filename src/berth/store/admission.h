// What happens to an object between the request and the store: defaults, completion by admission
// (priority, tolerations), then judgement (names, fields, references). Each step is a pure function
// of the request, the object and what is stored.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "berth/base/time.h"
#include "berth/store/errors.h"
#include "berth/store/store.h"

namespace berth::store {

/// What is said of a write beside its answer.
struct AdmissionNotes {
  std::vector<std::string> warnings;              ///< to the writer
  std::map<std::string, std::string> annotations; ///< to the audit log, by key
};

struct AdmissionRequest {
  enum class Operation { Create, Update };
  Operation operation = Operation::Create;
  GroupKind kind;
  Subresource subresource = Subresource::None;
  const api::Object* before = nullptr; ///< the version an update replaces
  const Store* store = nullptr;
  TimePoint now;
  AdmissionNotes* notes = nullptr; ///< null: nobody reads them
  bool as_events = false;          ///< of an Event: written through events.k8s.io/v1
};

/// A write as those see it who judge requests, not objects alone: once the object is complete and
/// right in itself, before quotas count it.
struct Attempt {
  enum class Operation { Create, Update, Delete };
  Operation operation = Operation::Create;
  GroupKind kind;
  Subresource subresource = Subresource::None;
  const api::Object* object = nullptr; ///< null: it is deleted
  const api::Object* before = nullptr; ///< null: it is created
  bool dry_run = false;
};
/// An error stops the write.
using Admit = std::function<Result<void>(const Attempt&)>;

/// Completes the document. Skipped for status writes.
using Mutate = Result<void> (*)(const AdmissionRequest& request, api::json::value& document);
/// Adds what is wrong with fields of the complete object: all of it becomes one error.
using Judge = void (*)(const AdmissionRequest& request, const api::Object& object,
                       FieldErrors& errors);
/// Judges the complete object by itself or by what is stored.
using Validate = Result<void> (*)(const AdmissionRequest& request, const api::Object& object);

struct Admission {
  std::vector<Mutate> defaults; ///< what the writer is taken to have said
  std::vector<Mutate> mutate;   ///< what the server adds
  std::vector<Judge> judge;
  std::vector<Validate> validate;
};

/// The steps of a default API server that concern what Berth acts on, in order.
Admission kubernetes_admission();
/// The same for an API that kubelets come to: new nodes are tainted until they are known to be
/// ready.
Admission server_admission();

/// Runs `steps` in order.
Result<void> complete(const std::vector<Mutate>& steps, const AdmissionRequest& request,
                      api::json::value& document);
Result<void> validate(const Admission& chain, const AdmissionRequest& request,
                      const api::Object& object);

} // namespace berth::store
