// Who asks. Source: apiserver authentication/user.
#pragma once

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
};

} // namespace berth::server
