#include "berth/node/contents/fetch_sources.h"

#include <utility>

namespace berth::node {
namespace {

struct Gathering {
  Sources sources;
  std::size_t open = 0;
  std::function<void(Sources)> done;
};

client::GroupKind kind_of(SourceKind kind) {
  return {"", kind == SourceKind::ConfigMap ? "ConfigMap" : "Secret"};
}

} // namespace

void fetch_sources(client::Client& client, Loop& loop, const std::string& ns,
                   const std::vector<Reference>& wanted, const std::weak_ptr<void>& alive,
                   std::function<void(Sources)> done) {
  auto gathering = std::make_shared<Gathering>();
  gathering->open = wanted.size();
  gathering->done = std::move(done);
  if (wanted.empty()) {
    loop.post([gathering, alive] {
      if (!alive.expired()) {
        gathering->done(std::move(gathering->sources));
      }
    });
    return;
  }
  for (const Reference& each : wanted) {
    client.get(kind_of(each.source.kind), {ns, each.source.name},
               [gathering, alive, source = each.source](Result<api::Object> answer) {
                 if (!answer && answer.error().code == Code::NotFound) {
                   answer = tl::unexpected(missing_source(source));
                 }
                 gathering->sources.put(source, std::move(answer));
                 if (--gathering->open == 0 && !alive.expired()) {
                   gathering->done(std::move(gathering->sources));
                 }
               });
  }
}

} // namespace berth::node
