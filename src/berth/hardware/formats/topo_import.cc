// From paths back to the tree: what is joined by PIX hangs below one switch, by PXB below one
// outermost switch, by PHB on one host bridge, by NODE on one NUMA node.
#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/hardware/formats/gpu_devices.h"
#include "berth/hardware/formats/import.h"
#include "berth/hardware/formats/likeness.h"
#include "berth/hardware/formats/topo_matrix.h"

namespace berth::hardware {

namespace {

/// Sets of devices that grow together.
class Groups {
 public:
  explicit Groups(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0U); }

  std::size_t of(std::size_t i) const {
    while (parent_[i] != i) {
      i = parent_[i];
    }
    return i;
  }
  /// The lower of two leaders leads, so that a group is known by its first device.
  void join(std::size_t a, std::size_t b) {
    const auto [low, high] = std::minmax({of(a), of(b)}); // values: of() returns no references
    parent_[high] = low;
  }

 private:
  std::vector<std::size_t> parent_;
};

constexpr int kMostNuma = 256;

/// The first number of "0" or "0,3-9"; nothing if there is none below the bound.
std::optional<int> first_number(std::string_view text) {
  int value = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc{} && value >= 0 && value < kMostNuma ? std::optional(value)
                                                                     : std::nullopt;
}

class Importer {
 public:
  Importer(const TopoMatrix& matrix, const ImportOptions& options)
      : matrix_(matrix), n_(matrix.devices.size()), gpus_(matrix.gpus()),
        c2c_(std::ranges::any_of(matrix.devices,
                                 [](const auto& d) { return d.memory_numa.has_value(); })),
        like_(options.like != nullptr ? *options.like : nearest_platform(traits())), numa_(n_),
        bridges_(n_), tops_(n_), bottoms_(n_) {
    out_.platform = outline_of(like_, options.name);
    name_gpu(options.like != nullptr);
  }

  Result<Imported> run() {
    group();
    BERTH_CHECK(place_on_numa());
    place_devices();
    out_.platform.c2c = c2c_;
    link_gpus();
    fill_fabric(out_.platform, like_);
    fill_nics(out_.platform, like_, out_.notes);
    BERTH_TRY(out_.platform, finish_platform(std::move(out_.platform)));
    compare();
    return std::move(out_);
  }

 private:
  /// The model that the file names, if it is a known one; else the likeness'.
  void name_gpu(bool like_is_said) {
    GpuModel& model = out_.platform.gpu_model;
    const GpuDevice* known = gpu_device(matrix_.product);
    if (known != nullptr && known->product != model.product) {
      set_gpu(model, *known);
    }
    if (known != nullptr) {
      out_.notes.push_back(
          fmt::format("host memory, disks and rates are not said: assumed as in {}", like_.name));
    } else if (!like_is_said) {
      out_.notes.push_back(fmt::format(
          "{}: taken to be {} as in {}, with its memory, disks and rates; say which with --like "
          "PLATFORM",
          matrix_.product.empty() ? std::string("the matrix does not name the GPU")
                                  : fmt::format("the GPU {} is not known", matrix_.product),
          model.product, like_.name));
    }
  }

  Traits traits() const {
    Traits traits{.gpus = gpus_, .c2c = c2c_};
    if (const GpuDevice* known = gpu_device(matrix_.product)) {
      traits.pci_device = known->pci_device;
      traits.compute = known->compute;
    }
    for (std::size_t a = 0; a < gpus_; ++a) {
      int sum = 0;
      int most = 0;
      for (std::size_t b = 0; b < gpus_; ++b) {
        sum += matrix_.cells[a][b].nvlinks;
        most = std::max(most, matrix_.cells[a][b].nvlinks);
      }
      traits.nvlinks = std::max(traits.nvlinks, sum > 18 ? most : sum);
    }
    return traits;
  }

  /// Whether a path tells where its ends hang: NVLink says nothing of the tree, nor does any path
  /// of a GPU behind NVLink-C2C.
  bool tells(std::size_t a, std::size_t b) const {
    const Link kind = matrix_.cells[a][b].kind;
    return kind != Link::NVLink && kind != Link::C2C && kind != Link::Self &&
           !(c2c_ && (a < gpus_ || b < gpus_));
  }

  void group() {
    for (std::size_t a = 0; a < n_; ++a) {
      for (std::size_t b = a + 1; b < n_; ++b) {
        const TopoDevice& x = matrix_.devices[a];
        const TopoDevice& y = matrix_.devices[b];
        const bool same_cpus = !x.cpus.empty() && x.cpus == y.cpus;
        const bool same_numa = !x.numa_affinity.empty() && x.numa_affinity == y.numa_affinity;
        // Where NUMA nodes are said they count; CPUs alone may span several.
        const bool together =
            x.numa_affinity.empty() || y.numa_affinity.empty() ? same_cpus : same_numa;
        if (together) {
          numa_.join(a, b);
        }
        if (!tells(a, b)) {
          continue;
        }
        const Link kind = matrix_.cells[a][b].kind;
        if (kind <= Link::NODE) {
          numa_.join(a, b);
        }
        if (kind <= Link::PHB) {
          bridges_.join(a, b);
        }
        if (kind <= Link::PXB) {
          tops_.join(a, b);
        }
        if (kind <= Link::PIX) {
          bottoms_.join(a, b);
        }
      }
    }
  }

  /// Where no path of a GPU tells where NICs hang: groups of NICs that no NUMA node is said of go
  /// to the GPUs' nodes in order, if there are no more groups than nodes.
  std::map<std::size_t, int> nics_beside_gpus() const {
    std::vector<int> nodes;
    std::vector<std::size_t> nic_groups;
    for (std::size_t i = 0; i < n_; ++i) {
      const auto node = first_number(matrix_.devices[i].numa_affinity);
      if (i < gpus_ && node && std::ranges::find(nodes, *node) == nodes.end()) {
        nodes.push_back(*node);
      }
      const std::size_t group = numa_.of(i);
      if (i >= gpus_ && group >= gpus_ &&
          std::ranges::find(nic_groups, group) == nic_groups.end()) {
        nic_groups.push_back(group);
      }
    }
    std::map<std::size_t, int> placed;
    for (std::size_t i = 0; i < nic_groups.size() && nic_groups.size() <= nodes.size(); ++i) {
      placed.emplace(nic_groups[i], nodes[i]);
    }
    return placed;
  }

  Result<void> place_on_numa() {
    std::map<std::size_t, int> said; // by group
    std::vector<bool> taken(kMostNuma + n_);
    for (std::size_t i = 0; i < n_; ++i) {
      if (const auto node = first_number(matrix_.devices[i].numa_affinity)) {
        said.emplace(numa_.of(i), *node);
        taken[static_cast<std::size_t>(*node)] = true;
      }
    }
    const std::map<std::size_t, int> beside_gpus = c2c_ ? nics_beside_gpus() : decltype(said){};
    said.insert(beside_gpus.begin(), beside_gpus.end());
    int free = 0;
    int highest = 0;
    std::map<int, std::string> cpus;
    for (std::size_t i = 0; i < n_; ++i) {
      auto it = said.find(numa_.of(i));
      if (it == said.end()) {
        while (taken[static_cast<std::size_t>(free)]) {
          ++free;
        }
        taken[static_cast<std::size_t>(free)] = true;
        it = said.emplace(numa_.of(i), free).first;
      }
      numa_of_.push_back(it->second);
      highest = std::max(highest, it->second);
      if (!matrix_.devices[i].cpus.empty()) {
        cpus.emplace(it->second, matrix_.devices[i].cpus);
      }
    }
    return fill_numa(out_.platform, cpus, highest, like_, out_.notes);
  }

  /// The switch that the device hangs on; -1: on the host bridge itself.
  int switch_of(std::size_t device, int bridge) {
    const std::size_t top = tops_.of(device);
    const auto members = [this](const Groups& groups, std::size_t leader) {
      std::vector<std::size_t> found;
      for (std::size_t i = 0; i < n_; ++i) {
        if (groups.of(i) == leader) {
          found.push_back(i);
        }
      }
      return found;
    };
    const auto below = members(tops_, top);
    if (below.size() == 1) {
      return -1;
    }
    auto& switches = out_.platform.pcie_switches;
    const auto make = [&](int parent) {
      const int id = static_cast<int>(switches.size());
      switches.push_back({.id = id, .parent = parent, .root_complex = bridge});
      return id;
    };
    const std::size_t bottom = bottoms_.of(device);
    auto outer = outer_switch_.find(top);
    if (outer == outer_switch_.end()) {
      outer = outer_switch_.emplace(top, make(-1)).first;
    }
    if (members(bottoms_, bottom).size() == below.size()) {
      return outer->second; // one switch holds them all
    }
    auto inner = inner_switch_.find(bottom);
    if (inner == inner_switch_.end()) {
      inner = inner_switch_.emplace(bottom, make(outer->second)).first;
    }
    return inner->second;
  }

  void place_devices() {
    std::map<std::size_t, int> bridge_ids;
    std::map<int, int> numa_of_bridge;
    for (std::size_t i = 0; i < n_; ++i) {
      const int bridge =
          bridge_ids.emplace(bridges_.of(i), static_cast<int>(bridge_ids.size())).first->second;
      const int numa = numa_of_bridge.emplace(bridge, numa_of_[i]).first->second;
      const int pcie_switch = switch_of(i, bridge);
      const std::string bus = bus_id(bridge, pcie_switch);
      const TopoDevice& device = matrix_.devices[i];
      if (i < gpus_) {
        out_.platform.gpus.push_back({.index = static_cast<int>(i),
                                      .numa = numa,
                                      .pcie_switch = pcie_switch,
                                      .root_complex = bridge,
                                      .pci_bus_id = "0000" + bus,
                                      .memory_numa = device.memory_numa.value_or(-1)});
      } else {
        out_.platform.nics.push_back({.name = device.name,
                                      .numa = numa,
                                      .pcie_switch = pcie_switch,
                                      .root_complex = bridge,
                                      .pci_bus_id = bus});
      }
    }
  }

  /// Made up: devices on a host bridge share its bus, every other has a bus of its own.
  std::string bus_id(int bridge, int pcie_switch) {
    if (pcie_switch >= 0) {
      return fmt::format("0000:{:02x}:00.0", ++last_bus_);
    }
    auto& [bus, devices] = bus_of_bridge_[bridge];
    if (devices == 32) {
      bus = 0;
      devices = 0;
    }
    bus = bus == 0 ? ++last_bus_ : bus;
    return fmt::format("0000:{:02x}:{:02x}.0", bus, devices++);
  }

  void link_gpus() {
    out_.platform.nvlinks.assign(gpus_, std::vector<int>(gpus_, 0));
    for (std::size_t a = 0; a < gpus_; ++a) {
      for (std::size_t b = 0; b < gpus_; ++b) {
        out_.platform.nvlinks[a][b] = matrix_.cells[a][b].nvlinks;
      }
    }
  }

  /// Names the paths that the platform shows otherwise than the file.
  void compare() {
    const TopoMatrix made = topo_matrix(out_.platform);
    std::vector<std::string> differ;
    std::size_t count = 0;
    for (std::size_t a = 0; a < n_; ++a) {
      for (std::size_t b = a + 1; b < n_; ++b) {
        if (made.cells[a][b] != matrix_.cells[a][b] && count++ < 4) {
          differ.push_back(fmt::format("{} to {} {} for {}", matrix_.devices[a].name,
                                       matrix_.devices[b].name, to_string(made.cells[a][b]),
                                       to_string(matrix_.cells[a][b])));
        }
      }
    }
    if (count > 0) {
      out_.notes.push_back(
          fmt::format("{} paths cannot be kept, as the others say more of the tree: {}{}", count,
                      fmt::join(differ, ", "), count > differ.size() ? ", ..." : ""));
    }
  }

  const TopoMatrix& matrix_;
  std::size_t n_;
  std::size_t gpus_;
  bool c2c_;
  const Platform& like_;
  Groups numa_;
  Groups bridges_;
  Groups tops_;
  Groups bottoms_;
  std::vector<int> numa_of_;
  std::map<std::size_t, int> outer_switch_;
  std::map<std::size_t, int> inner_switch_;
  std::map<int, std::pair<int, int>> bus_of_bridge_;
  int last_bus_ = 0;
  Imported out_;
};

} // namespace

Result<Imported> import_topo_matrix(const TopoMatrix& matrix, const ImportOptions& options) {
  BERTH_CHECK(check_platform_name(options.name));
  if (matrix.gpus() == 0) {
    return fail(Code::Invalid, "the matrix has no GPU");
  }
  return Importer(matrix, options).run();
}

} // namespace berth::hardware
