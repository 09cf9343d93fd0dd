// Volumes of kind projected: files of ConfigMaps, Secrets, the pod and service account tokens in
// one folder. Rule: kubelet pkg/volume/projected.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/node/volumes/downward_api.h"
#include "berth/node/volumes/payload.h"

namespace berth::node {

struct TokenWish {
  std::string audience; ///< "": the API server's own
  std::int64_t expiration_seconds = 3600;
  auto operator<=>(const TokenWish&) const = default;
};

using Tokens = std::map<TokenWish, Result<std::string>>;

/// The tokens that a volume needs.
std::vector<TokenWish> token_wishes(const api::json::value& volume);

struct ProjectedFacts {
  const Sources* sources = nullptr;
  DownwardFacts downward;
  const Tokens* tokens = nullptr;
  std::optional<std::int64_t> fs_group; ///< of the pod
  std::optional<std::int64_t> fs_user;  ///< whom all of its containers run as, if one
};

/// `source` is the volume's `projected`. Sources come in their order, later files over earlier
/// ones.
Result<Payload> projected_files(const api::json::value& source, const ProjectedFacts& facts);

} // namespace berth::node
