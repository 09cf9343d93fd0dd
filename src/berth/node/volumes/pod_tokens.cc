#include "berth/node/volumes/pod_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/runtime/pod_addresses.h"

namespace berth::node {
namespace {

constexpr Duration kLongest = Duration::hours(24);
constexpr std::uint64_t kMostJitterMillis = 10'000;

/// Of one pod always the same.
Duration jitter_of(std::string_view pod_uid) {
  return Duration::millis(static_cast<std::int64_t>(runtime::seed_of(pod_uid) % kMostJitterMillis));
}

} // namespace

bool needs_renewal(const client::Token& token, TimePoint now, Duration jitter) {
  const TimePoint issued = token.expires - token.life;
  return now + token.life / 5 + jitter > token.expires || now + jitter > issued + kLongest;
}

std::optional<std::string> PodTokens::fresh(const TokenWish& wish, std::string_view pod_uid,
                                            TimePoint now) const {
  const auto held = last_.find(wish);
  if (held == last_.end() || needs_renewal(held->second, now, jitter_of(pod_uid))) {
    return std::nullopt;
  }
  return held->second.text;
}

Result<std::string> PodTokens::answered(const TokenWish& wish, const Result<client::Token>& answer,
                                        TimePoint now) {
  if (answer) {
    last_.insert_or_assign(wish, *answer);
    return answer->text;
  }
  const auto held = last_.find(wish);
  if (held == last_.end()) {
    return tl::unexpected(answer.error());
  }
  if (now < held->second.expires) {
    return held->second.text;
  }
  return fail(answer.error().code,
              fmt::format("the old one has expired, and: {}", answer.error().message));
}

} // namespace berth::node
