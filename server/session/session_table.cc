#include "server/session/session_table.h"

#include <sys/random.h>

#include <algorithm>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "server/logging/logging.h"

namespace acceld {
namespace {

constexpr std::size_t kSecretBytes = 16;

absl::StatusOr<std::string> MakeSecret() {
  std::string secret(kSecretBytes, '\0');
  if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) {
    return DeviceError("The system has no random numbers for a session's secret.");
  }
  return secret;
}

absl::Status DrainingError() {
  return WithReason(absl::UnavailableError("The daemon is draining and takes no more commands."),
                    reason::kDraining);
}

void EndAndLog(Session& session, const absl::Status& why) {
  session.End(why);
  Log(LogLevel::kInfo, "session ended",
      {{"session", session.info().id},
       {"identity", session.info().peer.Identity()},
       {"reason", std::string(why.message())},
       {"ops", session.ops()},
       {"device_time_us", session.device_time().count() / 1000}});
}

}  // namespace

SessionHold::~SessionHold() {
  if (table_ != nullptr) table_->Release(id_);
}

SessionTable::SessionTable(DevicePool& pool, const SessionLimits& limits)
    : pool_(pool), limits_(limits), lease_thread_([this] { EndExpiredLeases(); }) {}

SessionTable::~SessionTable() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stop_.NotifyAll();
  }
  lease_thread_.join();
  for (const auto& session : List())
    End(*session, absl::UnavailableError("The daemon has stopped."));
}

absl::StatusOr<std::shared_ptr<Session>> SessionTable::Open(OpenRequest request) {
  std::uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    if (draining_) {
      return WithReason(
          absl::UnavailableError("The daemon is draining and opens no more sessions."),
          reason::kDraining);
    }
    if (sessions_.size() + opening_ >= limits_.sessions) {
      return OutOfMemory(
          fmt::format("The daemon has {} sessions open, its limit; try again when one "
                      "has ended, or raise limits.max_sessions.",
                      limits_.sessions),
          reason::kLimitExceeded);
    }
    id = next_id_++;
    ++opening_;
  }
  // Initializing a device may take long, so it holds no lock of the table's.
  absl::StatusOr<std::shared_ptr<Session>> created = Create(id, std::move(request));
  {
    MutexLock lock(mutex_);
    --opening_;
    if (!created.ok()) return created;
    ids_by_secret_.emplace((*created)->info().secret, id);
    sessions_.emplace(id, Entry{.session = *created});
    if (draining_) (*created)->Refuse(DrainingError());
  }
  const std::shared_ptr<Session>& session = *created;
  Log(LogLevel::kInfo, "session opened",
      {{"session", session->info().id},
       {"identity", session->info().peer.Identity()},
       {"pid", session->info().peer.pid},
       {"client", session->info().client_name},
       {"transport", session->info().transport},
       {"device", std::string(Name(session->info().device.kind))},
       {"ordinal", session->info().device.ordinal}});
  return created;
}

absl::StatusOr<std::shared_ptr<Session>> SessionTable::Create(std::uint64_t id,
                                                              OpenRequest request) {
  ACCELD_ASSIGN_OR_RETURN(const DevicePool::Choice choice, pool_.Choose(request.selection));
  SessionInfo info{.id = id,
                   .peer = std::move(request.peer),
                   .transport = std::move(request.transport),
                   .client_name = std::move(request.client_name),
                   .device = choice.device->info(),
                   .choice = choice.explanation,
                   .opened = std::chrono::steady_clock::now()};
  info.device.free_memory_bytes = choice.device->memory().free_bytes;
  ACCELD_ASSIGN_OR_RETURN(info.secret, MakeSecret());
  return Session::Create(std::move(info), *choice.device, *choice.scheduler, limits_,
                         std::make_shared<MemoryAccount>(memory_));
}

absl::StatusOr<std::shared_ptr<Session>> SessionTable::Find(std::string_view secret,
                                                            const Peer& peer) {
  MutexLock lock(mutex_);
  const auto id = ids_by_secret_.find(std::string(secret));
  if (id != ids_by_secret_.end()) {
    const std::shared_ptr<Session>& session = sessions_.at(id->second).session;
    if (SameIdentity(session->info().peer, peer)) {
      session->Touch();
      return session;
    }
  }
  return WithReason(absl::NotFoundError("There is no such session; it may have ended."),
                    reason::kSessionNotFound);
}

SessionHold SessionTable::Hold(const Session& session) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(session.info().id);
  if (found == sessions_.end()) return {};
  ++found->second.holds;
  return {*this, session.info().id};
}

void SessionTable::Release(std::uint64_t id) {
  std::shared_ptr<Session> session;
  {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end() || --found->second.holds > 0) return;
    session = Remove(id);
  }
  EndAndLog(*session, absl::CancelledError("The client has left."));
}

std::shared_ptr<Session> SessionTable::Remove(std::uint64_t id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return nullptr;
  std::shared_ptr<Session> session = std::move(found->second.session);
  sessions_.erase(found);
  ids_by_secret_.erase(session->info().secret);
  return session;
}

std::vector<std::shared_ptr<Session>> SessionTable::List() const {
  std::vector<std::shared_ptr<Session>> sessions;
  MutexLock lock(mutex_);
  for (const auto& [id, entry] : sessions_) sessions.push_back(entry.session);
  return sessions;
}

void SessionTable::End(const Session& session, const absl::Status& why) {
  std::shared_ptr<Session> removed;
  {
    MutexLock lock(mutex_);
    removed = Remove(session.info().id);
  }
  if (removed != nullptr) EndAndLog(*removed, why);
}

void SessionTable::EndConnection(std::uint64_t connection_id) {
  for (const auto& session : List()) {
    if (session->connection_id() != connection_id) continue;
    End(*session, absl::CancelledError("The client's connection is closed."));
  }
}

void SessionTable::Drain() {
  MutexLock lock(mutex_);
  draining_ = true;
  for (const auto& [id, entry] : sessions_) entry.session->Refuse(DrainingError());
}

bool SessionTable::draining() const {
  MutexLock lock(mutex_);
  return draining_;
}

bool SessionTable::Idle() const {
  const auto sessions = List();
  return std::all_of(sessions.begin(), sessions.end(),
                     [](const auto& session) { return session->in_flight() == 0; });
}

void SessionTable::EndExpiredLeases() {
  const std::chrono::milliseconds lease(limits_.lease_ms);
  while (true) {
    std::vector<std::shared_ptr<Session>> expired;
    {
      MutexLock lock(mutex_);
      const auto now = std::chrono::steady_clock::now();
      auto next = now + lease;
      std::vector<std::uint64_t> ids;
      for (const auto& [id, entry] : sessions_) {
        if (entry.holds > 0) continue;
        // Work in progress counts as use: its lease starts when it is done.
        if (entry.session->in_flight() > 0) entry.session->Touch();
        const auto expiry = entry.session->last_used() + lease;
        if (expiry <= now) {
          ids.push_back(id);
        } else {
          next = std::min(next, expiry);
        }
      }
      // Out of the table at once, so that no call finds or holds a session about to end.
      for (const std::uint64_t id : ids) expired.push_back(Remove(id));
      if (expired.empty() && stop_.WaitFor(mutex_, next - now, [this]() ACCELD_REQUIRES(mutex_) {
            return stopping_;
          })) {
        return;
      }
    }
    for (const auto& session : expired) {
      EndAndLog(*session,
                absl::DeadlineExceededError("No call has named the session for its lease."));
    }
  }
}

}  // namespace acceld
