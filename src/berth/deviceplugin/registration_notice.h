// Tells people whether a kubelet has taken the plugins' resources: who waits for one in the wrong
// directory would otherwise see nothing, and wonder.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/deviceplugin/plugin_set.h"

namespace berth::deviceplugin {

/// How long a kubelet may take before somebody should look.
inline constexpr Duration kKubeletAnswers = Duration::seconds(10);

/// One line when a resource is registered, each time; one warning, once, if some are not in time.
class RegistrationNotice {
 public:
  using Say = std::function<void(const std::string& line)>;

  /// `directory` is that of kubelet.sock.
  RegistrationNotice(Loop& loop, std::string directory, Say note, Say warn);

  /// From now on `wanted` says which resources should be registered; `listening` is whether there
  /// is a kubelet.sock now.
  void begin(std::function<std::vector<std::string>()> wanted, bool listening);
  /// A kubelet has taken it.
  void registered(const std::string& resource);

 private:
  void look() const;

  std::string directory_;
  Say note_;
  Say warn_;
  std::function<std::vector<std::string>()> wanted_;
  std::set<std::string> taken_;
  Timer due_;
};

/// What a set gives, for people: "8 GPUs as nvidia.com/gpu (80 by time slicing)".
std::string advertised_text(const PluginSet& set, std::size_t gpus);

} // namespace berth::deviceplugin
