// How a DataChannel copies, and what it shares with the daemon.

#include <atomic>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "backends/context/handle_errors.h"
#include "backends/core/status.h"
#include "backends/memory/streaming_copy.h"
#include "client/copy_join.h"
#include "client/data_channel.h"
#include "client/host_pages.h"
#include "proto/frames/command_frame.h"

namespace acceld {
namespace {

// Copies up to this travel in the frame.
constexpr std::size_t kInlineBytes = 4096;

// What one command of a larger copy brings or fetches over a socket: so much that the device copies
// it on a thread of its own, while the daemon receives or sends the next.
constexpr std::size_t kChunkBytes = 512 * 1024;
// Few reads at a time, so that the daemon does not stage more than it sends soon.
constexpr std::size_t kMaxReadBytesInFlight = 4 * kChunkBytes;

// From here on the caches could not hold what is copied.
constexpr std::size_t kLargeCopyBytes = 4 << 20;

}  // namespace

// ---- Copies ----

void DataChannel::Write(Address target, absl::Span<const std::byte> source, Stream stream,
                        std::shared_ptr<const void> host) {
  if (source.size() > kInlineBytes && ring_ != nullptr) {
    if (const std::shared_ptr<const Host> shared = FindHost(source)) {
      return WriteHost(target, source, stream, *shared, std::move(host));
    }
    if (Staging* const staging = GetStaging()) {
      return WriteStaged(*staging, target, source, stream);
    }
  }
  for (std::size_t offset = 0; offset < source.size(); offset += kChunkBytes) {
    const auto chunk = source.subspan(offset, kChunkBytes);
    const Command write{.stream = stream,
                        .action = command::Write{.target = target + offset, .data = chunk}};
    WaitForRoom();
    if (chunk.size() > kInlineBytes) {
      PostWrite(write, chunk);
    } else {
      Post({.done = nullptr, .stream = stream}, /*waits=*/false,
           [&](std::vector<std::byte>& frames) {
             frames::Append(write, frames);
             frames.insert(frames.end(), chunk.begin(), chunk.end());
           });
    }
  }
}

void DataChannel::WriteHost(Address target, absl::Span<const std::byte> source, Stream stream,
                            const Host& shared, std::shared_ptr<const void> host) {
  const frames::SharedCopy copy{
      .address = target,
      .size_bytes = source.size(),
      .host = shared.number,
      .host_offset = static_cast<std::uint64_t>(source.data() - shared.memory.data())};
  WaitForRoom();
  const auto append = [&](std::vector<std::byte>& frames) {
    frames::Append(frames::Kind::kWriteShared, stream, copy, frames);
  };
  if (host != nullptr) {
    Post({.done = [host = std::move(host)](CommandResult) {}, .stream = stream, .reports = true},
         /*waits=*/false, append);
    return;
  }
  std::atomic<bool> done{false};
  Post({.done = [&done](CommandResult) { done = true; }, .stream = stream, .reports = true},
       /*waits=*/true, append);
  Wait([&] { return done.load(); });
}

void DataChannel::WriteStaged(Staging& staging, Address target, absl::Span<const std::byte> source,
                              Stream stream) {
  const std::size_t slot_bytes = staging.slot_bytes();
  for (std::size_t offset = 0; offset < source.size(); offset += slot_bytes) {
    const auto chunk = source.subspan(offset, slot_bytes);
    const std::optional<Staging::Slot> slot = TakeSlot(staging);
    if (!slot.has_value()) return;
    std::memcpy(slot->bytes.data(), chunk.data(), chunk.size());
    const frames::SharedCopy copy{.address = target + offset,
                                  .size_bytes = chunk.size(),
                                  .host = staging.host(),
                                  .host_offset = slot->offset};
    Post({.done = [&staging, slot = *slot](CommandResult) { staging.Return(slot); },
          .stream = stream,
          .reports = true},
         /*waits=*/false, [&](std::vector<std::byte>& frames) {
           frames::Append(frames::Kind::kWriteShared, stream, copy, frames);
         });
  }
}

std::uint64_t DataChannel::Read(absl::Span<std::byte> target, Address source, Stream stream,
                                bool keep_error, CopyDone done) {
  if (ring_ != nullptr) {
    if (const std::shared_ptr<const Host> shared = FindHost(target)) {
      return ReadHost(target, source, stream, keep_error, *shared, std::move(done));
    }
    if (Staging* const staging = GetStaging()) {
      return ReadStaged(*staging, target, source, stream, keep_error, std::move(done));
    }
  }
  const std::size_t chunks = (target.size() + kChunkBytes - 1) / kChunkBytes;
  const auto copy = std::make_shared<CopyJoin>(chunks, std::move(done));
  std::uint64_t number = 0;
  for (std::size_t offset = 0; offset < target.size(); offset += kChunkBytes) {
    const auto chunk = target.subspan(offset, kChunkBytes);
    // This sends what was posted, too.
    Wait([this] { return closed_ || read_bytes_ < kMaxReadBytesInFlight; });
    read_bytes_ += chunk.size();
    number =
        Post({.done =
                  [this, copy, bytes = chunk.size()](CommandResult result) {
                    read_bytes_ -= bytes;
                    copy->Take(std::move(result.status));
                  },
              .stream = stream,
              .target = chunk},
             /*waits=*/offset + kChunkBytes < target.size(), [&](std::vector<std::byte>& frames) {
               frames::Append({.stream = stream,
                               .action = command::Read{.source = source + offset,
                                                       .size_bytes = chunk.size(),
                                                       .keep_error = keep_error}},
                              frames);
             });
  }
  return number;
}

std::uint64_t DataChannel::PostReadShared(const frames::SharedCopy& copy, Stream stream,
                                          Done done) {
  return Post({.done = std::move(done), .stream = stream}, /*waits=*/false,
              [&](std::vector<std::byte>& frames) {
                frames::Append(frames::Kind::kReadShared, stream, copy, frames);
              });
}

std::uint64_t DataChannel::ReadHost(absl::Span<std::byte> target, Address source, Stream stream,
                                    bool keep_error, const Host& shared, CopyDone done) {
  WaitForRoom();
  return PostReadShared(
      {.address = source,
       .size_bytes = target.size(),
       .host = shared.number,
       .host_offset = static_cast<std::uint64_t>(target.data() - shared.memory.data()),
       .keep_error = keep_error},
      stream,
      [done = std::move(done)](CommandResult result) mutable { done(std::move(result.status)); });
}

std::uint64_t DataChannel::ReadStaged(Staging& staging, absl::Span<std::byte> target,
                                      Address source, Stream stream, bool keep_error,
                                      CopyDone done) {
  const std::size_t slot_bytes = staging.slot_bytes();
  const std::size_t chunks = (target.size() + slot_bytes - 1) / slot_bytes;
  const auto copy = std::make_shared<CopyJoin>(chunks, std::move(done));
  // Of a large copy little is read before the rest is there.
  const bool large = target.size() >= kLargeCopyBytes;
  std::uint64_t number = 0;
  for (std::size_t offset = 0; offset < target.size(); offset += slot_bytes) {
    const auto chunk = target.subspan(offset, slot_bytes);
    const std::optional<Staging::Slot> slot = TakeSlot(staging);
    if (!slot.has_value()) {
      copy->Take(status());
      continue;
    }
    number =
        PostReadShared({.address = source + offset,
                        .size_bytes = chunk.size(),
                        .host = staging.host(),
                        .host_offset = slot->offset,
                        .keep_error = keep_error},
                       stream, [&staging, copy, chunk, large, slot = *slot](CommandResult result) {
                         if (result.status.ok()) {
                           if (large) {
                             StreamingCopy(chunk.data(), slot.bytes.data(), chunk.size());
                           } else {
                             std::memcpy(chunk.data(), slot.bytes.data(), chunk.size());
                           }
                         }
                         staging.Return(slot);
                         copy->Take(std::move(result.status));
                       });
  }
  return number;
}

std::optional<Staging::Slot> DataChannel::TakeSlot(Staging& staging) {
  std::optional<Staging::Slot> slot = staging.TryTake();
  if (slot.has_value()) return slot;
  // Asked again once it holds.
  Wait([&] {
    if (!slot.has_value()) slot = staging.TryTake();
    return closed_ || slot.has_value();
  });
  return slot;
}

// ---- Shared memory ----

Staging* DataChannel::GetStaging() {
  MutexLock lock(staging_mutex_);
  if (!staging_tried_) {
    staging_tried_ = true;
    if (absl::StatusOr<std::shared_ptr<const Host>> host = NewHost(welcome_.staging_bytes);
        host.ok()) {
      const auto memory = absl::MakeSpan((*host)->memory.data(), (*host)->memory.size_bytes());
      staging_.emplace((*host)->number, memory, *host);
    }
  }
  return staging_.has_value() ? &*staging_ : nullptr;
}

DataChannel::Described DataChannel::AskForDescriptor(frames::Kind kind, std::uint64_t number) {
  Described described;
  std::atomic<bool> done{false};
  Post({.done =
            [&](CommandResult result) {
              // In the order of the results, which is that of the descriptors.
              if (result.status.ok()) described.descriptor = stream_->NextDescriptor();
              const Address* value = std::get_if<Address>(&result.value);
              described.value = value != nullptr ? *value : Address{0};
              described.status = std::move(result.status);
              done = true;
            },
        .stream = kDefaultStream},
       /*waits=*/true,
       [&](std::vector<std::byte>& frames) { frames::Append(kind, number, frames); });
  Wait([&] { return done.load(); });
  if (described.status.ok() && !described.descriptor.valid()) {
    described.status = OutOfMemory("The process has no descriptor left for the memory.");
  }
  return described;
}

absl::StatusOr<std::shared_ptr<const DataChannel::Host>> DataChannel::NewHost(std::uint64_t bytes) {
  Described described = AskForDescriptor(frames::Kind::kAllocHost, bytes);
  absl::Cleanup free = [&] {
    if (described.value != 0) freed_hosts_->Add(described.value);
  };
  ACCELD_RETURN_IF_ERROR(described.status);
  ACCELD_ASSIGN_OR_RETURN(SealedMemory memory,
                          SealedMemory::Open(described.descriptor.Release(), bytes));
  std::move(free).Cancel();
  std::shared_ptr<const Host> host(new Host{.number = described.value, .memory = std::move(memory)},
                                   [freed = freed_hosts_](const Host* unused) {
                                     freed->Add(unused->number);
                                     delete unused;
                                   });
  return host;
}

absl::StatusOr<std::shared_ptr<std::byte>> DataChannel::AllocateHost(std::uint64_t bytes) {
  if (ring_ == nullptr) return AllocateHostPages(bytes);
  ACCELD_ASSIGN_OR_RETURN(const std::shared_ptr<const Host> host, NewHost(bytes));
  std::byte* const data = host->memory.data();
  MutexLock lock(hosts_mutex_);
  absl::erase_if(hosts_, [](const auto& each) { return each.second.expired(); });
  hosts_[data] = host;
  return std::shared_ptr<std::byte>(host, data);
}

std::shared_ptr<const DataChannel::Host> DataChannel::FindHost(
    absl::Span<const std::byte> bytes) const {
  MutexLock lock(hosts_mutex_);
  auto found = hosts_.upper_bound(bytes.data());
  if (found == hosts_.begin()) return nullptr;
  std::shared_ptr<const Host> host = std::prev(found)->second.lock();
  if (host == nullptr) return nullptr;
  const auto offset = static_cast<std::uint64_t>(bytes.data() - host->memory.data());
  const std::uint64_t size = host->memory.size_bytes();
  return offset <= size && bytes.size() <= size - offset ? host : nullptr;
}

void DataChannel::TellFreedHosts() {
  for (const std::uint64_t number : freed_hosts_->TakeAll()) {
    Enter({});
    frames::Append(frames::Kind::kFreeHost, number, appended_);
  }
}

absl::StatusOr<std::shared_ptr<std::byte>> DataChannel::Map(Address address,
                                                            std::uint64_t size_bytes) {
  if (ring_ == nullptr) return NoMappableMemory();
  Described described = AskForDescriptor(frames::Kind::kMap, address);
  ACCELD_RETURN_IF_ERROR(described.status);
  ACCELD_ASSIGN_OR_RETURN(SealedMemory opened,
                          SealedMemory::Open(described.descriptor.Release(), size_bytes));
  const auto memory = std::make_shared<SealedMemory>(std::move(opened));
  return std::shared_ptr<std::byte>(memory, memory->data());
}

absl::StatusOr<ShareableHandle> DataChannel::ExportHandle(Address address) {
  if (!BringsDescriptors()) return NoDescriptors();
  Described described = AskForDescriptor(frames::Kind::kExportHandle, address);
  ACCELD_RETURN_IF_ERROR(described.status);
  return ShareableHandle{.descriptor = std::move(described.descriptor),
                         .size_bytes = described.value};
}

}  // namespace acceld
