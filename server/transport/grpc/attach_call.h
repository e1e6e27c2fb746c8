// One AttachSession call: holds a session for as long as it lasts.
#pragma once

#include <memory>
#include <optional>

#include "acceld/v1/compute.pb.h"
#include "backends/core/mutex.h"
#include "grpcpp/support/server_callback.h"
#include "server/transport/grpc/caller.h"

namespace acceld {

class AttachCall final : public grpc::ServerWriteReactor<v1::AttachSessionResponse>,
                         public std::enable_shared_from_this<AttachCall> {
 public:
  // The reactor of a new call; it deletes itself.
  static AttachCall* Start(const ServiceContext& service, grpc::CallbackServerContext& call,
                           const v1::AttachSessionRequest& request);

 private:
  AttachCall() = default;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  // Ends the call as soon as no write is under way. Only the first status counts.
  void EndWith(const grpc::Status& status) ACCELD_EXCLUDES(mutex_);
  void MaybeFinish() ACCELD_REQUIRES(mutex_);

  // Keeps this object until gRPC is done with it.
  std::shared_ptr<AttachCall> self_;
  std::shared_ptr<Session> session_;
  SessionHold hold_;
  std::uint64_t on_end_ = 0;
  v1::AttachSessionResponse response_;
  Mutex mutex_;
  bool writing_ ACCELD_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> end_ ACCELD_GUARDED_BY(mutex_);
  bool finishing_ ACCELD_GUARDED_BY(mutex_) = false;
};

}  // namespace acceld
