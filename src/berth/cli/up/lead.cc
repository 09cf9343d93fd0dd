#include "berth/cli/up/lead.h"

#include <utility>

#include "berth/base/log.h"

namespace berth::cli {

Lead::Lead(Loop& loop, store::Registry& registry, client::ElectionOptions options, MakeCluster make)
    : loop_(&loop), client_(registry, loop), options_(std::move(options)), make_(std::move(make)),
      again_(loop) {
  stand();
}

Lead::~Lead() = default;

void Lead::stand() {
  election_.emplace(
      client_, *loop_, options_,
      [this] {
        log(LogLevel::Info, "lead", "leading as " + options_.identity);
        cluster_ = make_();
      },
      [this] { lost(); });
}

/// The election is what calls: it goes with the next turn, and another begins.
void Lead::lost() {
  log(LogLevel::Warn, "lead", "the lead is lost: standing for it again");
  again_.set(Duration(), [this] {
    cluster_.reset();
    stand();
  });
}

void Lead::resign(Task done) {
  again_.cancel();
  cluster_.reset();
  election_->release(std::move(done));
}

} // namespace berth::cli
