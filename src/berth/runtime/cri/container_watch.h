// Events of a runtime that has no stream of them: it is asked again and again what it has (the
// kubelet's pod lifecycle event generator), while somebody listens.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/runtime/cri/relist.h"
#include "berth/runtime/runtime.h"

namespace berth::runtime::cri {

/// How a runtime is asked. Answers are later tasks, and none comes after close().
struct WatchSource {
  std::function<void(Done<Seen>)> look;
  std::function<void(const std::string& id, Done<ContainerStatus>)> status;
  std::function<void(const std::string& id)> gone; ///< nobody will ask for it any more
};

/// To be owned by a shared_ptr; streams keep it alive.
class ContainerWatch : public std::enable_shared_from_this<ContainerWatch> {
 public:
  ContainerWatch(Loop& loop, WatchSource source, Duration every);

  /// Who begins to listen hears of what is there.
  std::unique_ptr<EventStream> listen(std::function<void(const ContainerEvent&)> on_event);
  /// Something was done: the next look comes at once.
  void look_soon();
  /// The source goes; streams stay silent.
  void close();

 private:
  class Listener;
  void look();
  void tell(const std::vector<Change>& changes, Seen now);
  void emit(const ContainerEvent& event);

  WatchSource source_;
  Duration every_;
  std::vector<Listener*> listeners_;
  Timer look_again_;
  bool closed_ = false;
  bool looking_ = false;
  bool look_after_ = false; ///< something was done while looking
  Seen seen_;
  std::map<std::string, ContainerStatus> last_; ///< as last told, for what is gone
};

} // namespace berth::runtime::cri
