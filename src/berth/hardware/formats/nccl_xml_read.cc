// Reading NCCL's topology file into a platform. A pci element that holds others is a PCIe switch;
// what hangs on a cpu element directly hangs on a host bridge of its own, unless two have one bus.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pugixml.hpp>

#include "berth/hardware/formats/gpu_devices.h"
#include "berth/hardware/formats/import.h"
#include "berth/hardware/formats/likeness.h"
#include "berth/hardware/formats/nccl_xml.h"
#include "berth/hardware/formats/topo_matrix.h"
#include "berth/hardware/formats/xml_numbers.h"

namespace berth::hardware {

namespace {

constexpr std::size_t kMaxXmlBytes = 4 << 20;
constexpr int kMaxElements = 4096;
constexpr int kMaxDepth = 16;
constexpr int kMostNuma = 256;
constexpr int kMostLinks = 72;

/// PCIe generation of "16.0 GT/s PCIe" or "8 GT/s"; 0 if it says none.
int generation_of(std::string_view speed) {
  int gigatransfers = 0;
  std::from_chars(speed.data(), speed.data() + speed.size(), gigatransfers);
  constexpr std::pair<int, int> kGenerations[] = {{2, 1},  {5, 2},  {8, 3},
                                                  {16, 4}, {32, 5}, {64, 6}};
  for (const auto& [transfers, generation] : kGenerations) {
    if (transfers == gigatransfers) {
      return generation;
    }
  }
  return 0;
}

/// "0000:1b:00.0" in lower case; "" if the text is no bus id.
std::string bus_id(std::string_view text) {
  if (text.size() < 12 || text.size() > 16) {
    return "";
  }
  std::string bus;
  for (const char c : text) {
    bus += c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  const std::string_view tail = std::string_view(bus).substr(bus.size() - 12);
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const char c = tail[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    const char wanted = i == 4 || i == 7 ? ':' : i == 10 ? '.' : 0;
    if (wanted == 0 ? !hex : c != wanted) {
      return "";
    }
  }
  return std::string(tail);
}

struct GpuElement {
  pugi::xml_node pci;
  pugi::xml_node gpu; ///< empty in files that NCCL has yet to complete
  Gpu made;
};

class XmlImporter {
 public:
  XmlImporter(std::string_view text, std::string_view file, const ImportOptions& options)
      : text_(text), file_(file), options_(options), numbers_(text) {}

  Result<Imported> run() {
    BERTH_CHECK(check_platform_name(options_.name));
    BERTH_CHECK(parse());
    BERTH_CHECK(read_cpus());
    BERTH_CHECK(order_gpus());
    order_nics();
    choose_like();
    fill_models();
    BERTH_CHECK(read_nvlinks());
    BERTH_CHECK(fill_numa(out_.platform, cpus_, highest_numa_, *like_, out_.notes));
    fill_fabric(out_.platform, *like_);
    fill_nics(out_.platform, *like_, out_.notes);
    BERTH_TRY(out_.platform, finish_platform(std::move(out_.platform)));
    numbers_.tell(out_.notes);
    return std::move(out_);
  }

 private:
  int number_of(pugi::xml_node node, const char* name, int absent) {
    return numbers_.of(node, name, absent);
  }

  tl::unexpected<Error> bad(std::ptrdiff_t offset, std::string message) const {
    return fail_at(
        {.file = std::string(file_), .line = line_at(text_, offset), .column = 0, .field = ""},
        std::move(message));
  }

  tl::unexpected<Error> bad(pugi::xml_node node, std::string message) const {
    return bad(node.offset_debug(), std::move(message));
  }

  Result<void> parse() {
    if (text_.size() > kMaxXmlBytes) {
      return bad(0, fmt::format("too large for a topology file: at most {} bytes, found {}",
                                kMaxXmlBytes, text_.size()));
    }
    const auto parsed = document_.load_buffer(text_.data(), text_.size());
    if (!parsed) {
      return bad(parsed.offset, fmt::format("not well-formed XML: {}", parsed.description()));
    }
    system_ = document_.child("system");
    if (!system_) {
      return bad(0, fmt::format("not a topology file of NCCL: expected an element system, found "
                                "\"{}\"; NCCL_TOPO_DUMP_FILE=FILE makes one",
                                std::string_view(document_.first_child().name()).substr(0, 40)));
    }
    if (const int version = number_of(system_, "version", -1); version != 1) {
      return bad(system_,
                 fmt::format("version 1 of NCCL's topology file is known: \"{}\"",
                             std::string_view(system_.attribute("version").value()).substr(0, 40)));
    }
    return {};
  }

  Result<void> read_cpus() {
    int next = 0;
    for (const pugi::xml_node cpu : system_.children("cpu")) {
      const int said = number_of(cpu, "numaid", -1);
      const int numa = said >= 0 ? said : next; // -1: a machine without NUMA nodes
      next = numa + 1;
      if (numa >= kMostNuma) {
        return bad(cpu, fmt::format("numaid must be from 0 to {}: {}", kMostNuma - 1, numa));
      }
      highest_numa_ = std::max(highest_numa_, numa);
      if (std::string list = cpus_of_mask(cpu.attribute("affinity").value()); !list.empty()) {
        if (!cpus_.emplace(numa, std::move(list)).second) {
          return bad(cpu, fmt::format("numaid given twice: {}", numa));
        }
      }
      BERTH_CHECK(read_children(cpu, {.numa = numa}, 0));
    }
    if (next == 0) {
      return bad(system_, "the file has no cpu element");
    }
    return {};
  }

  Result<void> read_children(pugi::xml_node parent, const PciePlace& place, int depth) {
    if (depth > kMaxDepth) {
      return bad(parent, fmt::format("elements are nested deeper than {}", kMaxDepth));
    }
    for (const pugi::xml_node pci : parent.children("pci")) {
      if (++elements_ > kMaxElements) {
        return bad(pci, fmt::format("the file has more than {} pci elements", kMaxElements));
      }
      BERTH_CHECK(read_pci(pci, place, depth));
    }
    return {};
  }

  Result<void> read_pci(pugi::xml_node pci, PciePlace place, int depth) {
    const std::string bus = bus_id(pci.attribute("busid").value());
    if (bus.empty()) {
      return bad(pci, fmt::format("busid is not of the form 0000:1b:00.0: \"{}\"",
                                  std::string_view(pci.attribute("busid").value()).substr(0, 40)));
    }
    if (const auto [seen, fresh] = buses_.insert(bus); !fresh) {
      return bad(pci, fmt::format("busid given twice: {}", *seen));
    }
    if (depth == 0) {
      // Domain ffff holds the switches that clouds make up: their bus says nothing.
      const auto key = std::pair(place.numa, bus.starts_with("ffff") ? bus : bus.substr(0, 7));
      place.root_complex = bridges_.emplace(key, static_cast<int>(bridges_.size())).first->second;
    }
    const int kind = number_of(pci, "class", 0) >> 8;
    if (pci.child("gpu") || (kind >> 8) == 0x03) {
      return add_gpu(pci, bus, place);
    }
    if (pci.child("nic") || (kind >> 8) == 0x02) {
      return add_nic(pci, bus, place);
    }
    if (pci.child("pci")) {
      auto& switches = out_.platform.pcie_switches;
      const int id = static_cast<int>(switches.size());
      switches.push_back(
          {.id = id, .parent = place.pcie_switch, .root_complex = place.root_complex});
      return read_children(
          pci, {.numa = place.numa, .root_complex = place.root_complex, .pcie_switch = id},
          depth + 1);
    }
    unknown_ += kind == 0 ? 1 : 0;
    return {};
  }

  Result<void> add_gpu(pugi::xml_node pci, const std::string& bus, const PciePlace& place) {
    if (gpus_.size() == kMaxTopoGpus) {
      return bad(pci, fmt::format("a machine has at most {} GPUs", kMaxTopoGpus));
    }
    gpus_.push_back({.pci = pci,
                     .gpu = pci.child("gpu"),
                     .made = {.index = number_of(pci.child("gpu"), "dev", -1),
                              .numa = place.numa,
                              .pcie_switch = place.pcie_switch,
                              .root_complex = place.root_complex,
                              .pci_bus_id = "0000" + bus}});
    return {};
  }

  Result<void> add_nic(pugi::xml_node pci, const std::string& bus, const PciePlace& place) {
    auto& nics = out_.platform.nics;
    if (nics.size() == kMaxTopoNics) {
      return bad(pci, fmt::format("a machine has at most {} NICs", kMaxTopoNics));
    }
    const pugi::xml_node net = pci.child("nic").child("net");
    const NicModel* model = nic_model(number_of(pci, "vendor", 0), number_of(pci, "device", 0));
    std::string name(net.attribute("name").value());
    name = name.substr(0, 64);
    if (name.empty()) {
      name = fmt::format("nic{}", nics.size());
    }
    if (!nic_names_.insert(name).second) {
      return bad(net ? net : pci, fmt::format("two NICs have the name \"{}\"", name));
    }
    if (net.next_sibling("net")) {
      out_.notes.push_back(fmt::format("of {} only the first port is kept: {}", bus, name));
    }
    const int gbits = number_of(net, "speed", 0) / 1000; // the file counts Mb/s
    nic_numbers_.push_back(number_of(net, "dev", -1));
    nics.push_back({.name = name,
                    .gbits = gbits > 0 && gbits <= 10'000 ? gbits
                             : model != nullptr           ? model->gbits
                                                          : 0,
                    .numa = place.numa,
                    .pcie_switch = place.pcie_switch,
                    .root_complex = place.root_complex,
                    .pci_bus_id = bus,
                    .model = model == nullptr ? "" : std::string(model->name),
                    .layer = number_of(pci, "class", 0) >> 8 == 0x0207 ? "infiniband"
                             : pci.attribute("class")                  ? "ethernet"
                                                                       : ""});
    return {};
  }

  Result<void> order_gpus() {
    if (gpus_.empty()) {
      return bad(system_, fmt::format("the file names no GPU: {} of its pci elements have neither "
                                      "class nor gpu, which NCCL "
                                      "fills in; NCCL_TOPO_DUMP_FILE makes a complete file",
                                      unknown_));
    }
    std::set<int> numbers;
    for (const GpuElement& gpu : gpus_) {
      numbers.insert(gpu.made.index);
    }
    const bool numbered = numbers.size() == gpus_.size() && *numbers.begin() == 0 &&
                          *numbers.rbegin() == static_cast<int>(gpus_.size()) - 1;
    std::ranges::sort(gpus_, [numbered](const GpuElement& a, const GpuElement& b) {
      return numbered ? a.made.index < b.made.index : a.made.pci_bus_id < b.made.pci_bus_id;
    });
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      gpus_[i].made.index = static_cast<int>(i);
    }
    return {};
  }

  /// By the numbers NCCL gave them, if each has one; else as in the file.
  void order_nics() {
    auto& nics = out_.platform.nics;
    std::map<int, Nic> ordered;
    for (std::size_t i = 0; i < nics.size(); ++i) {
      ordered.emplace(nic_numbers_[i], nics[i]);
    }
    if (ordered.size() < nics.size() || ordered.contains(-1)) {
      return;
    }
    nics.clear();
    for (auto& entry : ordered) {
      nics.push_back(std::move(entry.second));
    }
  }

  /// The first GPU of which the file says what it is; the first one if it says so of none.
  const GpuElement& described() {
    const auto found = std::ranges::find_if(
        gpus_, [this](const GpuElement& gpu) { return number_of(gpu.pci, "device", 0) != 0; });
    return found == gpus_.end() ? gpus_.front() : *found;
  }

  void choose_like() {
    const GpuElement& first = described();
    Traits traits{.gpus = gpus_.size(),
                  .pci_device = number_of(first.pci, "device", 0),
                  .compute = number_of(first.gpu, "sm", 0),
                  .c2c = static_cast<bool>(first.gpu.child("c2c"))};
    if (const GpuDevice* known = gpu_device(traits.pci_device); known != nullptr) {
      traits.compute = known->compute;
    }
    for (const pugi::xml_node link : first.gpu.children("nvlink")) {
      traits.nvlinks += std::clamp(number_of(link, "count", 0), 0, kMostLinks);
    }
    like_ = options_.like != nullptr ? options_.like : &nearest_platform(traits);
    const auto nics = std::move(out_.platform.nics);
    auto switches = std::move(out_.platform.pcie_switches);
    out_.platform = outline_of(*like_, options_.name);
    out_.platform.nics = nics;
    out_.platform.pcie_switches = std::move(switches);
    for (const GpuElement& gpu : gpus_) {
      out_.platform.gpus.push_back(gpu.made);
    }
    out_.platform.c2c = traits.c2c;
    name_gpu(traits.pci_device);
  }

  /// The GPU's model, if its PCI device says one; else it is the likeness'.
  void name_gpu(int pci_device) {
    GpuModel& model = out_.platform.gpu_model;
    const GpuDevice* known = gpu_device(pci_device);
    if (model.pci_device != pci_device && known != nullptr) {
      set_gpu(model, *known);
    } else if (model.pci_device != pci_device && options_.like == nullptr) {
      out_.notes.push_back(
          fmt::format("PCI device 0x{:04x} is not known: the GPU is taken to be {} "
                      "as in {}; say which with --like PLATFORM",
                      pci_device, model.product, like_->name));
    }
    out_.notes.push_back(
        fmt::format("host memory and disks are not said: assumed as in {}", like_->name));
  }

  void fill_models() {
    auto& model = out_.platform.gpu_model;
    const GpuElement& first = described();
    if (const int device = number_of(first.pci, "device", 0); device > 0 && device <= 0xffff) {
      model.pci_device = device;
    }
    const int generation = generation_of(first.pci.attribute("link_speed").value());
    const int width = number_of(first.pci, "link_width", 0);
    if (generation > 0 && width > 0 && width <= 32) {
      model.pcie_gen = generation;
      model.pcie_width = width;
      // As NCCL counts it: generation 3 with 16 lanes carries 12 GB/s, each further one twice that.
      model.pcie_mbps = (12'000 << generation >> 3) * width / 16;
    } else {
      out_.notes.push_back(fmt::format(
          "the GPU's PCIe link is not said, or none that is known (link_speed \"{}\", link_width "
          "\"{}\"): assumed as in {}",
          std::string_view(first.pci.attribute("link_speed").value()).substr(0, 40),
          std::string_view(first.pci.attribute("link_width").value()).substr(0, 40), like_->name));
    }
    fill_cpu_model();
  }

  void fill_cpu_model() {
    const pugi::xml_node cpu = system_.child("cpu");
    CpuModel& model = out_.platform.cpu_model;
    const int family = number_of(cpu, "familyid", -1);
    const int number = number_of(cpu, "modelid", -1);
    const std::string vendor = std::string(cpu.attribute("vendor").value()).substr(0, 32);
    if (family < 0 || family > 0xffff || number < 0 || number > 0xffff || vendor.empty() ||
        (family == model.family && number == model.model && vendor == model.vendor)) {
      return;
    }
    const std::string_view arch = cpu.attribute("arch").value();
    model = {.name = fmt::format("{} family {} model {}", vendor, family, number),
             .vendor = vendor,
             .architecture = arch == "arm64" || arch == "aarch64" ? "arm64" : "amd64",
             .family = family,
             .model = number};
    out_.platform.inter_socket_mbps = inter_socket_mbps(model);
  }

  /// NCCL's own figures for the links between sockets.
  static int inter_socket_mbps(const CpuModel& cpu) {
    if (cpu.vendor == "AuthenticAMD") {
      return 16'000;
    }
    if (cpu.vendor != "GenuineIntel") {
      return 6'000;
    }
    constexpr int kEmeraldRapids = 207;
    constexpr int kSapphireRapids = 143;
    constexpr int kSkylake = 85;
    return cpu.model >= kEmeraldRapids    ? 40'000
           : cpu.model >= kSapphireRapids ? 22'000
           : cpu.model >= kSkylake        ? 10'000
                                          : 6'000;
  }

  Result<void> read_nvlinks() {
    auto& p = out_.platform;
    p.nvlinks.assign(gpus_.size(), std::vector<int>(gpus_.size(), 0));
    int to_switches = 0;
    for (std::size_t a = 0; a < gpus_.size(); ++a) {
      int sum = 0;
      for (const pugi::xml_node link : gpus_[a].gpu.children("nvlink")) {
        const int count = number_of(link, "count", 0);
        if (count < 1 || count > kMostLinks) {
          return bad(link,
                     fmt::format("count of an nvlink must be from 1 to {}: \"{}\"", kMostLinks,
                                 std::string_view(link.attribute("count").value()).substr(0, 40)));
        }
        const std::string target = bus_id(link.attribute("target").value());
        const auto peer = std::ranges::find_if(
            gpus_, [&](const GpuElement& gpu) { return gpu.made.pci_bus_id == "0000" + target; });
        if (peer != gpus_.end()) {
          p.nvlinks[a][static_cast<std::size_t>(peer - gpus_.begin())] += count;
        } else if (number_of(link, "tclass", 0) >> 8 == 0x0680) {
          sum += count;
        }
      }
      to_switches = std::max(to_switches, sum);
    }
    if (to_switches > 0) {
      p.nvswitch = true;
      p.gpu_model.nvlink_links = std::min(to_switches, kMostLinks);
      p.nvlinks.assign(gpus_.size(), std::vector<int>(gpus_.size(), 0));
    } else if (!gpus_.front().gpu && like_->nvswitch && gpus_.size() == like_->gpus.size()) {
      p.nvswitch = true; // a file for NCCL to complete says nothing of NVLinks
      p.gpu_model.nvlink_links = like_->gpu_model.nvlink_links;
      out_.notes.push_back(fmt::format("NVLinks are not said: assumed as in {}", like_->name));
    }
    symmetrise();
    return {};
  }

  /// A link that one end alone reports is down.
  void symmetrise() {
    auto& links = out_.platform.nvlinks;
    for (std::size_t a = 0; a < links.size(); ++a) {
      links[a][a] = 0;
      for (std::size_t b = a + 1; b < links.size(); ++b) {
        if (links[a][b] != links[b][a]) {
          out_.notes.push_back(
              fmt::format("GPU {} and GPU {} report {} and {} links: the fewer are "
                          "kept",
                          a, b, links[a][b], links[b][a]));
          links[a][b] = links[b][a] = std::min(links[a][b], links[b][a]);
        }
      }
    }
  }

  std::string_view text_;
  std::string_view file_;
  const ImportOptions& options_;
  XmlNumbers numbers_;
  pugi::xml_document document_;
  pugi::xml_node system_;
  const Platform* like_ = nullptr;
  std::map<int, std::string> cpus_;
  int highest_numa_ = 0;
  int elements_ = 0;
  int unknown_ = 0;
  std::set<std::string> buses_;
  std::set<std::string> nic_names_;
  std::vector<int> nic_numbers_; ///< by NIC, in the order of the file
  std::map<std::pair<int, std::string>, int> bridges_;
  std::vector<GpuElement> gpus_;
  Imported out_;
};

} // namespace

Result<Imported> import_nccl_xml(std::string_view text, std::string_view file,
                                 const ImportOptions& options) {
  return XmlImporter(text, file, options).run();
}

Result<Imported> import_machine(std::string_view text, std::string_view file,
                                const ImportOptions& options) {
  const auto first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string_view::npos && text[first] == '<') {
    return import_nccl_xml(text, file, options);
  }
  BERTH_TRY(const TopoMatrix matrix, parse_topo_matrix(text, file));
  return import_topo_matrix(matrix, options);
}

} // namespace berth::hardware
