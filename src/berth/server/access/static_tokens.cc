#include "berth/server/access/static_tokens.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "berth/server/access/token_key.h"

namespace berth::server {
namespace {

constexpr std::size_t kLeastColumns = 3;

struct Record {
  int line = 1; ///< where it begins
  std::vector<std::string> fields;
};

/// Reads records as Go's encoding/csv: fields in quotes may hold commas, line breaks and doubled
/// quotes; empty lines are skipped.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  /// False at the end. Error: what is wrong with the record.
  tl::expected<bool, std::string> next(Record& record) {
    while (at('\n') || (at('\r') && text_.substr(at_ + 1).starts_with('\n'))) {
      take();
    }
    if (at_ >= text_.size()) {
      return false;
    }
    record = {.line = line_, .fields = {}};
    for (bool more = true; more;) {
      auto field = at('"') ? quoted() : plain();
      if (!field) {
        return tl::unexpected(std::move(field).error());
      }
      record.fields.push_back(*std::move(field));
      more = at(',');
      if (more) {
        take();
      }
    }
    if (at('\r')) {
      take();
    }
    if (at('\n')) {
      take();
    } else if (at_ < text_.size()) {
      return tl::unexpected(std::string("text follows a closing quote"));
    }
    return true;
  }

 private:
  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  char take() {
    line_ += text_[at_] == '\n' ? 1 : 0;
    return text_[at_++];
  }

  tl::expected<std::string, std::string> plain() {
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string field(text_.substr(at_, end - at_));
    if (field.find('"') != std::string::npos) {
      return tl::unexpected(std::string("a quote in a field that has none around it"));
    }
    at_ = end;
    return field;
  }

  tl::expected<std::string, std::string> quoted() {
    std::string field;
    take();
    while (at_ < text_.size()) {
      const char c = take();
      if (c != '"') {
        field += c;
      } else if (at('"')) {
        field += take();
      } else {
        return field;
      }
    }
    return tl::unexpected(std::string("a quote that is not closed"));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

std::uint64_t prefix_of(const std::string& digest) {
  std::uint64_t prefix = 0;
  std::memcpy(&prefix, digest.data(), sizeof(prefix));
  return prefix;
}

User user_of(const Record& record) {
  User user{.name = record.fields[1], .uid = record.fields[2], .groups = {}, .extra = {}};
  if (record.fields.size() > kLeastColumns) {
    std::string_view groups = record.fields[kLeastColumns];
    while (!groups.empty()) {
      const std::size_t comma = groups.find(',');
      if (const auto group = groups.substr(0, comma); !group.empty()) {
        user.groups.emplace_back(group);
      }
      groups.remove_prefix(comma == std::string_view::npos ? groups.size() : comma + 1);
    }
  }
  return user;
}

} // namespace

Result<StaticTokens> StaticTokens::parse(std::string_view text, std::string_view file) {
  StaticTokens tokens;
  CsvReader reader(text);
  Record record;
  for (;;) {
    const auto refuse = [&](std::string why) {
      return fail_at({.file = std::string(file), .line = record.line, .column = 0, .field = {}},
                     std::move(why) + "; expected is token,user,uid or "
                                      "token,user,uid,\"group1,group2\"");
    };
    const auto more = reader.next(record);
    if (!more) {
      return refuse("the token file cannot be read: " + more.error());
    }
    if (!*more) {
      return tokens;
    }
    if (record.fields.size() < kLeastColumns) {
      return refuse(fmt::format("a token needs at least 3 columns (token, user name, user uid), "
                                "found {}",
                                record.fields.size()));
    }
    if (record.fields.front().empty()) {
      return refuse("the token is empty");
    }
    if (tokens.find(record.fields.front()) != nullptr) {
      return refuse("the token was given before");
    }
    tokens.add(record.fields.front(), user_of(record));
  }
}

void StaticTokens::add(std::string_view token, User user) {
  std::string digest = sha256(token);
  const std::uint64_t prefix = prefix_of(digest);
  by_prefix_.emplace(prefix, Entry{.digest = std::move(digest), .user = std::move(user)});
}

const User* StaticTokens::find(std::string_view token) const {
  const std::string digest = sha256(token);
  const auto [first, last] = by_prefix_.equal_range(prefix_of(digest));
  for (auto at = first; at != last; ++at) {
    if (equal_in_constant_time(at->second.digest, digest)) {
      return &at->second.user;
    }
  }
  return nullptr;
}

} // namespace berth::server
