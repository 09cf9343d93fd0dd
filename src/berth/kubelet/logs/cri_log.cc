#include "berth/kubelet/logs/cri_log.h"

#include <algorithm>
#include <utility>

namespace berth::kubelet {
namespace {

/// Beyond it no runtime writes an entry.
constexpr std::size_t kLongestEntry = std::size_t{4} * 1024 * 1024;
/// Time, stream and tags are in so many bytes.
constexpr std::size_t kHead = 128;
constexpr std::size_t kBlock = std::size_t{64} * 1024;

/// Takes a word and the blank behind it off the text; "" if there is no blank.
std::string_view take_word(std::string_view& text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) {
    return {};
  }
  const std::string_view word = text.substr(0, blank);
  text.remove_prefix(blank + 1);
  return word;
}

/// Whether the next entry begins a line. What is no entry stands alone.
bool ends_line(std::string_view entry) {
  const auto parsed = parse_cri_entry(entry.substr(0, entry.find('\n')));
  return !parsed || parsed->tag == CriEntry::Tag::Full;
}

} // namespace

std::optional<CriEntry> parse_cri_entry(std::string_view line) {
  CriEntry entry;
  entry.stamp = take_word(line);
  const auto at = parse_rfc3339(entry.stamp);
  entry.stream = take_word(line);
  if (!at || (entry.stream != "stdout" && entry.stream != "stderr")) {
    return std::nullopt;
  }
  entry.at = *at;
  // An empty line may end with its tags. Of several, separated by colons, the first is known.
  std::string_view tags =
      line.find(' ') == std::string_view::npos ? std::exchange(line, {}) : take_word(line);
  tags = tags.substr(0, tags.find(':'));
  if (tags != "F" && tags != "P") {
    return std::nullopt;
  }
  entry.tag = tags == "P" ? CriEntry::Tag::Partial : CriEntry::Tag::Full;
  entry.text = line;
  return entry;
}

CriLogTeller::CriLogTeller(const server::LogOptions& options)
    : timestamps_(options.timestamps), since_(options.since), left_(options.limit_bytes) {}

std::string CriLogTeller::tell(std::string_view bytes) {
  std::string out;
  while (!bytes.empty() && !full()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      too_long_ = too_long_ || pending_.size() + bytes.size() > kLongestEntry;
      too_long_ ? pending_.clear() : void(pending_ += bytes);
      break;
    }
    if (!too_long_ && pending_.empty()) {
      tell_entry(bytes.substr(0, end), out);
    } else if (!too_long_) {
      pending_ += bytes.substr(0, end);
      tell_entry(pending_, out);
    }
    pending_.clear();
    too_long_ = false;
    bytes.remove_prefix(end + 1);
  }
  return out;
}

void CriLogTeller::tell_entry(std::string_view line, std::string& out) {
  const auto entry = parse_cri_entry(line);
  if (!entry) {
    return;
  }
  if (!in_line_) {
    told_ = !since_ || entry->at >= *since_;
    if (told_ && timestamps_) {
      append(entry->stamp, out);
      append(" ", out);
    }
  }
  in_line_ = entry->tag == CriEntry::Tag::Partial;
  if (told_) {
    append(entry->text, out);
    append(in_line_ ? "" : "\n", out);
  }
}

void CriLogTeller::append(std::string_view text, std::string& out) {
  if (left_) {
    text = text.substr(0, static_cast<std::size_t>(std::max<std::int64_t>(*left_, 0)));
    *left_ -= static_cast<std::int64_t>(text.size());
  }
  out += text;
}

std::uint64_t
tail_begin(std::uint64_t size, std::int64_t lines,
           const std::function<std::string(std::uint64_t at, std::size_t bytes)>& read_at) {
  if (lines <= 0) {
    return size;
  }
  std::int64_t found = 0;
  std::uint64_t entry_end = size; // of the entry whose begin is looked for
  std::string head;               // the first bytes behind the block, of that entry
  // Whether a line begins where the entry ends, and it is the one that was looked for.
  const auto is_begin = [&](std::string_view entry) {
    return entry_end < size && ends_line(entry) && ++found == lines;
  };
  for (std::uint64_t at = size; at > 0;) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(at, kBlock));
    at -= bytes;
    const std::string block = read_at(at, bytes) + head;
    std::size_t from = bytes; // what lies before it in the block has not been looked at
    while (from > 0) {
      const std::size_t line_break = std::string_view(block).substr(0, from).rfind('\n');
      if (line_break == std::string::npos) {
        break;
      }
      from = line_break;
      const std::uint64_t begin = at + line_break + 1;
      if (begin < entry_end) { // not the break that ends the file
        if (is_begin(std::string_view(block).substr(line_break + 1, kHead))) {
          return entry_end;
        }
        entry_end = begin;
      }
    }
    if (at == 0 && is_begin(std::string_view(block).substr(0, kHead))) {
      return entry_end;
    }
    head = block.substr(0, kHead);
  }
  return 0;
}

} // namespace berth::kubelet
