#include "server/transport/grpc/bulk_write.h"

#include <string>
#include <utility>

#include "backends/core/mutex.h"

namespace acceld {
namespace {

// A command costs as much as copying some KiB. A message of 4 MiB in HTTP/2's smallest frames has
// 256 pieces.
constexpr std::size_t kMaxPieces = 512;

// What the commands of one write share.
class Join {
 public:
  Join(std::size_t commands, Session::Done done) : unfinished_(commands), done_(std::move(done)) {}

  void Take(CommandResult result) {
    MutexLock lock(mutex_);
    if (first_error_.status.ok()) first_error_ = std::move(result);
    if (--unfinished_ > 0) return;
    result = std::move(first_error_);
    // Nobody else comes any more.
    MutexUnlock unlock(mutex_);
    done_(std::move(result));
  }

 private:
  Mutex mutex_;
  std::size_t unfinished_ ACCELD_GUARDED_BY(mutex_);
  CommandResult first_error_ ACCELD_GUARDED_BY(mutex_);
  Session::Done done_;
};

Pieces Gather(const Pieces& data, std::shared_ptr<const void>& owner) {
  auto gathered = std::make_shared<std::string>();
  gathered->reserve(TotalBytes(data));
  for (const auto& piece : data) {
    gathered->append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  const Pieces whole = {
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(gathered->data()), gathered->size())};
  owner = std::move(gathered);
  return whole;
}

}  // namespace

void SubmitBulkWrite(Session& session, Stream stream, Address target, const Pieces& data,
                     std::shared_ptr<const void> owner, Session::Done done) {
  if (data.size() > kMaxPieces) {
    const Pieces whole = Gather(data, owner);
    return SubmitBulkWrite(session, stream, target, whole, std::move(owner), std::move(done));
  }
  if (data.size() <= 1) {
    const auto bytes = data.empty() ? absl::Span<const std::byte>() : data.front();
    command::Write write{.target = target, .data = bytes, .owner = std::move(owner)};
    return session.Submit({.stream = stream, .action = std::move(write)}, std::move(done));
  }
  // Each piece alone could be right.
  absl::Status in_range =
      session.CheckRange(target, TotalBytes(data), "The target of a copy to the device");
  if (!in_range.ok()) return done({.status = std::move(in_range), .value = {}});
  const auto join = std::make_shared<Join>(data.size(), std::move(done));
  for (const auto& piece : data) {
    command::Write write{.target = target, .data = piece, .owner = owner};
    session.Submit({.stream = stream, .action = std::move(write)},
                   [join](CommandResult result) { join->Take(std::move(result)); });
    target += piece.size();
  }
}

}  // namespace acceld
