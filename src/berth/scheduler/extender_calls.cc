#include "berth/scheduler/extender_calls.h"

#include <utility>

#include <fmt/format.h>

#include "berth/net/http_client.h"

namespace berth::scheduler {
namespace {

net::HttpRequest request_of(const HttpPost& post) {
  return {.method = "POST",
          .target = "",
          .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
          .body = post.body};
}

/// The body of a 200, or an error in Go's words.
Result<std::string> body_of(Result<net::HttpResponse> answer, std::string_view verb,
                            const std::string& url) {
  if (!answer) {
    return fail(answer.error().code, fmt::format("Post \"{}\": {}", url, answer.error().message));
  }
  if (answer->status != 200) {
    return fail(Code::Internal, fmt::format("failed {} with extender at URL {}, code {}", verb, url,
                                            answer->status));
  }
  return std::move(answer->body);
}

} // namespace

HttpPoster blocking_poster() {
  auto client = std::make_shared<net::BlockingHttpClient>();
  return
      [client](const HttpPost& post, const std::function<void(Result<net::HttpResponse>)>& done) {
        const auto url = net::HttpUrl::parse(post.url);
        done(url ? client->send(*url, request_of(post), post.timeout)
                 : Result<net::HttpResponse>(tl::unexpected(url.error())));
      };
}

HttpPoster poster_on(net::AsioLoop& loop) {
  auto client = std::make_shared<net::HttpClient>(loop);
  return [client](const HttpPost& post, std::function<void(Result<net::HttpResponse>)> done) {
    const auto url = net::HttpUrl::parse(post.url);
    if (!url) {
      done(tl::unexpected(url.error()));
      return;
    }
    client->send(*url, request_of(post), std::move(done), post.timeout);
  };
}

void ask_extender(const HttpPoster& poster, const sched::Extender& extender,
                  const sched::ExtenderQuestion& question, const ExtenderObjects& objects,
                  std::function<void(Result<sched::ExtenderAnswer>)> done) {
  const std::string verb(verb_of(extender, question.verb));
  const std::string url = extender_url(extender, verb);
  poster(
      {.url = url,
       .body = question_body(extender, question, objects),
       .timeout = extender.http_timeout},
      [extender, question, verb, url, done = std::move(done)](Result<net::HttpResponse> response) {
        const auto body = body_of(std::move(response), verb, url);
        done(body ? read_answer(extender, question, *body)
                  : Result<sched::ExtenderAnswer>(tl::unexpected(body.error())));
      });
}

void bind_by_extender(const HttpPoster& poster, const sched::Extender& extender,
                      const store::Binding& binding, std::function<void(Result<void>)> done) {
  const std::string url = extender_url(extender, extender.bind_verb);
  poster(
      {.url = url, .body = binding_body(binding), .timeout = extender.http_timeout},
      [verb = extender.bind_verb, url, done = std::move(done)](Result<net::HttpResponse> response) {
        const auto body = body_of(std::move(response), verb, url);
        done(body ? read_binding_answer(*body) : Result<void>(tl::unexpected(body.error())));
      });
}

} // namespace berth::scheduler
