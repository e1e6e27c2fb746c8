#include "server/transport/data/data_server.h"

#include <thread>
#include <utility>

namespace acceld {
namespace {

// How often AwaitClosed looks.
constexpr std::chrono::milliseconds kClosedPoll{2};

}  // namespace

absl::StatusOr<std::unique_ptr<DataServer>> DataServer::Start(
    SessionTable& sessions, const SessionLimits& limits,
    std::chrono::milliseconds handshake_timeout) {
  std::unique_ptr<DataServer> server(new DataServer(sessions, limits, handshake_timeout));
  ACCELD_ASSIGN_OR_RETURN(server->poller_, Poller::Start(server->tasks_));
  return server;
}

DataServer::DataServer(SessionTable& sessions, const SessionLimits& limits,
                       std::chrono::milliseconds handshake_timeout)
    : limits_(limits),
      context_{.sessions = sessions,
               .limits = limits_,
               .tasks = tasks_,
               .handshake_timeout = handshake_timeout,
               .resume = [this](DataConnection& connection) {
                 poller_->Resume(connection.peer().connection_id);
               }} {}

DataServer::~DataServer() {
  if (poller_ != nullptr) poller_->Stop();
}

void DataServer::Serve(UniqueFd connection, const Peer& peer) {
  poller_->Add(DataConnection::Create(context_, std::move(connection), peer));
}

void DataServer::AwaitClosed(std::chrono::milliseconds grace) const {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (poller_->size() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kClosedPoll);
  }
}

}  // namespace acceld
