// The service account tokens of one pod: which are still good, and when they are asked for again.
// Pure. Rule: kubelet pkg/kubelet/token/token_manager.go.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "berth/client/token_source.h"
#include "berth/node/volumes/projected.h"

namespace berth::node {

/// A token is to be renewed once four fifths of its life are over, or a day after its issue; sooner
/// by `jitter`, so that not all pods ask at once.
bool needs_renewal(const client::Token& token, TimePoint now, Duration jitter);

class PodTokens {
 public:
  /// The token, if there is one that need not be asked for.
  std::optional<std::string> fresh(const TokenWish& wish, std::string_view pod_uid,
                                   TimePoint now) const;
  /// What is shown after an answer: the new token; if there is none, the old one for as long as it
  /// is good; else the error.
  Result<std::string> answered(const TokenWish& wish, const Result<client::Token>& answer,
                               TimePoint now);

 private:
  std::map<TokenWish, client::Token> last_; ///< as last issued
};

} // namespace berth::node
