// All sessions: opens them, finds them by their secret, and ends them when nobody holds them any
// more.
//
// A session ends when it is told to, when the connection it was opened on closes, when the last
// call that holds it is over, or, while no call holds it, when none has named it for the lease.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/core/mutex.h"
#include "backends/memory/memory_account.h"
#include "server/session/device_pool.h"
#include "server/session/session.h"
#include "server/session/session_limits.h"
#include "server/transport/peer.h"

namespace acceld {

class SessionTable;

// Keeps a session open; the last one of a session that goes ends it.
class SessionHold {
 public:
  SessionHold() = default;
  SessionHold(SessionTable& table, std::uint64_t id) : table_(&table), id_(id) {}
  SessionHold(SessionHold&& other) noexcept
      : table_(std::exchange(other.table_, nullptr)), id_(other.id_) {}
  SessionHold& operator=(SessionHold&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~SessionHold();

 private:
  SessionTable* table_ = nullptr;
  std::uint64_t id_ = 0;
};

// Thread-safe.
class SessionTable {
 public:
  // `pool` outlives the table.
  SessionTable(DevicePool& pool, const SessionLimits& limits);
  // Ends all sessions.
  ~SessionTable();

  struct OpenRequest {
    Peer peer;
    std::string transport;
    std::string client_name;
    SelectionRequest selection;
  };

  absl::StatusOr<std::shared_ptr<Session>> Open(OpenRequest request);

  // The session with this secret, if `peer` has the identity that opened it. Otherwise the same
  // error as where there is none.
  absl::StatusOr<std::shared_ptr<Session>> Find(std::string_view secret, const Peer& peer);

  SessionHold Hold(const Session& session);

  // By ascending id.
  std::vector<std::shared_ptr<Session>> List() const;
  // Device memory of all sessions, also of ended ones whose work still runs.
  std::uint64_t live_bytes() const { return memory_->used_bytes(); }

  void End(const Session& session, const absl::Status& why);
  // Ends the sessions that were opened on a connection, which is closed.
  void EndConnection(std::uint64_t connection_id);

  // From now on no session opens and no command is taken.
  void Drain();
  bool draining() const;
  // Whether no session has commands that are not finished.
  bool Idle() const;

 private:
  friend class SessionHold;

  struct Entry {
    std::shared_ptr<Session> session;
    int holds = 0;
  };

  absl::StatusOr<std::shared_ptr<Session>> Create(std::uint64_t id, OpenRequest request);
  void Release(std::uint64_t id);
  // Takes a session out of the table; null where it is not there.
  std::shared_ptr<Session> Remove(std::uint64_t id) ACCELD_REQUIRES(mutex_);
  void EndExpiredLeases() ACCELD_EXCLUDES(mutex_);

  DevicePool& pool_;
  const SessionLimits limits_;
  const std::shared_ptr<MemoryAccount> memory_ = std::make_shared<MemoryAccount>();

  mutable Mutex mutex_;
  bool draining_ ACCELD_GUARDED_BY(mutex_) = false;
  bool stopping_ ACCELD_GUARDED_BY(mutex_) = false;
  std::uint64_t next_id_ ACCELD_GUARDED_BY(mutex_) = 1;
  // Calls of Open that have not returned, which count for the limit.
  std::size_t opening_ ACCELD_GUARDED_BY(mutex_) = 0;
  absl::btree_map<std::uint64_t, Entry> sessions_ ACCELD_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::uint64_t> ids_by_secret_ ACCELD_GUARDED_BY(mutex_);
  CondVar stop_;
  std::thread lease_thread_;
};

}  // namespace acceld
