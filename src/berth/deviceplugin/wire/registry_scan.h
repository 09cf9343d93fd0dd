// The sockets below a directory that others write to, found without following anything out of it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "berth/deviceplugin/wire/socket_file.h"

namespace berth::deviceplugin {

struct RegistryScan {
  std::map<std::string, SocketIdentity> sockets; ///< by path
  std::set<std::string> folders;                 ///< below the directory, by path
};

/// Names that begin with "." are passed over, and so are symbolic links, what lies deeper than
/// eight folders, and what is more than a thousand of a kind. What cannot be read is not there.
RegistryScan scan_registry(const std::string& directory);

} // namespace berth::deviceplugin
