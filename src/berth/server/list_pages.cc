#include "berth/server/list_pages.h"

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace berth::server {
namespace {

constexpr std::string_view kPrefix = "page-";

std::optional<std::uint64_t> number_of(std::string_view token) {
  if (!token.starts_with(kPrefix)) {
    return std::nullopt;
  }
  token.remove_prefix(kPrefix.size());
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  return error == std::errc() && end == token.data() + token.size() ? std::optional(value)
                                                                    : std::nullopt;
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
  page.continue_token = fmt::format("{}{}", kPrefix, ++last_);
  kept_.emplace(last_, std::move(rest));
  while (kept_.size() > most_) {
    kept_.erase(kept_.begin());
  }
  return page;
}

Answer<ListPages::Page> ListPages::next(std::string_view token, std::size_t limit) {
  const auto number = number_of(token);
  if (!number) {
    return bad_request("invalid continue token: continue key is not valid: no list was given this "
                       "token");
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
