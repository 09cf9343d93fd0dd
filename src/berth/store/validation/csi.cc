#include "berth/store/validation/csi.h"

#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/storage.h"

namespace berth::store {
namespace {

using Names = std::set<std::string, std::less<>>;

constexpr std::size_t kMaxNodeId = 256;
constexpr std::int64_t kShortestToken = 600;
constexpr std::int64_t kLongestToken = std::int64_t{1} << 32;
constexpr std::int64_t kShortestPeriod = 10;

void check_driver_change(const Judged& was, const Judged& is) {
  // The path is spelled as kube-apiserver spells it.
  if (differ(was, is, "attachRequired")) {
    const Judged field = is["attachRequired"];
    Judged(field.json(), "spec.attachedRequired", is.errors()).invalid("field is immutable");
  }
  check_immutable(was, is, "volumeLifecycleModes");
}

void check_driver(const AdmissionRequest& request, const Judged& spec) {
  spec["fsGroupPolicy"].one_of({"File", "None", "ReadWriteOnceWithFSType"});
  Names audiences;
  spec.each("tokenRequests", [&](const Judged& token) {
    const std::string_view audience = token.text("audience");
    const Judged seconds = token["expirationSeconds"];
    if (!audiences.emplace(audience).second) {
      token["audience"].duplicate(quote(audience));
    } else if (seconds.number().value_or(kShortestToken) < kShortestToken) {
      seconds.invalid("may not specify a duration less than 10 minutes");
    } else if (seconds.number().value_or(0) > kLongestToken) {
      seconds.invalid("may not specify a duration larger than 2^32 seconds");
    }
  });
  const Judged modes = spec["volumeLifecycleModes"];
  spec.each("volumeLifecycleModes", [&](const Judged& mode) {
    Judged(mode.json(), modes.path(), modes.errors()).one_of({"Persistent", "Ephemeral"});
  });
  if (const Judged period = spec["nodeAllocatableUpdatePeriodSeconds"];
      period.number().value_or(kShortestPeriod) < kShortestPeriod) {
    period.invalid("must be greater than or equal to 10 seconds");
  }
  if (request.before != nullptr) {
    check_driver_change(Judged(api::find(request.before->json(), "spec"), "spec", spec.errors()),
                        spec);
  }
}

void check_node(const Judged& spec) {
  Names names;
  spec.each("drivers", [&](const Judged& driver) {
    check_csi_driver_name(driver["name"]);
    if (const Judged id = driver["nodeID"]; id.need_text() && id.text().size() > kMaxNodeId) {
      id.invalid(fmt::format("must be {} characters or less", kMaxNodeId));
    }
    if (const Judged count = driver["allocatable"]["count"]) {
      count.not_negative();
    }
    if (!names.emplace(driver.text("name")).second) {
      driver["name"].duplicate();
    }
    Names keys;
    driver.each("topologyKeys", [&](const Judged& key) {
      const Judged at_driver(key.json(), driver.path(), key.errors());
      at_driver.need_text();
      if (!keys.emplace(key.text()).second) {
        at_driver.duplicate();
      }
      at_driver.label_name();
    });
  });
}

void check_attachment(const AdmissionRequest& request, const Judged& spec) {
  spec["attacher"].need_text();
  const Judged source = spec["source"];
  const bool inline_spec = source.has("inlineVolumeSpec");
  const bool named = source.has("persistentVolumeName");
  if (inline_spec && named) {
    source.forbidden("must specify exactly one of inlineVolumeSpec and persistentVolumeName");
  } else if (!inline_spec && !named) {
    source.required("must specify exactly one of inlineVolumeSpec and persistentVolumeName");
  } else if (named && source.text("persistentVolumeName").empty()) {
    source["persistentVolumeName"].required("must specify non empty persistentVolumeName");
  }
  spec["nodeName"].dns_subdomain();
  if (request.before == nullptr) {
    check_csi_driver_name(spec["attacher"]);
    return;
  }
  const Judged before(api::find(request.before->json(), "spec"), "spec", spec.errors());
  if (before.json() != nullptr && spec.json() != nullptr && *before.json() != *spec.json()) {
    spec.invalid("field is immutable");
  }
}

void check_capacity(const AdmissionRequest& request, const Judged& whole) {
  if (request.before != nullptr) {
    const Judged before(&request.before->json(), "", whole.errors());
    check_immutable(before, whole, "nodeTopology");
    check_immutable(before, whole, "storageClassName");
    return;
  }
  check_label_selector(whole["nodeTopology"]);
  whole["storageClassName"].dns_subdomain();
}

} // namespace

void check_csi(const AdmissionRequest& request, const Judged& whole) {
  if (request.kind == kCsiDrivers) {
    check_driver(request, whole["spec"]);
  } else if (request.kind == kCsiNodes) {
    check_node(whole["spec"]);
  } else if (request.kind == kVolumeAttachments) {
    check_attachment(request, whole["spec"]);
  } else if (request.kind == kStorageCapacities) {
    check_capacity(request, whole);
  }
}

} // namespace berth::store
