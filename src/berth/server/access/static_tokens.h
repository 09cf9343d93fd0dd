// Bearer tokens from a file: one line of CSV a token, TOKEN,USER,UID or
// TOKEN,USER,UID,"GROUP1,GROUP2". Source: apiserver token/tokenfile, Go's encoding/csv.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "berth/base/result.h"
#include "berth/server/user.h"

namespace berth::server {

/// Keeps hashes, never the tokens.
class StaticTokens {
 public:
  StaticTokens() = default;
  /// Error Invalid with file and line: fewer than three columns, an empty token, a token given
  /// twice, or quotes that do not match.
  static Result<StaticTokens> parse(std::string_view text, std::string_view file);

  void add(std::string_view token, User user);
  /// nullptr if there is none. A token is compared in a time that does not tell how much of it is
  /// right.
  const User* find(std::string_view token) const;

 private:
  struct Entry {
    std::string digest;
    User user;
  };
  std::unordered_multimap<std::uint64_t, Entry> by_prefix_; ///< first bytes of the digest
};

} // namespace berth::server
