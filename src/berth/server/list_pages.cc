#include "berth/server/list_pages.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/schema/go_json.h"
#include "berth/server/access/base64url.h"
#include "berth/store/validation/formats.h"

namespace berth::server {
namespace {

constexpr std::string_view kVersion = "meta.k8s.io/v1";
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string token_of(std::uint64_t resource_version, std::uint64_t page) {
  return to_base64url(
      fmt::format(R"({{"v":"{}","rv":{},"start":"{}"}})", kVersion, resource_version, page));
}

tl::unexpected<Status> not_valid(std::string_view why) {
  return bad_request(fmt::format("invalid continue token: continue key is not valid: {}", why));
}

/// The bytes, in the words of Go's decoder where there are none.
Answer<std::string> decoded(std::string_view token) {
  const std::size_t bad = token.find_first_not_of(kAlphabet);
  if (bad != std::string_view::npos || token.size() % 4 == 1) {
    return not_valid(
        fmt::format("illegal base64 data at input byte {}", std::min(bad, token.size() - 1)));
  }
  std::string plain(token);
  std::ranges::replace(plain, '-', '+');
  std::ranges::replace(plain, '_', '/');
  return store::from_base64(plain);
}

/// The page that the token names. Source: apiserver/pkg/storage DecodeContinue.
Answer<std::uint64_t> page_named(std::string_view token) {
  const auto bytes = decoded(token);
  if (!bytes) {
    return tl::unexpected(bytes.error());
  }
  if (const auto wrong = schema::json_syntax_error(*bytes)) {
    return not_valid(*wrong);
  }
  const auto said = api::parse_json(*bytes);
  const std::string_view version = said ? api::string_at(*said, "v") : std::string_view();
  if (version != kVersion) {
    return not_valid(
        fmt::format("server does not recognize this encoded version {}", store::quote(version)));
  }
  const api::json::value* revision = api::find(*said, "rv");
  if (revision == nullptr || !revision->is_number() || revision->to_number<double>() == 0) {
    return not_valid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  }
  const std::string_view start = api::string_at(*said, "start");
  if (start.empty()) {
    return not_valid("encoded start key empty (version meta.k8s.io/v1)");
  }
  std::uint64_t page = 0; // of another server: not kept here
  std::from_chars(start.data(), start.data() + start.size(), page);
  return page;
}

} // namespace

ListPages::Page ListPages::first(store::ObjectList list, store::ListOptions what,
                                 std::size_t limit) {
  return cut({.list = std::move(list), .what = std::move(what)}, limit);
}

ListPages::Page ListPages::cut(Rest rest, std::size_t limit) {
  Page page{.items = {}, .resource_version = rest.list.resource_version, .continue_token = {}};
  auto& items = rest.list.items;
  auto next = items.begin();
  for (; next != items.end() && page.items.size() < limit; ++next) {
    if (store::covers(rest.what, *next)) {
      page.items.push_back(*next);
    }
  }
  if (next == items.end()) {
    return page;
  }
  items.erase(items.begin(), next);
  page.remaining = items.size();
  page.continue_token = token_of(rest.list.resource_version, ++last_);
  kept_.emplace(last_, std::move(rest));
  while (kept_.size() > most_) {
    kept_.erase(kept_.begin());
  }
  return page;
}

Answer<ListPages::Page> ListPages::next(std::string_view token, std::size_t limit) {
  const auto number = page_named(token);
  if (!number) {
    return tl::unexpected(number.error());
  }
  const auto at = kept_.find(*number);
  if (at == kept_.end()) {
    return tl::unexpected(
        Status{.code = 410,
               .reason = "Expired",
               .message = "The provided continue parameter is too old to display a consistent list "
                          "result. You must start a new list without the continue parameter.",
               .details = nullptr});
  }
  // The same page may be asked for again, so what it was cut from stays.
  return cut(at->second, limit);
}

} // namespace berth::server
