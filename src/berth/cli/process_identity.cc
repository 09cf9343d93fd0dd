#include "berth/cli/process_identity.h"

#include <unistd.h>

#include <array>

#include <fmt/format.h>

namespace berth::cli {

std::string process_identity() {
  std::array<char, 256> name{};
  return fmt::format(
      "{}_{}", gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown", getpid());
}

} // namespace berth::cli
