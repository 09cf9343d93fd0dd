#include "berth/server/access/impersonation.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/server/access/rbac_objects.h"
#include "berth/store/errors.h"
#include "berth/store/naming.h"

namespace berth::server {
namespace {

constexpr std::string_view kUser = "impersonate-user";
constexpr std::string_view kGroup = "impersonate-group";
constexpr std::string_view kUid = "impersonate-uid";
constexpr std::string_view kExtra = "impersonate-extra-";
constexpr std::string_view kAuthentication = "authentication.k8s.io";
constexpr std::string_view kAccountPrefix = "system:serviceaccount:";

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

int hex_digit(char c) {
  const char low = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low >= '0' && low <= '9' ? low - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/// Percent-decoded; as it is if that cannot be done.
std::string unescaped(const std::string& text) {
  constexpr int kHex = 16;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(text[i + 2]);
    if (low < 0) {
      return text;
    }
    out += static_cast<char>(high * kHex + low);
    i += 2;
  }
  return out;
}

struct Account {
  std::string ns;
  std::string name;
};

/// Of "system:serviceaccount:NS:NAME".
std::optional<Account> account_of(std::string_view user) {
  if (!user.starts_with(kAccountPrefix)) {
    return std::nullopt;
  }
  user.remove_prefix(kAccountPrefix.size());
  const std::size_t colon = user.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  Account account{.ns = std::string(user.substr(0, colon)),
                  .name = std::string(user.substr(colon + 1))};
  if (!store::label_name_errors(account.ns).empty() ||
      !store::subdomain_errors(account.name).empty()) {
    return std::nullopt;
  }
  return account;
}

struct Wish {
  User user;
  bool groups_named = false;
  std::vector<std::pair<std::string, std::string>> extra; ///< key and value, in order
};

Wish wish_of(const net::HttpHeaders& headers) {
  Wish wish;
  for (const auto& [header, value] : headers) {
    const std::string name = lower(header);
    if (name == kUser && wish.user.name.empty()) {
      wish.user.name = value;
    } else if (name == kUid && wish.user.uid.empty()) {
      wish.user.uid = value;
    } else if (name == kGroup) {
      wish.user.groups.push_back(value);
      wish.groups_named = true;
    } else if (name.starts_with(kExtra)) {
      wish.extra.emplace_back(unescaped(name.substr(kExtra.size())), value);
    }
  }
  return wish;
}

/// As Go prints the references that Kubernetes makes of the headers.
std::string references(const Wish& wish) {
  std::vector<std::string> out;
  for (const std::string& group : wish.user.groups) {
    out.push_back(fmt::format("{{Group  {}    }}", group));
  }
  for (const auto& [key, value] : wish.extra) {
    out.push_back(fmt::format("{{UserExtra  {}  {}/v1  {}}}", value, kAuthentication, key));
  }
  if (!wish.user.uid.empty()) {
    out.push_back(fmt::format("{{UID  {}  {}/v1  }}", wish.user.uid, kAuthentication));
  }
  return fmt::format("[{}]", fmt::join(out, " "));
}

RequestInfo asking(std::string_view group, std::string_view resource, std::string name) {
  RequestInfo what;
  what.verb = "impersonate";
  what.is_resource = true;
  what.group = group;
  what.version = group.empty() ? "" : "v1";
  what.resource = resource;
  what.name = std::move(name);
  return what;
}

/// Everything that has to be allowed.
std::vector<RequestInfo> questions(const Wish& wish, const std::optional<Account>& account) {
  std::vector<RequestInfo> out;
  if (account) {
    out.push_back(asking("", "serviceaccounts", account->name));
    out.back().ns = account->ns;
  } else {
    out.push_back(asking("", "users", wish.user.name));
  }
  for (const std::string& group : wish.user.groups) {
    out.push_back(asking("", "groups", group));
  }
  for (const auto& [key, value] : wish.extra) {
    out.push_back(asking(kAuthentication, "userextras", value));
    out.back().subresource = key;
  }
  if (!wish.user.uid.empty()) {
    out.push_back(asking(kAuthentication, "uids", wish.user.uid));
  }
  return out;
}

void complete_groups(User& user) {
  if (in_group(user, kUnauthenticated)) {
    return;
  }
  if (user.name == kAnonymous) {
    user.groups.emplace_back(kUnauthenticated);
  } else if (!in_group(user, kAuthenticated)) {
    user.groups.emplace_back(kAuthenticated);
  }
}

} // namespace

Answer<std::optional<User>> impersonated(const net::HttpRequest& request, const User& requestor,
                                         const Judge& judge) {
  Wish wish = wish_of(request.headers);
  if (wish.user.name.empty()) {
    if (!wish.groups_named && wish.extra.empty() && wish.user.uid.empty()) {
      return std::nullopt;
    }
    return tl::unexpected(Status{
        .code = 500,
        .reason = "InternalError",
        .message = fmt::format("Internal Server Error: {}: requested {} without impersonating a "
                               "user",
                               store::quote(request.target), references(wish)),
        .details = nullptr});
  }
  const std::optional<Account> account = account_of(wish.user.name);
  for (const RequestInfo& question : questions(wish, account)) {
    if (const Decision decision = judge(question); !decision.allowed) {
      return tl::unexpected(forbidden(requestor, question, decision.reason));
    }
  }
  if (account && !wish.groups_named) {
    wish.user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + account->ns};
  }
  for (auto& [key, value] : wish.extra) {
    wish.user.extra[key].push_back(std::move(value));
  }
  complete_groups(wish.user);
  return std::move(wish.user);
}

} // namespace berth::server
