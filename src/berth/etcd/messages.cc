#include "berth/etcd/messages.h"

#include <charconv>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/net/base64.h"

namespace berth::etcd {
namespace {

namespace json = api::json;

std::string number(std::uint64_t value) {
  return fmt::to_string(value);
}

std::string b64(std::string_view bytes) {
  return net::to_base64(bytes);
}

/// A text or a number; 0 if absent, as protobuf has it.
std::uint64_t number_at(const json::value& value, std::string_view path) {
  const json::value* found = api::find_path(value, path);
  if (found == nullptr) {
    return 0;
  }
  if (const json::string* text = found->if_string()) {
    std::uint64_t read = 0;
    std::from_chars(text->data(), text->data() + text->size(), read);
    return read;
  }
  return found->is_uint64()  ? found->get_uint64()
         : found->is_int64() ? static_cast<std::uint64_t>(found->get_int64())
                             : 0;
}

bool true_at(const json::value& value, std::string_view path) {
  const json::value* found = api::find_path(value, path);
  return found != nullptr && found->is_bool() && found->get_bool();
}

const json::array* array_at(const json::value& value, std::string_view path) {
  const json::value* found = api::find_path(value, path);
  return found == nullptr ? nullptr : found->if_array();
}

tl::unexpected<Error> no_answer(std::string_view what) {
  return fail(Code::Internal,
              fmt::format("etcd answered with something that is no {}; is it an etcd of version "
                          "3.4 or later?",
                          what));
}

std::optional<KeyValue> key_value(const json::value& value) {
  auto key = net::from_base64(api::string_at(value, "key"));
  auto bytes = net::from_base64(api::string_at(value, "value"));
  if (!key || !bytes) {
    return std::nullopt;
  }
  return KeyValue{.key = *std::move(key),
                  .value = *std::move(bytes),
                  .mod_revision = number_at(value, "mod_revision")};
}

Result<std::vector<KeyValue>> key_values(const json::value& value) {
  std::vector<KeyValue> out;
  if (const json::array* kvs = array_at(value, "kvs")) {
    out.reserve(kvs->size());
    for (const json::value& one : *kvs) {
      auto kv = key_value(one);
      if (!kv) {
        return no_answer("range");
      }
      out.push_back(*std::move(kv));
    }
  }
  return out;
}

json::object compare(std::string_view key, std::uint64_t expected) {
  return {{"target", "MOD"},
          {"result", "EQUAL"},
          {"key", b64(key)},
          {"mod_revision", number(expected)}};
}

json::object put_of(std::string_view key, std::string_view value) {
  return {{"request_put", json::object{{"key", b64(key)}, {"value", b64(value)}}}};
}

json::object range_of(std::string_view key) {
  return {{"request_range", json::object{{"key", b64(key)}}}};
}

std::string txn(std::string_view key, std::uint64_t expected, json::object then,
                const std::vector<Guard>& guards = {}) {
  json::array compared{compare(key, expected)};
  json::array done{std::move(then)};
  json::array otherwise{range_of(key)};
  for (const Guard& guard : guards) {
    compared.push_back(compare(guard.key, guard.expected));
    done.push_back(put_of(guard.key, ""));
    otherwise.push_back(range_of(guard.key));
  }
  return json::serialize(json::object{{"compare", std::move(compared)},
                                      {"success", std::move(done)},
                                      {"failure", std::move(otherwise)}});
}

} // namespace

std::string end_of(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) {
    end.pop_back();
  }
  if (end.empty()) {
    return {'\0'}; // etcd: every key
  }
  ++end.back();
  return end;
}

std::string range_body(const Range& range) {
  json::object body{{"key", b64(range.key)}};
  if (!range.end.empty()) {
    body["range_end"] = b64(range.end);
  }
  if (range.limit != 0) {
    body["limit"] = number(range.limit);
  }
  if (range.revision != 0) {
    body["revision"] = number(range.revision);
  }
  if (range.count_only) {
    body["count_only"] = true;
  }
  return json::serialize(body);
}

std::string put_body(std::string_view key, std::string_view value, std::uint64_t expected,
                     const std::vector<Guard>& guards) {
  return txn(key, expected, put_of(key, value), guards);
}

std::string delete_body(std::string_view key, std::uint64_t expected) {
  return txn(key, expected,
             json::object{{"request_delete_range", json::object{{"key", b64(key)}}}});
}

std::string watch_body(std::string_view key, std::string_view end, std::uint64_t start) {
  return json::serialize(json::object{{"create_request", json::object{
                                                             {"key", b64(key)},
                                                             {"range_end", b64(end)},
                                                             {"start_revision", number(start)},
                                                         }}});
}

std::string compact_body(std::uint64_t revision) {
  return json::serialize(json::object{{"revision", number(revision)}});
}

Result<RangeAnswer> read_range(std::string_view body) {
  const auto value = api::parse_json(body);
  if (!value || api::find(*value, "header") == nullptr) {
    return no_answer("range");
  }
  RangeAnswer answer{
      .revision = number_at(*value, "header.revision"), .kvs = {}, .more = true_at(*value, "more")};
  BERTH_TRY(answer.kvs, key_values(*value));
  return answer;
}

Result<TxnAnswer> read_txn(std::string_view body) {
  const auto value = api::parse_json(body);
  if (!value || api::find(*value, "header") == nullptr) {
    return no_answer("transaction's outcome");
  }
  TxnAnswer answer{.revision = number_at(*value, "header.revision"),
                   .succeeded = true_at(*value, "succeeded"),
                   .found = {},
                   .guards = {}};
  const json::array* responses = array_at(*value, "responses");
  if (answer.succeeded || responses == nullptr) {
    return answer;
  }
  for (const json::value& response : *responses) {
    const json::value* range = api::find(response, "response_range");
    BERTH_TRY(std::vector<KeyValue> kvs,
              range == nullptr ? std::vector<KeyValue>() : key_values(*range));
    if (&response != responses->data()) {
      answer.guards.push_back(kvs.empty() ? 0 : kvs.front().mod_revision);
    } else if (!kvs.empty()) {
      answer.found = std::move(kvs.front());
    }
  }
  return answer;
}

Result<WatchAnswer> read_watch(std::string_view line) {
  const auto message = api::parse_json(line);
  const json::value* value = message ? api::find(*message, "result") : nullptr;
  if (message && value == nullptr && api::find(*message, "error") != nullptr) {
    const json::value* nested = api::find_path(*message, "error.message");
    return WatchAnswer{.canceled = true,
                       .cancel_reason = nested != nullptr && nested->is_string()
                                            ? std::string(nested->get_string())
                                            : read_refusal(line).message};
  }
  if (value == nullptr) {
    return no_answer("event of a watch");
  }
  WatchAnswer answer{.revision = number_at(*value, "header.revision"),
                     .created = true_at(*value, "created"),
                     .canceled = true_at(*value, "canceled"),
                     .compacted = number_at(*value, "compact_revision"),
                     .cancel_reason = std::string(api::string_at(*value, "cancel_reason"))};
  if (const json::array* events = array_at(*value, "events")) {
    answer.events.reserve(events->size());
    for (const json::value& one : *events) {
      const json::value* of = api::find(one, "kv");
      auto kv = of == nullptr ? std::nullopt : key_value(*of);
      if (!kv) {
        return no_answer("event of a watch");
      }
      answer.events.push_back(
          {.type = api::string_at(one, "type") == "DELETE" ? Event::Type::Delete : Event::Type::Put,
           .kv = *std::move(kv)});
    }
  }
  return answer;
}

Refusal read_refusal(std::string_view body) {
  Refusal refusal;
  const auto value = api::parse_json(body);
  if (!value) {
    refusal.message = body.substr(0, 200);
    return refusal;
  }
  if (const auto code = number_at(*value, "code"); code != 0) {
    refusal.code = static_cast<int>(code);
  }
  refusal.message = api::string_at(*value, "message");
  if (refusal.message.empty()) {
    refusal.message = api::string_at(*value, "error");
  }
  return refusal;
}

} // namespace berth::etcd
