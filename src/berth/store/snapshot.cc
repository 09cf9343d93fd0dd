#include "berth/store/snapshot.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <fmt/format.h>

#include "berth/store/journal.h"
#include "berth/store/sqlite_file.h"
#include "berth/store/writer_lock.h"

namespace berth::store {
namespace {

namespace fs = std::filesystem;

/// A snapshot is a SQLite file, this mark, and the SHA-256 of both.
constexpr std::string_view kMark = "berth snapshot 1";
constexpr std::size_t kDigest = 32;
constexpr std::size_t kPiece = std::size_t{1024} * 1024;

using Digest = std::array<unsigned char, kDigest>;

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

tl::unexpected<Error> broken(const std::string& path, std::string_view doing) {
  return fail(Code::Unavailable, fmt::format("{}: {} failed; is there room on the disk, and may "
                                             "this user write there?",
                                             path, doing));
}

/// A file that goes unless it is kept.
class Draft {
 public:
  explicit Draft(std::string path) : path_(std::move(path)) { remove(); }
  ~Draft() { remove(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const std::string& path() const { return path_; }

  /// On the disk, and under its name for good.
  Result<void> keep_as(const std::string& name) {
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = file >= 0 && ::fsync(file) == 0;
    if (file >= 0) {
      ::close(file);
    }
    if (!synced || ::rename(path_.c_str(), name.c_str()) != 0) {
      return broken(name, "writing");
    }
    const std::string folder = fs::absolute(name).parent_path().string();
    if (const int parent = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        parent >= 0) {
      (void)::fsync(parent);
      ::close(parent);
    }
    return {};
  }

 private:
  void remove() const {
    std::error_code ignored;
    for (const std::string_view of : {"", "-wal", "-shm", "-lock", "-journal"}) {
      fs::remove(path_ + std::string(of), ignored);
    }
  }
  std::string path_;
};

/// The digest of the first `length` bytes, which go to `out` too, if there is one.
Result<Digest> digest_of(std::istream& in, std::uint64_t length, std::ostream* out) {
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  std::vector<char> piece(kPiece);
  while (length > 0) {
    const auto want = static_cast<std::streamsize>(std::min<std::uint64_t>(length, kPiece));
    if (!in.read(piece.data(), want)) {
      return fail(Code::Unavailable, "reading failed");
    }
    EVP_DigestUpdate(context.get(), piece.data(), static_cast<std::size_t>(want));
    if (out != nullptr && !out->write(piece.data(), want)) {
      return fail(Code::Unavailable, "writing failed; is there room on the disk?");
    }
    length -= static_cast<std::uint64_t>(want);
  }
  Digest digest{};
  EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
  return digest;
}

Result<void> copy_database(const std::string& database, const std::string& to) {
  BERTH_TRY(SqliteFile source, SqliteFile::open(database, SqliteFile::Access::Read));
  BERTH_TRY(const Statement copy, source.statement("VACUUM INTO ?"));
  bind_text(copy.get(), 1, to);
  return sqlite3_step(copy.get()) == SQLITE_DONE ? Result<void>() : source.problem("copying");
}

Result<Snapshot> facts_of(SqliteFile& file) {
  Snapshot facts;
  BERTH_TRY(const std::int64_t objects, file.number("SELECT count(*) FROM objects"));
  facts.objects = static_cast<std::size_t>(objects);
  BERTH_TRY(const std::int64_t revision,
            file.number("SELECT coalesce(max(value), 0) FROM meta WHERE name = 'revision'"));
  facts.revision = static_cast<std::uint64_t>(revision);
  BERTH_TRY(const Statement all, file.statement("SELECT name, content FROM files"));
  while (sqlite3_step(all.get()) == SQLITE_ROW) {
    facts.files.emplace(column_bytes(all.get(), 0), column_bytes(all.get(), 1));
  }
  return facts;
}

Result<Snapshot> add_files(const std::string& path,
                           const std::map<std::string, std::string>& files) {
  BERTH_TRY(SqliteFile file, SqliteFile::open(path, SqliteFile::Access::Write));
  BERTH_CHECK(file.run("CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, content BLOB)"));
  {
    BERTH_TRY(const Statement add, file.statement("INSERT OR REPLACE INTO files VALUES (?, ?)"));
    for (const auto& [name, content] : files) {
      bind_text(add.get(), 1, name);
      bind_text(add.get(), 2, content);
      if (!finish(add.get())) {
        return file.problem("writing");
      }
    }
  }
  return facts_of(file);
}

Result<void> seal(const std::string& path) {
  std::ofstream(path, std::ios::binary | std::ios::app) << kMark;
  std::ifstream in(path, std::ios::binary);
  BERTH_TRY(const Digest digest, digest_of(in, fs::file_size(path), nullptr));
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out.write(reinterpret_cast<const char*>(digest.data()), kDigest);
  out.close();
  return out ? Result<void>() : broken(path, "writing");
}

/// Checks the seal and copies the database that it is of.
Result<void> unseal(const std::string& from, const std::string& to) {
  std::ifstream in(from, std::ios::binary);
  std::error_code error;
  const std::uint64_t size = fs::file_size(from, error);
  if (!in || error) {
    return fail(Code::NotFound, fmt::format("{}: cannot be read; is it there?", from));
  }
  const auto foreign = [&] {
    return fail(Code::Invalid,
                fmt::format("{}: this is no snapshot of berth, or one that was cut short: want a "
                            "file that berth snapshot save has written",
                            from));
  };
  if (size < kMark.size() + kDigest) {
    return foreign();
  }
  std::string mark(kMark.size(), '\0');
  in.seekg(static_cast<std::streamoff>(size - kDigest - kMark.size()));
  in.read(mark.data(), static_cast<std::streamsize>(mark.size()));
  if (mark != kMark) {
    return foreign();
  }
  Digest told{};
  in.read(reinterpret_cast<char*>(told.data()), kDigest);
  in.seekg(0);
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  auto found = digest_of(in, size - kDigest, &out);
  out.close();
  if (!found || !out) {
    return broken(to, "copying the snapshot");
  }
  if (*found != told) {
    return fail(Code::Invalid, fmt::format("{}: the snapshot is damaged: its checksum does not fit "
                                           "its bytes; try another copy of it",
                                           from));
  }
  fs::resize_file(to, size - kDigest - kMark.size(), error);
  return error ? broken(to, "writing") : Result<void>();
}

/// Reads every object and moves the revision on.
Result<Snapshot> make_fresh(const std::string& path) {
  BERTH_TRY(auto journal, Journal::open(path));
  BERTH_CHECK(journal->load());
  journal.reset();
  BERTH_TRY(SqliteFile file, SqliteFile::open(path, SqliteFile::Access::Write));
  BERTH_TRY(Snapshot facts, facts_of(file));
  BERTH_CHECK(
      file.run(fmt::format("DELETE FROM meta WHERE name = 'claimed'; INSERT OR REPLACE INTO "
                           "meta VALUES ('revision', {}); DROP TABLE files",
                           facts.revision + kRevisionBump)));
  BERTH_CHECK(file.run("PRAGMA wal_checkpoint(TRUNCATE)"));
  BERTH_CHECK(file.run("PRAGMA journal_mode = DELETE")); // one file, no log beside it
  return facts;
}

} // namespace

Result<Snapshot> save_snapshot(const std::string& database,
                               const std::map<std::string, std::string>& files,
                               const std::string& to) {
  if (fs::exists(to)) {
    return fail(Code::AlreadyExists,
                fmt::format("{}: the file is there already; choose another name", to));
  }
  if (!fs::exists(database)) {
    return fail(Code::NotFound, fmt::format("{}: there is no cluster's data here", database));
  }
  Draft draft(to + ".part");
  BERTH_CHECK(copy_database(database, draft.path()));
  BERTH_TRY(Snapshot facts, add_files(draft.path(), files));
  BERTH_CHECK(seal(draft.path()));
  BERTH_CHECK(draft.keep_as(to));
  return facts;
}

Result<Snapshot> restore_snapshot(const std::string& from, const std::string& database) {
  BERTH_TRY(const WriterLock lock, WriterLock::take(database));
  Draft draft(database + ".part");
  BERTH_CHECK(unseal(from, draft.path()));
  BERTH_TRY(Snapshot facts, make_fresh(draft.path()));
  // The old file and its log belong together: they step aside before the new one comes.
  const Draft old(database + ".replaced");
  for (const std::string_view of : {"", "-wal"}) {
    std::error_code error;
    const std::string name = database + std::string(of);
    if (fs::exists(name)) {
      fs::rename(name, old.path() + std::string(of), error);
    }
    if (error) {
      return broken(name, "moving it away");
    }
  }
  std::error_code ignored;
  fs::remove(database + "-shm", ignored);
  BERTH_CHECK(draft.keep_as(database));
  return facts;
}

} // namespace berth::store
