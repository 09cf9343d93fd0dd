#include "berth/scheduler/pages.h"

#include <algorithm>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/explain/decisions_json.h"
#include "berth/explain/decisions_text.h"

namespace berth::scheduler {
namespace {

using net::HttpRequest;
using net::HttpRespond;
using net::HttpResponse;

constexpr std::size_t kMostWishes = 100;

HttpResponse refused(const Error& error) {
  return net::text_response(http_status(error.code), error.message);
}

/// What ?pod= names; none: everything that is kept.
Result<std::optional<explain::Wanted>> asked_for(const HttpRequest& request) {
  const auto text = request.query("pod");
  if (!text) {
    return std::optional<explain::Wanted>();
  }
  BERTH_TRY(explain::Wanted wanted, explain::Wanted::parse(*text));
  return std::optional(std::move(wanted));
}

bool covers(const std::optional<explain::Wanted>& wanted, const explain::Book::Pod& pod) {
  const explain::Attempt& last = pod.attempts.back();
  constexpr std::string_view kJob = "Job/";
  const std::string_view owner = last.owner;
  return !wanted || wanted->covers({.ns = last.ns,
                                    .name = last.pod,
                                    .job = owner.starts_with(kJob) ? owner.substr(kJob.size()) : "",
                                    .group = last.group});
}

HttpResponse show_decisions(const Scheduler& scheduler, const HttpRequest& request,
                            TimePoint start) {
  const auto wanted = asked_for(request);
  if (!wanted) {
    return refused(wanted.error());
  }
  const explain::Book& book = scheduler.decisions();
  if (request.query("output") == "text") {
    HttpResponse page{.status = 200, .headers = {{"Content-Type", "text/plain; charset=utf-8"}}};
    for (const explain::Book::Pod* pod : book.pods()) {
      if (covers(*wanted, *pod)) {
        page.body += explain::render_pod(*pod, start, {});
      }
    }
    return page;
  }
  boost::json::value list = explain::book_document(
      book, [&](const explain::Book::Pod& pod) { return covers(*wanted, pod); });
  return net::json_response(200, api::to_json(list) + "\n");
}

HttpResponse keep_decisions(Scheduler& scheduler, const HttpRequest& request) {
  auto wanted = asked_for(request);
  if (!wanted) {
    return refused(wanted.error());
  }
  if (!*wanted) {
    return net::text_response(400, "?pod=NAME is missing");
  }
  const auto& known = scheduler.decisions().wanted();
  if (std::ranges::find(known, (*wanted)->text(), &explain::Wanted::text) == known.end()) {
    if (known.size() >= kMostWishes) {
      return net::text_response(400, fmt::format("{} pods are asked for already", kMostWishes));
    }
    scheduler.keep_decisions_of(**std::move(wanted));
  }
  return net::text_response(200, "their decisions are kept from now on");
}

} // namespace

net::HttpRouter pages(Scheduler& scheduler, const Loop& loop) {
  net::HttpRouter router;
  const auto get = [&](const char* path, std::function<HttpResponse(const HttpRequest&)> page) {
    router.on("GET", path,
              [page = std::move(page)](const HttpRequest& request, const HttpRespond& respond) {
                respond(page(request));
              });
  };
  const auto ok = [](const HttpRequest&) { return net::text_response(200, "ok"); };
  get("/healthz", ok);
  get("/livez", ok);
  get("/readyz", [&scheduler](const HttpRequest&) {
    return scheduler.synced()
               ? net::text_response(200, "ok")
               : net::text_response(503, "[-]informer-sync: not everything is listed "
                                         "yet");
  });
  get("/metrics", [&scheduler](const HttpRequest&) {
    return HttpResponse{.status = 200,
                        .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                        .body = scheduler.metrics()};
  });
  get("/debug/decisions", [&scheduler, start = loop.now()](const HttpRequest& request) {
    return show_decisions(scheduler, request, start);
  });
  router.on("POST", "/debug/decisions",
            [&scheduler](const HttpRequest& request, const HttpRespond& respond) {
              respond(keep_decisions(scheduler, request));
            });
  return router;
}

} // namespace berth::scheduler
