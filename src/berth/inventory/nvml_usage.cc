#include "berth/inventory/nvml_usage.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "berth/inventory/nvml_reading.h"

namespace berth::inventory::nvml {
namespace {

using Number = GpuReadings::Number;

/// None: the call was refused.
template <class T> Number told(Return code, T value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return code == kSuccess ? Number(static_cast<std::int64_t>(std::min<std::uint64_t>(value, kMost)))
                          : std::nullopt;
}

/// Of a function that gives one number.
template <class T, class Function, class... Arguments>
Number ask(Function function, Device device, Arguments... arguments) {
  T value = 0;
  const Return code = call(function, device, arguments..., &value);
  return told(code, value);
}

FieldValue ask_field(const Functions& f, Device device, unsigned field, unsigned scope = 0) {
  FieldValue asked{.field = field, .scope = scope};
  const Return code = call(f.field_values, device, 1, &asked);
  asked.result = code == kSuccess ? asked.result : code;
  return asked;
}

/// A count, which the library gives as an integer of one of several widths.
Number count_of(const FieldValue& asked) {
  constexpr int kNaturalType = 1;
  return asked.value_type == kNaturalType ? told(asked.result, asked.value.natural)
                                          : told(asked.result, asked.value.large);
}

void read_memory(const Functions& f, Device device, GpuReadings& to) {
  MemoryWithReserved precise{.version = kMemoryVersion};
  if (call(f.memory_with_reserved, device, &precise) == kSuccess) {
    to.memory_used_bytes = told(kSuccess, precise.used);
    to.memory_free_bytes = told(kSuccess, precise.free);
    to.memory_reserved_bytes = told(kSuccess, precise.reserved);
    return;
  }
  Memory memory{};
  const Return code = call(f.memory_info, device, &memory);
  to.memory_used_bytes = told(code, memory.used);
  to.memory_free_bytes = told(code, memory.free);
}

void read_load(const Functions& f, Device device, GpuReadings& to) {
  Utilization load{};
  const Return code = call(f.utilization, device, &load);
  to.percent = told(code, load.gpu);
  to.memory_copy_percent = told(code, load.memory);
  unsigned percent = 0;
  unsigned period = 0;
  const Return encoder = call(f.encoder, device, &percent, &period);
  to.encoder_percent = told(encoder, percent);
  const Return decoder = call(f.decoder, device, &percent, &period);
  to.decoder_percent = told(decoder, percent);
}

void read_errors(const Functions& f, Device device, GpuReadings& to) {
  constexpr int kCorrected = 0;
  constexpr int kUncorrected = 1;
  constexpr int kVolatile = 0;
  constexpr int kAggregate = 1;
  const auto ecc = [&](int type, int counter) {
    return ask<std::uint64_t>(f.ecc_errors, device, type, counter);
  };
  to.ecc_single_volatile = ecc(kCorrected, kVolatile);
  to.ecc_double_volatile = ecc(kUncorrected, kVolatile);
  to.ecc_single_aggregate = ecc(kCorrected, kAggregate);
  to.ecc_double_aggregate = ecc(kUncorrected, kAggregate);
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  const Return code = call(f.remapped_rows, device, &corrected, &uncorrected, &pending, &failed);
  to.corrected_rows = told(code, corrected);
  to.uncorrected_rows = told(code, uncorrected);
  to.row_failure = told(code, failed);
  to.pcie_replays = ask<unsigned>(f.pcie_replays, device);
}

/// The sum over the links that are active; none if no link tells.
void read_links(const Functions& f, Device device, GpuReadings& to) {
  struct Counter {
    int number; ///< nvmlNvLinkErrorCounter_t
    Number GpuReadings::*sum;
  };
  constexpr Counter kCounters[] = {{0, &GpuReadings::nvlink_replays},
                                   {1, &GpuReadings::nvlink_recoveries},
                                   {2, &GpuReadings::nvlink_flit_errors},
                                   {3, &GpuReadings::nvlink_data_errors}};
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    int active = 0;
    const Return state = call(f.nvlink_state, device, link, &active);
    if (state != kSuccess) {
      return; // no more links, or none at all
    }
    for (const Counter& counter : kCounters) {
      const Number errors = active != 0
                                ? ask<std::uint64_t>(f.nvlink_errors, device, link, counter.number)
                                : std::nullopt;
      if (errors) {
        to.*counter.sum = (to.*counter.sum).value_or(0) + *errors;
      }
    }
  }
}

void read_traffic(const Functions& f, Device device, GpuReadings& to) {
  const Number sent = count_of(ask_field(f, device, kNvlinkSentField, kAllLinks));
  const Number received = count_of(ask_field(f, device, kNvlinkReceivedField, kAllLinks));
  if (sent && received) {
    to.nvlink_kib = *sent + *received;
  }
}

void read_license(const Functions& f, Device device, GpuReadings& to) {
  const Number mode = ask<unsigned>(f.virtualization, device);
  if (mode == kNotVirtual || mode == kPassedThrough) {
    to.vgpu_license = 0;
  }
}

void read_instances(const Functions& f, Device device, const std::vector<MigDevice>& mig,
                    GpuReadings& to) {
  for (const MigDevice& each : mig) {
    to.instances.push_back({.uuid = each.uuid,
                            .profile = each.profile,
                            .gpu_instance = each.gpu_instance,
                            .used_bytes = {},
                            .free_bytes = {}});
  }
  constexpr unsigned kMostInstances = 16;
  for (unsigned i = 0; i < kMostInstances && !to.instances.empty(); ++i) {
    Device handle = nullptr;
    unsigned id = 0;
    Memory memory{};
    if (call(f.mig_by_index, device, i, &handle) != kSuccess ||
        call(f.gpu_instance_id, handle, &id) != kSuccess) {
      continue; // a hole
    }
    const Return code = call(f.memory_info, handle, &memory);
    for (MigReading& each : to.instances) {
      if (static_cast<unsigned>(each.gpu_instance) == id) {
        each.used_bytes = told(code, memory.used);
        each.free_bytes = told(code, memory.free);
      }
    }
  }
}

} // namespace

GpuReadings read_usage(const Library& library, Device device, const std::vector<MigDevice>& mig) {
  constexpr int kSm = 1; // nvmlClockType_t
  constexpr int kMemory = 2;
  constexpr int kDie = 0; // nvmlTemperatureSensors_t
  const Functions& f = library.functions();
  GpuReadings to;
  read_memory(f, device, to);
  read_load(f, device, to);
  to.sm_clock_mhz = ask<unsigned>(f.clock, device, kSm);
  to.memory_clock_mhz = ask<unsigned>(f.clock, device, kMemory);
  to.celsius = ask<unsigned>(f.temperature, device, kDie);
  const FieldValue memory_temperature = ask_field(f, device, kMemoryTemperatureField);
  to.memory_celsius = told(memory_temperature.result, memory_temperature.value.natural);
  to.milliwatts = ask<unsigned>(f.power, device);
  to.energy_mj = ask<std::uint64_t>(f.energy, device);
  read_errors(f, device, to);
  read_links(f, device, to);
  read_traffic(f, device, to);
  read_license(f, device, to);
  read_instances(f, device, mig, to);
  to.processes = read_processes(library, device).value_or(std::vector<GpuProcess>());
  return to;
}

void PcieMeter::step(Counter& counter, const Library& library, Device device, unsigned field) {
  constexpr std::int64_t kApart = 100'000; // microseconds
  constexpr std::int64_t kSecond = 1'000'000;
  const FieldValue asked = ask_field(library.functions(), device, field);
  const Number bytes = count_of(asked);
  if (!bytes || asked.timestamp <= 0) {
    counter = {};
    return;
  }
  const std::int64_t passed = asked.timestamp - counter.at_us;
  const bool begun = counter.at_us > 0;
  if (begun && passed >= 0 && passed < kApart) {
    return;
  }
  // A counter that went back has begun anew.
  const bool follows = begun && passed > 0 && *bytes >= counter.bytes;
  const double seconds = static_cast<double>(passed) / static_cast<double>(kSecond);
  counter.rate =
      follows
          ? Number(static_cast<std::int64_t>(static_cast<double>(*bytes - counter.bytes) / seconds))
          : std::nullopt;
  counter.at_us = asked.timestamp;
  counter.bytes = *bytes;
}

void PcieMeter::look(const Library& library, Device device, GpuReadings& to) {
  step(sent_, library, device, kPcieSentField);
  step(received_, library, device, kPcieReceivedField);
  to.pcie_sent = sent_.rate;
  to.pcie_received = received_.rate;
}

} // namespace berth::inventory::nvml
