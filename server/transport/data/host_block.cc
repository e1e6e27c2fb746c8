#include "server/transport/data/host_block.h"

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {

absl::StatusOr<std::shared_ptr<const HostBlock>> HostBlock::Create(std::shared_ptr<Session> session,
                                                                   std::uint64_t bytes) {
  if (bytes == 0) return InvalidArgument("Host memory of 0 bytes: it has at least 1 byte.");
  ACCELD_RETURN_IF_ERROR(session->TakeHostBytes(bytes));
  std::shared_ptr<HostBlock> block(new HostBlock(std::move(session), bytes));
  ACCELD_ASSIGN_OR_RETURN(block->memory_, SealedMemory::Create("acceld-host", bytes));
  block->registered_ =
      block->session_->RegisterHost(block->memory_->data(), block->memory_->mapped_bytes());
  return block;
}

HostBlock::~HostBlock() {
  if (registered_) session_->UnregisterHost(memory_->data());
  if (discards_ && memory_.has_value()) memory_->Discard();
  session_->ReturnHostBytes(bytes_);
}

absl::StatusOr<absl::Span<std::byte>> HostBlock::At(std::uint64_t offset,
                                                    std::uint64_t bytes) const {
  if (offset <= bytes_ && bytes <= bytes_ - offset) {
    return absl::MakeSpan(memory_->data() + offset, bytes);
  }
  return InvalidArgument(fmt::format("{} bytes at offset {} are beyond the host memory's {} bytes.",
                                     bytes, offset, bytes_));
}

}  // namespace acceld
