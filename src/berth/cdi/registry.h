// The CDI specs of one machine, as /etc/cdi and /var/run/cdi hold them, and the devices they
// define.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/cdi/spec.h"

namespace berth::cdi {

/// A device and the spec that defines it.
struct Resolved {
  const Spec* spec = nullptr;
  const Device* device = nullptr;
};

/// Specs by file name; a copy shares them and keeps what they were. A device name defined by files
/// of several priorities is the highest one's; defined twice at that priority it is a conflict and
/// does not resolve. Lookups are O(files x devices).
class Registry {
 public:
  static constexpr int kStatic = 0;  ///< /etc/cdi
  static constexpr int kDynamic = 1; ///< /var/run/cdi, wins

  /// Replaces the file of that name. Error Invalid: the spec breaks the rules; nothing changes.
  Result<void> put(std::string_view file, int priority, Spec spec);
  void remove(std::string_view file);
  /// Forgets what a reboot forgets: every dynamic spec.
  void clear_dynamic();

  /// The device of a qualified name; empty pointers if it is unknown or in conflict. Valid until
  /// the next change.
  Resolved find(std::string_view qualified) const;
  /// Every resolvable qualified name, sorted.
  std::vector<std::string> names() const;

  /// A name that files of one priority define, and that therefore does not resolve.
  struct Conflict {
    std::string name;
    std::vector<std::string> files;
  };
  /// By name.
  std::vector<Conflict> conflicts() const;

 private:
  struct File {
    int priority = 0;
    Spec spec;
  };
  using Files = std::map<std::string, File, std::less<>>;
  std::shared_ptr<const Files> files_ = std::make_shared<const Files>();

  void change(const std::function<void(Files&)>& edit);
};

} // namespace berth::cdi
