#include "berth/hardware/node_conditions.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace berth::hardware {

namespace json = api::json;

json::array healthy_conditions() {
  const auto condition = [](std::string_view type, std::string_view status, std::string_view reason,
                            std::string_view message) {
    return json::object{
        {"type", type}, {"status", status}, {"reason", reason}, {"message", message}};
  };
  return {condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                    "kubelet has sufficient memory available"),
          condition("DiskPressure", "False", "KubeletHasNoDiskPressure",
                    "kubelet has no disk pressure"),
          condition("PIDPressure", "False", "KubeletHasSufficientPID",
                    "kubelet has sufficient PID available"),
          condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")};
}

} // namespace berth::hardware
