// What is said to etcd and what it answers, as values: the JSON form of its v3 API (etcd's gRPC
// gateway), in which 64-bit numbers are texts, bytes are base64 and zeros are left out. Sources:
// etcd api/etcdserverpb/rpc.proto and mvccpb/kv.proto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"

namespace berth::etcd {

struct KeyValue {
  std::string key;
  std::string value; ///< empty in a removal
  std::uint64_t mod_revision = 0;
};

struct Event {
  enum class Type { Put, Delete };
  Type type = Type::Put;
  KeyValue kv;
};

// ---- requests: bodies of POST
inline constexpr std::string_view kRangePath = "/v3/kv/range";
inline constexpr std::string_view kTxnPath = "/v3/kv/txn";
inline constexpr std::string_view kWatchPath = "/v3/watch";
inline constexpr std::string_view kCompactPath = "/v3/kv/compaction";

/// The first key that does not begin with `prefix`.
std::string end_of(std::string_view prefix);

struct Range {
  std::string key;
  std::string end = {};       ///< keys below it; "": `key` alone
  std::uint64_t limit = 0;    ///< 0: all
  std::uint64_t revision = 0; ///< as of it; 0: now
  bool count_only = false;
};
std::string range_body(const Range& range);
/// A key of no content that a write compares and puts anew, so that of writes which have it in
/// common each knows those before it.
struct Guard {
  std::string key;
  std::uint64_t expected = 0;
};
/// Puts `value`, and the guards, if the mod_revisions of the key and of the guards are as expected
/// (0: there is no such key); else answers with what is there.
std::string put_body(std::string_view key, std::string_view value, std::uint64_t expected,
                     const std::vector<Guard>& guards = {});
/// Removes the key, likewise.
std::string delete_body(std::string_view key, std::uint64_t expected);
/// Every change of keys from `key` to below `end`, from `start` on.
std::string watch_body(std::string_view key, std::string_view end, std::uint64_t start);
std::string compact_body(std::uint64_t revision);

// ---- answers; Error Internal: what came is no such message
struct RangeAnswer {
  std::uint64_t revision = 0; ///< of the whole of etcd, when it answered
  std::vector<KeyValue> kvs;  ///< ordered by key
  bool more = false;
};
Result<RangeAnswer> read_range(std::string_view body);

struct TxnAnswer {
  std::uint64_t revision = 0; ///< after it: of the write, if it succeeded
  bool succeeded = false;
  std::optional<KeyValue> found;     ///< if it did not: what the key has
  std::vector<std::uint64_t> guards; ///< if it did not: their mod_revisions; 0: there is none
};
Result<TxnAnswer> read_txn(std::string_view body);

struct WatchAnswer {
  std::uint64_t revision = 0;
  bool created = false;
  bool canceled = false;
  std::uint64_t compacted =
      0; ///< if history does not reach back far enough: up to where it is gone
  std::string cancel_reason;
  std::vector<Event> events; ///< in order of their revisions
};
/// One line of a watch's answer.
Result<WatchAnswer> read_watch(std::string_view line);

/// What an answer that is no success says; the gRPC code, e.g. 14 for Unavailable, and the text.
struct Refusal {
  int code = 2;
  std::string message;
};
Refusal read_refusal(std::string_view body);

} // namespace berth::etcd
