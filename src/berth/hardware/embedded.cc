#include "berth/hardware/embedded.h"

extern "C" {
// Defined in the generated assembler file: an array of EmbeddedFile and the address one past it.
extern const berth::hardware::EmbeddedFile
    berth_embedded_platforms[]; // NOLINT(modernize-avoid-c-arrays)
extern const berth::hardware::EmbeddedFile
    berth_embedded_platforms_end[]; // NOLINT(modernize-avoid-c-arrays)
}

namespace berth::hardware {

std::span<const EmbeddedFile> embedded_platforms() {
  return {&berth_embedded_platforms[0], &berth_embedded_platforms_end[0]};
}

} // namespace berth::hardware
