#include "berth/server/reading.h"

#include <set>
#include <utility>

#include "berth/api/json.h"
#include "berth/server/event_views.h"
#include "berth/server/list_query.h"

namespace berth::server {

Answer<RenderOptions> render_options(const Shared& shared, const Call& call) {
  RenderOptions options{
      .wanted = call.wanted, .now = shared.loop->now(), .gpu_columns = shared.gpu_columns};
  const std::string_view include = parameter(call.query, "includeObject");
  if (include == "None") {
    options.row_object = RowObject::None;
  } else if (include == "Object") {
    options.row_object = RowObject::Whole;
  } else if (!include.empty() && include != "Metadata") {
    return bad_request("unrecognized includeObject value: " + std::string(include));
  }
  return options;
}

void add_warnings(const Call& call, net::HttpResponse& response) {
  std::set<std::string_view> told; // each once
  for (const std::string& warning : call.notes.warnings) {
    if (told.insert(warning).second) {
      response.headers.emplace_back("Warning", "299 - " + api::to_json(api::json::value(warning)));
    }
  }
}

net::HttpResponse answer(int status, const Call& call, std::string body) {
  net::HttpResponse response{
      .status = status,
      .headers = {{"Content-Type", std::string(content_type(call.wanted.encoding))},
                  {"Cache-Control", "no-cache, private"}},
      .body = std::move(body)};
  add_warnings(call, response);
  return response;
}

Answer<net::HttpResponse> get_object(const Shared& shared, const Call& call,
                                     const schema::Resource& resource) {
  const auto options = render_options(shared, call);
  if (!options) {
    return tl::unexpected(options.error());
  }
  const auto version = version_number(parameter(call.query, "resourceVersion"));
  if (!version) {
    return tl::unexpected(version.error());
  }
  if (*version > shared.registry->revision()) {
    return tl::unexpected(too_new(*version, shared.registry->revision()));
  }
  const auto found = shared.registry->get(stored_kind(resource), {call.info.ns, call.info.name});
  if (!found) {
    return tl::unexpected(status_of(found.error()));
  }
  return answer(200, call, render_object(*found, resource, *options));
}

namespace {

Answer<ListPages::Page> page_of(const Shared& shared, const ListQuery& query) {
  const std::size_t limit = query.limit == 0 ? SIZE_MAX : static_cast<std::size_t>(query.limit);
  if (!query.continue_token.empty()) {
    return shared.pages->next(query.continue_token, limit);
  }
  if (query.limit == 0) {
    store::ObjectList all = shared.registry->list(query.what);
    return ListPages::Page{.items = std::move(all.items),
                           .resource_version = all.resource_version,
                           .continue_token = {}};
  }
  const store::ListOptions whole{.kind = query.what.kind, .ns = query.what.ns, .labels = {}};
  return shared.pages->first(shared.registry->list(whole), query.what, limit);
}

/// What is short is written at once.
net::HttpResponse list_answer(const Call& call, JsonList list) {
  constexpr std::size_t kLong = std::size_t{128} * 1024;
  net::HttpResponse response = answer(200, call, "");
  if (list.size() > kLong) {
    response.pieces = std::make_shared<JsonList>(std::move(list));
  } else {
    response.body = list.next();
  }
  return response;
}

} // namespace

Answer<net::HttpResponse> list_objects(const Shared& shared, const Call& call,
                                       const schema::Resource& resource) {
  const auto options = render_options(shared, call);
  if (!options) {
    return tl::unexpected(options.error());
  }
  const auto query = list_query(call.info, resource, call.query);
  if (!query) {
    return tl::unexpected(query.error());
  }
  if (auto checked = check_list_version(*query, shared.registry->revision()); !checked) {
    return tl::unexpected(std::move(checked).error());
  }
  auto page = page_of(shared, *query);
  if (!page) {
    return tl::unexpected(std::move(page).error());
  }
  const bool selected = !query->what.labels.empty() || query->what.name || query->what.node ||
                        !query->what.fields.empty();
  const ListHead head{.resource_version = page->resource_version,
                      .continue_token = page->continue_token,
                      .remaining = selected ? 0 : page->remaining};
  if (options->wanted.form == Wanted::Form::Object && options->wanted.encoding == Encoding::Json) {
    return list_answer(call, {std::move(page->items), head, resource});
  }
  return answer(200, call, render_list(page->items, head, resource, *options));
}

} // namespace berth::server
