// What somebody breaks on purpose in a running cluster: an object of kind Fault
// (simulation.berth.dev/v1alpha1). A fault holds for as long as its object is there; those that
// pass by themselves (a reboot, a crash) take their object along.
#pragma once

#include <string>
#include <string_view>

#include "berth/api/json.h"
#include "berth/client/client.h"

namespace berth::cluster {

inline const client::GroupKind kFaults{"simulation.berth.dev", "Fault"};

struct InjectedFault {
  enum class Type { GpuXid, GpuLost, NodeDown, NodeReboot, AgentCrash, PluginCrash };
  Type type = Type::GpuXid;
  std::string node;
  int gpu = 0;  ///< of GpuXid and GpuLost
  int xid = 79; ///< of GpuXid

  bool of_gpu() const { return type == Type::GpuXid || type == Type::GpuLost; }
  /// Is over by itself.
  bool passes() const { return !of_gpu() && type != Type::NodeDown; }
  bool operator==(const InjectedFault&) const = default;
};

/// Error Invalid names the field.
Result<InjectedFault> read_injected_fault(const api::json::value& object);
std::string_view to_string(InjectedFault::Type type);

/// The CustomResourceDefinition of the kind, complete.
api::json::value fault_definition();

} // namespace berth::cluster
