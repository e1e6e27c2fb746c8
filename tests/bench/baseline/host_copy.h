// memcpy by one thread, between pages that were touched before.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace acceld::bench {

class HostCopy {
 public:
  explicit HostCopy(std::size_t size_bytes)
      : source_(size_bytes, std::byte{1}), target_(size_bytes, std::byte{2}) {}

  // Also the host's side of the copies that are measured against it.
  absl::Span<std::byte> source() { return absl::MakeSpan(source_); }
  absl::Span<std::byte> target() { return absl::MakeSpan(target_); }

  absl::Status Copy() {
    std::memcpy(target_.data(), source_.data(), source_.size());
    // Without it the compiler may leave the copy out.
    asm volatile("" : : "r"(target_.data()) : "memory");
    return absl::OkStatus();
  }

 private:
  std::vector<std::byte> source_;
  std::vector<std::byte> target_;
};

}  // namespace acceld::bench
