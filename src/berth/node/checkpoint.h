// What the resource managers must remember over a crash, and its form on disk: one header line with
// the CRC32C of the canonical JSON that follows. Own format: the kubelet's checksum is of a Go
// printer's dump and cannot be reproduced.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/node/device_ledger.h"
#include "berth/topology/cpu_ledger.h"
#include "berth/topology/memory_ledger.h"

namespace berth::node {

struct Checkpoint {
  std::string boot_id; ///< of the machine when it was written
  std::vector<Holding> holdings;
  /// Pods whose holdings are of an earlier boot than `boot_id`, and which nobody has confirmed
  /// since.
  std::vector<std::string> unproven;
  /// Resource to the ids its plugin last called healthy.
  std::map<std::string, std::vector<std::string>> registered;
  /// Resources whose plugin is gone for good, and which the Node may still name.
  std::vector<std::string> departed;
  /// CPUs and memory of containers that have their own.
  std::vector<topology::CpuAssignment> cpus;
  std::vector<topology::MemoryAssignment> memory;

  bool operator==(const Checkpoint&) const = default;
};

std::string encode_checkpoint(const Checkpoint& checkpoint);
/// Error Invalid "checkpoint is corrupted: ..." for any bytes that encode_checkpoint did not make.
Result<Checkpoint> decode_checkpoint(std::string_view bytes);

/// Castagnoli's CRC, as in iSCSI (RFC 3720): crc32c("123456789") == 0xe3069283.
std::uint32_t crc32c(std::string_view bytes);

} // namespace berth::node
