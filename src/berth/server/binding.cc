#include "berth/server/binding.h"

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/body.h"
#include "berth/server/judged_write.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

namespace json = api::json;

net::HttpResponse created(const Call& call) {
  json::object status = success_document(nullptr);
  status["code"] = 201;
  return answer(201, call, encode(status, call.wanted.encoding));
}

/// What is wrong with what the pod shall be bound to; "" if nothing is.
std::string wrong_target(const json::value& binding) {
  const std::string_view kind = api::string_at(binding, "target.kind");
  const bool named = !api::string_at(binding, "target.name").empty();
  constexpr std::string_view kNameless = "target.name: Required value";
  if (kind.empty() || kind == "Node") {
    return named ? "" : std::string(kNameless);
  }
  const std::string other =
      fmt::format("target.kind: Unsupported value: {}: supported values: \"Node\", \"<empty>\"",
                  store::quote(kind));
  return named ? other : fmt::format("[{}, {}]", other, kNameless);
}

Answer<WriteQuery> options(const Call& call) {
  return write_query(call, "CreateOptions");
}

} // namespace

Answer<net::HttpResponse> bind_pod(const Shared& shared, Call& call) {
  const auto query = options(call);
  const auto body = read_any(call);
  if (!query || !body) {
    return tl::unexpected(query ? body.error() : query.error());
  }
  const std::string_view named = api::string_at(*body, "metadata.name");
  store::Binding binding{
      .pod = {call.info.ns, call.info.name.empty() ? std::string(named) : call.info.name},
      .uid = std::string(api::string_at(*body, "metadata.uid")),
      .node = std::string(api::string_at(*body, "target.name")),
      .annotations = {}};
  if (const std::string wrong = wrong_target(*body); !wrong.empty()) {
    return tl::unexpected(Status{.code = 500, .reason = "", .message = wrong, .details = nullptr});
  }
  if (const json::value* annotations = api::find_path(*body, "metadata.annotations");
      annotations != nullptr && annotations->is_object()) {
    for (const auto& [key, value] : annotations->get_object()) {
      if (value.is_string()) {
        binding.annotations.emplace(key, std::string_view(value.get_string()));
      }
    }
  }
  const Errand errand{.kind = {"", "v1", "Binding"}, .object = &*body, .dry_run = query->dry_run};
  if (auto judged = judge_errand(shared, call, errand); !judged) {
    return tl::unexpected(std::move(judged).error());
  }
  const auto bound =
      shared.registry->bind(binding, shared.loop->now(), {.dry_run = query->dry_run});
  if (!bound) {
    return tl::unexpected(status_of(bound.error()));
  }
  return created(call);
}

} // namespace berth::server
