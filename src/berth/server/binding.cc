#include "berth/server/binding.h"

#include "berth/api/json.h"
#include "berth/server/body.h"

namespace berth::server {
namespace {

namespace json = api::json;

net::HttpResponse created(const Call& call) {
  json::object status = success_document(nullptr);
  status["code"] = 201;
  return answer(201, call, encode(status, call.wanted.encoding));
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
  if (binding.node.empty()) {
    return tl::unexpected(Status{
        .code = 500, .reason = "", .message = "target.name: Required value", .details = nullptr});
  }
  if (const json::value* annotations = api::find_path(*body, "metadata.annotations");
      annotations != nullptr && annotations->is_object()) {
    for (const auto& [key, value] : annotations->get_object()) {
      if (value.is_string()) {
        binding.annotations.emplace(key, std::string_view(value.get_string()));
      }
    }
  }
  const auto bound =
      shared.registry->bind(binding, shared.loop->now(), {.dry_run = query->dry_run});
  if (!bound) {
    return tl::unexpected(status_of(bound.error()));
  }
  return created(call);
}

} // namespace berth::server
