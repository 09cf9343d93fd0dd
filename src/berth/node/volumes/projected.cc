#include "berth/node/volumes/projected.h"

#include <utility>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"
#include "berth/node/volumes/config_map.h"
#include "berth/node/volumes/secret.h"

namespace berth::node {
namespace {

namespace json = boost::json;

TokenWish wish_of(const json::value& token) {
  constexpr std::int64_t kHour = 3600;
  return {.audience = std::string(api::string_at(token, "audience")),
          .expiration_seconds = int_at(token, "expirationSeconds").value_or(kHour)};
}

// Whom it is for, a user or, by the volume's ownership, a group, is to read it and nobody else.
constexpr std::uint32_t kOwnedTokenMode = 0600;

Result<Payload> token_file(const json::value& token, std::uint32_t mode,
                           const ProjectedFacts& facts) {
  const auto found = facts.tokens->find(wish_of(token));
  if (found == facts.tokens->end()) {
    return fail(Code::Unavailable, "failed to fetch token: nobody has asked for it");
  }
  if (!found->second) {
    return fail(found->second.error().code,
                fmt::format("failed to fetch token: {}", found->second.error().message));
  }
  return Payload{{.path = std::string(api::string_at(token, "path")),
                  .bytes = *found->second,
                  .mode = facts.fs_group || facts.fs_user ? kOwnedTokenMode : mode,
                  .user = facts.fs_user}};
}

Result<Payload> files_of(const json::value& each, std::uint32_t mode, const ProjectedFacts& facts) {
  if (const json::value* config = api::find(each, "configMap")) {
    return config_map_files(*config, mode, *facts.sources);
  }
  if (const json::value* secret = api::find(each, "secret")) {
    return secret_files(*secret, mode, *facts.sources);
  }
  if (const json::value* downward = api::find(each, "downwardAPI")) {
    return downward_files(*downward, mode, facts.downward);
  }
  if (const json::value* token = api::find(each, "serviceAccountToken")) {
    return token_file(*token, mode, facts);
  }
  return fail(
      Code::Invalid,
      fmt::format("a source of a projected volume is not known here; try configMap, secret, "
                  "downwardAPI or serviceAccountToken: {}",
                  api::to_json(each)));
}

} // namespace

std::vector<TokenWish> token_wishes(const json::value& volume) {
  std::vector<TokenWish> wishes;
  for (const json::value& each : list_at(volume, "projected.sources")) {
    if (const json::value* token = api::find(each, "serviceAccountToken")) {
      wishes.push_back(wish_of(*token));
    }
  }
  return wishes;
}

Result<Payload> projected_files(const json::value& source, const ProjectedFacts& facts) {
  Payload all;
  for (const json::value& each : list_at(source, "sources")) {
    BERTH_TRY(Payload files, files_of(each, default_mode(source), facts));
    merge_payload(all, std::move(files));
  }
  return all;
}

} // namespace berth::node
