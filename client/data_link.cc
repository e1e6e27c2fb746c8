#include "client/data_link.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <deque>

#include "backends/core/status.h"
#include "channel/descriptor_passing.h"
#include "channel/socket_stream.h"
#include "fmt/format.h"
#include "proto/frames/pack.h"

namespace acceld {
namespace {

// More than a welcome or the reason of a refusal takes.
constexpr std::size_t kMaxAnswerBytes = 64 * 1024;

absl::Status NotConnected(const Endpoint& endpoint, std::string_view why) {
  return absl::UnavailableError(fmt::format("No data channel to {}: {}.", endpoint.text, why));
}

absl::StatusOr<UniqueFd> ConnectUnix(const Endpoint& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // ParseEndpoint saw to it that it fits.
  std::memcpy(address.sun_path, endpoint.unix_path.data(), endpoint.unix_path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid() ||
      connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return NotConnected(endpoint, std::strerror(errno));
  }
  return socket;
}

absl::StatusOr<UniqueFd> ConnectTcp(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
  if (error != 0) return NotConnected(endpoint, gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    UniqueFd socket(::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol));
    if (socket.valid() && connect(socket.get(), each->ai_addr, each->ai_addrlen) == 0) {
      return socket;
    }
  }
  return NotConnected(endpoint, std::strerror(errno));
}

// Receives exactly `target.size()` bytes, and the descriptors that come along.
absl::Status ReceiveAll(int socket, absl::Span<std::byte> target, std::deque<UniqueFd>& descriptors,
                        absl::Time deadline) {
  while (!target.empty()) {
    pollfd polled{socket, POLLIN, 0};
    const auto left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0) return absl::UnavailableError("The daemon did not answer in time.");
    if (poll(&polled, 1, static_cast<int>(std::min<std::int64_t>(left, 1000))) <= 0) continue;
    ACCELD_ASSIGN_OR_RETURN(const std::size_t bytes,
                            ReceiveWithDescriptors(socket, target, descriptors));
    target.remove_prefix(bytes);
  }
  return absl::OkStatus();
}

absl::Status SendHello(const Endpoint& endpoint, int socket, std::string_view secret,
                       bool shared_memory) {
  frames::Hello hello{.version = frames::kVersion, .shared_memory = shared_memory};
  if (secret.size() != hello.secret.size()) {
    return DeviceError("The daemon gave a secret of a length that is not known here.");
  }
  std::memcpy(hello.magic.data(), frames::kMagic, hello.magic.size());
  std::memcpy(hello.secret.data(), secret.data(), secret.size());
  // A fresh connection has room for it.
  if (send(socket, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) {
    return NotConnected(endpoint, std::strerror(errno));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DataLink> OpenDataLink(const Endpoint& endpoint, std::string_view secret,
                                      bool shared_memory, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  ACCELD_ASSIGN_OR_RETURN(
      UniqueFd socket, endpoint.unix_path.empty() ? ConnectTcp(endpoint) : ConnectUnix(endpoint));
  ACCELD_RETURN_IF_ERROR(SendHello(endpoint, socket.get(), secret, shared_memory));

  frames::Header header;
  std::deque<UniqueFd> descriptors;
  const auto header_bytes = absl::MakeSpan(reinterpret_cast<std::byte*>(&header), sizeof header);
  ACCELD_RETURN_IF_ERROR(ReceiveAll(socket.get(), header_bytes, descriptors, deadline));
  if (header.payload_bytes > kMaxAnswerBytes) {
    return DeviceError(fmt::format("The daemon's answer has {} bytes; it may have {}.",
                                   header.payload_bytes, kMaxAnswerBytes));
  }
  std::vector<std::byte> payload(header.payload_bytes);
  ACCELD_RETURN_IF_ERROR(ReceiveAll(socket.get(), absl::MakeSpan(payload), descriptors, deadline));

  frames::Unpacker unpacker(payload);
  if (header.kind == static_cast<std::uint16_t>(frames::Kind::kEnd)) {
    ACCELD_RETURN_IF_ERROR(frames::TakeStatus(unpacker));
  }
  DataLink link;
  unpacker.Take(link.welcome.ring_bytes);
  unpacker.Take(link.welcome.staging_bytes);
  unpacker.Take(link.transport);
  unpacker.Take(link.note);
  if (header.kind != static_cast<std::uint16_t>(frames::Kind::kWelcome) || !unpacker.Done()) {
    return DeviceError("The daemon's answer is no welcome.");
  }
  if (link.welcome.ring_bytes == 0) {
    link.stream = std::make_unique<SocketStream>(std::move(socket),
                                                 /*takes_descriptors=*/!endpoint.unix_path.empty());
    return link;
  }
  if (!shared_memory || descriptors.size() != 1 || !std::has_single_bit(link.welcome.ring_bytes) ||
      link.welcome.ring_bytes > (std::uint64_t{1} << 40)) {
    return DeviceError(
        fmt::format("The daemon's rings have {} bytes and come with {} descriptors; it may be one "
                    "descriptor, and a power of two up to 2^40.",
                    link.welcome.ring_bytes, descriptors.size()));
  }
  ACCELD_ASSIGN_OR_RETURN(SealedMemory rings,
                          SealedMemory::Open(descriptors.front().Release(),
                                             RingStream::MemoryBytes(link.welcome.ring_bytes)));
  auto ring = std::make_unique<RingStream>(RingStream::Side::kClient, std::move(socket),
                                           std::move(rings), link.welcome.ring_bytes);
  link.ring = ring.get();
  link.stream = std::move(ring);
  return link;
}

}  // namespace acceld
