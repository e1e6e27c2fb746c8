#include "server/transport/data/poller.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

// The look while a device works on what came: it may want this core, and nobody waits for the next
// command to be taken.
constexpr std::chrono::nanoseconds kBusySpin{20'000};

// Sockets are looked at this often while rings are.
constexpr int kLooksPerWait = 32;

constexpr int kMaxEvents = 64;

// The token of `wake_`; no connection has this id.
constexpr std::uint64_t kWakeToken = 0;

}  // namespace

absl::StatusOr<std::unique_ptr<Poller>> Poller::Start(TaskThread& tasks) {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeToken}};
  if (!epoll.valid() || !wake.valid() ||
      epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) {
    return DeviceError(
        fmt::format("The system gave no descriptors for data channels: {}.", std::strerror(errno)));
  }
  return std::unique_ptr<Poller>(new Poller(tasks, std::move(epoll), std::move(wake)));
}

Poller::Poller(TaskThread& tasks, UniqueFd epoll, UniqueFd wake)
    : tasks_(tasks), epoll_(std::move(epoll)), wake_(std::move(wake)) {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "acceld-poll");
}

Poller::~Poller() { Stop(); }

void Poller::Stop() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  Wake();
  thread_.join();
}

void Poller::Add(std::shared_ptr<DataConnection> connection) {
  {
    MutexLock lock(mutex_);
    added_.push_back(std::move(connection));
    ++size_;
  }
  Wake();
}

void Poller::Resume(std::uint64_t id) {
  {
    MutexLock lock(mutex_);
    resumed_.push_back(id);
  }
  Wake();
}

std::size_t Poller::size() const {
  MutexLock lock(mutex_);
  return size_;
}

void Poller::Wake() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(woken_, true)) return;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

bool Poller::TakeRequests() {
  std::vector<std::shared_ptr<DataConnection>> added;
  std::vector<std::uint64_t> resumed;
  bool stopping = false;
  {
    MutexLock lock(mutex_);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = read(wake_.get(), &count, sizeof count);
    woken_ = false;
    std::swap(added, added_);
    std::swap(resumed, resumed_);
    stopping = stopping_;
  }
  for (std::shared_ptr<DataConnection>& connection : added) {
    const std::uint64_t id = connection->peer().connection_id;
    Entry& entry = *(entries_[id] = std::make_unique<Entry>());
    entry.connection = std::move(connection);
    Serve(id, entry, /*readable=*/true);
  }
  for (const std::uint64_t id : resumed) {
    if (const auto found = entries_.find(id); found != entries_.end()) {
      Serve(id, *found->second, /*readable=*/false);
    }
  }
  return !stopping;
}

void Poller::Run() {
  auto last_work = Clock::now();
  bool running = true;
  while (running) {
    running = Wait(awake_.empty() ? UntilDeadline() : std::chrono::milliseconds(0));
    if (!running) break;
    bool worked = false;
    for (int i = 0; i < kLooksPerWait && !awake_.empty(); ++i) worked |= ServeAwake();
    KeepDeadlines();
    if (awake_.empty()) continue;
    const auto now = Clock::now();
    if (worked) last_work = now;
    const bool device_works = CommandsInFlight();
    if (now - last_work < (device_works ? kBusySpin : spin_.value())) continue;
    if (!FallAsleep()) continue;
    const auto asleep = Clock::now();
    running = Wait(UntilDeadline());
    last_work = Clock::now();
    if (!device_works) spin_.Slept(last_work - asleep);
  }
  while (!entries_.empty()) Remove(entries_.begin()->first);
}

bool Poller::Wait(std::chrono::milliseconds timeout) {
  std::array<epoll_event, kMaxEvents> events;
  const int count =
      epoll_wait(epoll_.get(), events.data(), kMaxEvents, static_cast<int>(timeout.count()));
  bool running = true;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t id = events[i].data.u64;
    if (id == kWakeToken) {
      running = TakeRequests();
    } else if (const auto found = entries_.find(id); found != entries_.end()) {
      if (IsGone(*found->second, events[i].events)) {
        Remove(id);
      } else {
        Serve(id, *found->second, /*readable=*/true);
      }
    }
  }
  return running;
}

bool Poller::IsGone(const Entry& entry, std::uint32_t events) {
  // Nobody is left to answer.
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) return true;
  // It would show behind the bytes that are there, but those are not being read.
  return (events & EPOLLRDHUP) != 0 && !entry.connection->wants_input();
}

bool Poller::ServeAwake() {
  bool worked = false;
  // Serving may take connections out of the list, and put others in.
  for (std::size_t i = 0; i < awake_.size();) {
    const std::uint64_t id = awake_[i];
    Entry& entry = *entries_.at(id);
    if (entry.busy || entry.connection->MayGoOnAtOnce()) {
      worked = true;
      Serve(id, entry, /*readable=*/false);
    }
    if (i < awake_.size() && awake_[i] == id) ++i;
  }
  return worked;
}

void Poller::Serve(std::uint64_t id, Entry& entry, bool readable) {
  DataConnection& connection = *entry.connection;
  const DataConnection::State state = connection.Advance(readable);
  if (state == DataConnection::State::kClosed) return Remove(id);
  entry.busy = state == DataConnection::State::kBusy;
  // Read once more of a socket is reported again; a ring, or what is left in a buffer, is not.
  const bool waits = connection.wants_input() || connection.wants_room();
  SetAwake(id, entry, entry.busy || (connection.stream().CheapToPoll() && waits));
  if (!Watch(id, entry)) return Remove(id);
  SetDeadline(id, entry);
}

void Poller::SetAwake(std::uint64_t id, Entry& entry, bool awake) {
  if (entry.awake == awake) return;
  entry.awake = awake;
  if (awake) {
    awake_.push_back(id);
  } else {
    std::erase(awake_, id);
  }
}

bool Poller::Watch(std::uint64_t id, Entry& entry) {
  DataConnection& connection = *entry.connection;
  const bool is_ring = connection.stream().CheapToPoll();
  // A ring's socket tells of its end whatever it waits for.
  const std::uint32_t input = is_ring || connection.wants_input() ? EPOLLIN : 0u;
  const std::uint32_t room = !is_ring && connection.wants_room() ? EPOLLOUT : 0u;
  // The end of the connection is told of whatever it waits for.
  const std::uint32_t wanted = input | room | EPOLLRDHUP;
  if (wanted == entry.watched && connection.stream().fd() == entry.fd) return true;
  epoll_event event{.events = wanted, .data = {.u64 = id}};
  const bool is_new = entry.watched == 0;
  if (epoll_ctl(epoll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection.stream().fd(),
                &event) != 0) {
    return false;
  }
  entry.watched = wanted;
  entry.fd = connection.stream().fd();
  return true;
}

void Poller::SetDeadline(std::uint64_t id, Entry& entry) {
  const auto deadline = entry.connection->deadline();
  if (deadline == entry.deadline) return;
  if (entry.deadline.has_value()) deadlines_.erase({*entry.deadline, id});
  if (deadline.has_value()) deadlines_.emplace(*deadline, id);
  entry.deadline = deadline;
}

bool Poller::FallAsleep() {
  for (std::size_t i = 0; i < awake_.size();) {
    Entry& entry = *entries_.at(awake_[i]);
    if (!entry.busy && entry.connection->PrepareToSleep()) {
      SetAwake(awake_[i], entry, false);
    } else {
      // Something has come, or there is room for what is to be sent.
      entry.busy = true;
      ++i;
    }
  }
  return awake_.empty();
}

bool Poller::CommandsInFlight() const {
  return std::any_of(awake_.begin(), awake_.end(), [this](std::uint64_t id) {
    return entries_.at(id)->connection->in_flight() > 0;
  });
}

std::chrono::milliseconds Poller::UntilDeadline() const {
  if (deadlines_.empty()) return std::chrono::milliseconds(-1);
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadlines_.begin()->first - Clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

void Poller::KeepDeadlines() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= Clock::now()) {
    const std::uint64_t id = deadlines_.begin()->second;
    Entry& entry = *entries_.at(id);
    if (entry.connection->OnDeadline() == DataConnection::State::kClosed) {
      Remove(id);
    } else {
      SetDeadline(id, entry);
    }
  }
}

void Poller::Remove(std::uint64_t id) {
  const auto found = entries_.find(id);
  Entry& entry = *found->second;
  SetAwake(id, entry, false);
  if (entry.deadline.has_value()) deadlines_.erase({*entry.deadline, id});
  if (entry.watched != 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry.fd, nullptr);
  tasks_.Add([connection = std::move(entry.connection)]() mutable {
    connection->LetGo();
    connection.reset();
  });
  entries_.erase(found);
  MutexLock lock(mutex_);
  --size_;
}

}  // namespace acceld
