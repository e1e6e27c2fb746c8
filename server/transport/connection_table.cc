#include "server/transport/connection_table.h"

#include <charconv>
#include <utility>

namespace acceld {

void ConnectionTable::Insert(int fd, Peer peer) {
  MutexLock lock(mutex_);
  peers_.insert_or_assign(fd, std::move(peer));
}

void ConnectionTable::Erase(int fd, std::uint64_t connection_id) {
  MutexLock lock(mutex_);
  const auto found = peers_.find(fd);
  if (found != peers_.end() && found->second.connection_id == connection_id) peers_.erase(found);
}

std::optional<Peer> ConnectionTable::Find(std::string_view grpc_peer) const {
  constexpr std::string_view kPrefix = "fd:";
  if (!grpc_peer.starts_with(kPrefix)) return std::nullopt;
  const std::string_view number = grpc_peer.substr(kPrefix.size());
  int fd = -1;
  const char* end = number.data() + number.size();
  const auto [parsed_to, error] = std::from_chars(number.data(), end, fd);
  if (error != std::errc() || parsed_to != end) return std::nullopt;

  MutexLock lock(mutex_);
  const auto found = peers_.find(fd);
  if (found == peers_.end()) return std::nullopt;
  return found->second;
}

}  // namespace acceld
