// Who asks. Source: apiserver authentication/user.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace berth::server {

inline constexpr const char* kAnonymous = "system:anonymous";
inline constexpr const char* kMasters = "system:masters"; ///< this group may do everything
inline constexpr const char* kAuthenticated = "system:authenticated";
inline constexpr const char* kUnauthenticated = "system:unauthenticated";

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  /// What else the authenticator knows, e.g. the pod that a token is bound to.
  std::map<std::string, std::vector<std::string>> extra;

  bool operator==(const User&) const = default;
};

} // namespace berth::server
