// Any bytes as what a device plugin or a kubelet says: a value or an error, never a crash. What is
// read and said again is the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/base/assert.h"
#include "berth/deviceplugin/wire/messages.h"
#include "berth/deviceplugin/wire/socket_file.h"
#include "berth/rpc/typed.h"

namespace {

using namespace berth;
using namespace berth::deviceplugin;

template <class Value> void same(const Value& value, const Value& again) {
  BERTH_ASSERT(value == again, "said again it is another");
}

template <class Message, class Check> void with(const std::string& bytes, const Check& check) {
  if (const auto message = rpc::decode<Message>(bytes)) {
    check(*message);
  } else {
    BERTH_ASSERT(!message.error().message.empty(), "an error without a message");
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  with<v1beta1::ListAndWatchResponse>(bytes, [](const auto& message) {
    if (const auto devices = from_message(message)) {
      same(*devices, from_message(to_message(*devices)).value());
      for (const Device& device : *devices) {
        BERTH_ASSERT(!device.id.empty(), "a device without an id");
      }
    }
  });
  with<v1beta1::PreferredAllocationRequest>(bytes, [](const auto& message) {
    if (const auto requests = from_message(message)) {
      for (const PreferredAllocationRequest& request : *requests) {
        same(request, from_message(to_message(request)).value().front());
      }
    }
  });
  with<v1beta1::PreferredAllocationResponse>(bytes, [](const auto& message) {
    if (const auto ids = from_message(message)) {
      same(*ids, from_message(preference_message({*ids})).value());
    }
  });
  with<v1beta1::AllocateRequest>(bytes, [](const auto& message) {
    const auto containers = from_message(message);
    same(containers, from_message(to_message(containers)));
  });
  with<v1beta1::AllocateResponse>(bytes, [](const auto& message) {
    const auto asked = static_cast<std::size_t>(message.container_responses_size());
    const auto responses = from_message(message, asked).value();
    same(responses, from_message(to_message(responses), asked).value());
    BERTH_ASSERT(asked == 0 || !from_message(message, asked + 1), "answers for too few are taken");
  });
  with<v1beta1::RegisterRequest>(bytes, [](const auto& message) {
    const auto path = endpoint_path("/nowhere", message.endpoint());
    BERTH_ASSERT(!path || path->find('/', sizeof("/nowhere")) == std::string::npos,
                 "an endpoint elsewhere: " + message.endpoint());
  });
  return 0;
}
