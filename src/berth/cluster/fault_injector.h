// Makes Fault objects true: what they say breaks in the fleet, what is deleted is healed. Each
// object's status says what became of it, and an event of its node tells when it began and ended.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/events.h"
#include "berth/client/informer.h"
#include "berth/cluster/fleet.h"
#include "berth/cluster/injected_fault.h"

namespace berth::cluster {

/// Has the kind Fault served: writes its definition, unless it is there. Error: it cannot be
/// stored.
Result<void> define_faults(store::Registry& registry, TimePoint now);

/// Follows the API from its making; all must outlive it.
class FaultInjector {
 public:
  FaultInjector(Loop& loop, client::Client& client, Rng rng, Fleet& fleet);
  ~FaultInjector();
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

 private:
  void on_change(const api::Object& old, const api::Object& now);
  void begin(const api::Object& object);
  void end(const std::string& name);
  Result<std::string> check(const InjectedFault& fault) const;
  std::string break_it(const std::string& name, const InjectedFault& fault);
  void down(const std::string& node);
  void up(const std::string& node);
  bool another(const std::string& name, const InjectedFault& fault) const;
  void say(const std::string& name, std::string_view phase, const std::string& message);
  void tell_node(const std::string& node, client::EventType type, std::string_view reason,
                 const std::string& message);
  void forget(const std::string& name);

  Loop& loop_;
  client::Client& client_;
  Fleet& fleet_;
  client::EventRecorder events_;
  std::map<std::string, InjectedFault> active_;           ///< by the object's name
  std::map<std::string, std::unique_ptr<Timer>> passing_; ///< by the object's name
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<client::Informer> informer_;
};

} // namespace berth::cluster
