// How a configuration names one device: a GPU's index, a MIG device's "GPU:DEVICE", or a UUID.
#pragma once

#include <string_view>

namespace berth::deviceplugin {

/// "0", "0:1", "GPU-<uuid>", "MIG-<uuid>", or the old "MIG-GPU-<uuid>/GI/CI".
bool is_device_ref(std::string_view text);

} // namespace berth::deviceplugin
