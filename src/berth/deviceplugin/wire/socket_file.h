// Socket files in a directory that several processes write to: which one is there, which names may
// be asked for, and the sweep with which a kubelet begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/result.h"

namespace berth::deviceplugin {

/// One life of a socket file: deleted and made again it is another, even where the file system
/// gives the same number again.
struct SocketIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t made_nanos = 0;

  bool operator==(const SocketIdentity&) const = default;
};

/// nullopt if there is nothing at the path, or no socket. A symbolic link is none.
std::optional<SocketIdentity> socket_at(const std::string& path);

/// The path of the socket that a plugin named in its request. Error Invalid: the name would leave
/// the directory, is the kubelet's own, or cannot be a socket's; something else has that name.
Result<std::string> endpoint_path(const std::string& directory, std::string_view endpoint);

/// Makes the directory, mode 0750, unless it is there. Error: it cannot be made.
Result<void> make_directory(const std::string& directory);

/// Deletes every unix socket in the directory; files and directories stay. Error: the directory
/// cannot be read, or a socket not be deleted.
Result<void> sweep_sockets(const std::string& directory);

} // namespace berth::deviceplugin
