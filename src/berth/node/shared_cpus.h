// Running containers without CPUs of their own follow what is shared when it changes, and those
// with some stay on them: the kubelet's CPU manager does it every ten seconds, this when there is
// something to change.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "berth/base/loop.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

/// Loop and runtime outlive it. To be owned by a shared_ptr: nothing is called back once it is
/// gone.
class SharedCpus : public std::enable_shared_from_this<SharedCpus> {
 public:
  /// `again` is called, as a later task, when the runtime has failed and it is time to try anew.
  SharedCpus(Loop& loop, runtime::Runtime& runtime, std::function<void()> again);

  /// What runs now, by id, and the CPUs that each may run on, as Linux lists them. The runtime is
  /// told of those that it has not been told before.
  void follow(const std::map<std::string, std::string>& running);
  /// A change has been asked for and is not answered.
  bool busy() const { return under_way_ > 0 || again_timer_.armed(); }

 private:
  void answered(const std::string& id, const Result<void>& answer);

  runtime::Runtime* runtime_;
  std::function<void()> again_;
  std::map<std::string, std::string> told_; ///< by container id
  int under_way_ = 0;
  Timer again_timer_;
};

} // namespace berth::node
