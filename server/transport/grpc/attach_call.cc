#include "server/transport/grpc/attach_call.h"

#include "proto/wire/grpc_status.h"

namespace acceld {

AttachCall* AttachCall::Start(const ServiceContext& service, grpc::CallbackServerContext& call,
                              const v1::AttachSessionRequest& request) {
  std::shared_ptr<AttachCall> attach(new AttachCall());
  attach->self_ = attach;
  auto session = FindSession(service, call, request.session_secret());
  if (!session.ok()) {
    attach->EndWith(ToGrpcStatus(session.status()));
    return attach.get();
  }
  attach->session_ = *std::move(session);
  attach->hold_ = service.sessions.Hold(*attach->session_);
  {
    MutexLock lock(attach->mutex_);
    attach->writing_ = true;
    attach->StartWrite(&attach->response_);
  }
  attach->on_end_ =
      attach->session_->OnEnd([call = attach->weak_from_this()](const absl::Status& why) {
        if (const auto self = call.lock()) self->EndWith(ToGrpcStatus(why));
      });
  return attach.get();
}

void AttachCall::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  if (!ok && !end_.has_value()) end_ = grpc::Status::CANCELLED;
  MaybeFinish();
}

void AttachCall::OnCancel() { EndWith(grpc::Status::CANCELLED); }

void AttachCall::EndWith(const grpc::Status& status) {
  MutexLock lock(mutex_);
  if (!end_.has_value()) end_ = status;
  MaybeFinish();
}

void AttachCall::MaybeFinish() {
  if (writing_ || finishing_ || !end_.has_value()) return;
  finishing_ = true;
  Finish(*end_);
}

void AttachCall::OnDone() {
  if (session_ != nullptr) session_->RemoveOnEnd(on_end_);
  const std::shared_ptr<AttachCall> self = std::move(self_);
  hold_ = {};
}

}  // namespace acceld
