// One thread that serves all data channels: it waits for any of them, takes what arrived, and
// carries it as far as it goes.
//
// A ring that traffic flows in is looked at for a little while before the thread sleeps, since to
// be woken takes much longer. How long is learned: a look in vain makes the next one shorter, one
// that would have paid off makes it long again. A thread that has nothing to do sleeps without a
// time limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "backends/core/mutex.h"
#include "backends/core/unique_fd.h"
#include "channel/spin_time.h"
#include "server/transport/data/data_connection.h"

namespace acceld {

// Thread-safe.
class Poller {
 public:
  // Lets go of connections on `tasks`, which outlives it.
  static absl::StatusOr<std::unique_ptr<Poller>> Start(TaskThread& tasks);
  ~Poller();
  // Lets go of all connections, whose tasks may still call Resume. Not thread-safe.
  void Stop();

  // Serves a connection, known by its peer's connection_id, until it is closed.
  void Add(std::shared_ptr<DataConnection> connection);
  // Looks at a connection again, if it is still there.
  void Resume(std::uint64_t id);

  // How many connections there are.
  std::size_t size() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Entry {
    std::shared_ptr<DataConnection> connection;
    // What epoll watches its descriptor for.
    int fd = -1;
    std::uint32_t watched = 0;
    // Whether there is more to do at once.
    bool busy = false;
    // Whether it is in `awake_`.
    bool awake = false;
    std::optional<Clock::time_point> deadline;
  };

  Poller(TaskThread& tasks, UniqueFd epoll, UniqueFd wake);

  void Run();
  void Wake() ACCELD_EXCLUDES(mutex_);
  // Waits for descriptors, at most `timeout`; negative for good; and serves those that are ready.
  // False where the thread is to end.
  bool Wait(std::chrono::milliseconds timeout);
  // Whether what epoll reports is that the client has gone.
  static bool IsGone(const Entry& entry, std::uint32_t events);
  // Serves the rings that are awake; whether any had something to do.
  bool ServeAwake();
  void Serve(std::uint64_t id, Entry& entry, bool readable);
  // Does what Add, Resume and the destructor ask for; false where the thread is to end.
  bool TakeRequests() ACCELD_EXCLUDES(mutex_);
  void SetAwake(std::uint64_t id, Entry& entry, bool awake);
  // False where the system refuses.
  bool Watch(std::uint64_t id, Entry& entry);
  void SetDeadline(std::uint64_t id, Entry& entry);
  void KeepDeadlines();
  // How long until the next deadline, for epoll.
  std::chrono::milliseconds UntilDeadline() const;
  // Puts all rings to sleep; false where one has something to do by now.
  bool FallAsleep();
  // Whether any of the rings that are awake has commands that are not finished.
  bool CommandsInFlight() const;
  void Remove(std::uint64_t id);

  TaskThread& tasks_;
  const UniqueFd epoll_;
  const UniqueFd wake_;

  // Of the thread.
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Entry>> entries_;
  std::vector<std::uint64_t> awake_;
  std::set<std::pair<Clock::time_point, std::uint64_t>> deadlines_;
  SpinTime spin_{std::chrono::microseconds(100)};

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<DataConnection>> added_ ACCELD_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> resumed_ ACCELD_GUARDED_BY(mutex_);
  bool stopping_ ACCELD_GUARDED_BY(mutex_) = false;
  std::size_t size_ ACCELD_GUARDED_BY(mutex_) = 0;
  // Whether `wake_` is set already.
  bool woken_ ACCELD_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace acceld
