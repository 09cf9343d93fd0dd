// The methods of the kubelet's plugin services, by the names they have in gRPC.
#pragma once

namespace berth::deviceplugin::method {

inline constexpr const char* kRegister = "/v1beta1.Registration/Register";

inline constexpr const char* kGetOptions = "/v1beta1.DevicePlugin/GetDevicePluginOptions";
inline constexpr const char* kListAndWatch = "/v1beta1.DevicePlugin/ListAndWatch";
inline constexpr const char* kGetPreferredAllocation =
    "/v1beta1.DevicePlugin/GetPreferredAllocation";
inline constexpr const char* kAllocate = "/v1beta1.DevicePlugin/Allocate";
inline constexpr const char* kPreStartContainer = "/v1beta1.DevicePlugin/PreStartContainer";

inline constexpr const char* kGetInfo = "/pluginregistration.Registration/GetInfo";
inline constexpr const char* kNotifyRegistrationStatus =
    "/pluginregistration.Registration/NotifyRegistrationStatus";

} // namespace berth::deviceplugin::method
