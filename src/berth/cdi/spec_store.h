// Where a writer of CDI specs puts them, so that runtimes find them: a directory such as
// /var/run/cdi, or the specs of a simulated machine.
#pragma once

#include <string>
#include <string_view>

#include "berth/cdi/registry.h"
#include "berth/cdi/spec.h"

namespace berth::cdi {

class SpecStore {
 public:
  virtual ~SpecStore() = default;
  /// Replaces the file of that name ("vendor-class.json"), all or nothing: whoever reads sees the
  /// old spec or the new. Errors Invalid: the spec breaks the rules; Unavailable: it cannot be
  /// written. The old one is then still there.
  virtual Result<void> put(std::string_view file, const Spec& spec) = 0;
  /// A file that is not there is removed.
  virtual Result<void> remove(std::string_view file) = 0;
};

/// The dynamic specs of a simulated machine. The registry must outlive it.
class RegistryStore final : public SpecStore {
 public:
  explicit RegistryStore(Registry& registry) : registry_(&registry) {}
  Result<void> put(std::string_view file, const Spec& spec) override;
  Result<void> remove(std::string_view file) override;

 private:
  Registry* registry_;
};

/// A directory, made if it is missing. A spec that is there is whole: see replace_file().
class DirectoryStore final : public SpecStore {
 public:
  explicit DirectoryStore(std::string directory) : directory_(std::move(directory)) {}
  Result<void> put(std::string_view file, const Spec& spec) override;
  Result<void> remove(std::string_view file) override;

 private:
  std::string directory_;
};

} // namespace berth::cdi
