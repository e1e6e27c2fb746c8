// Answers of the daemon, for people: lines with aligned columns and units.
#pragma once

#include <string>

#include "acceld/v1/compute.pb.h"

namespace acceld::accelctl {

std::string InfoText(const v1::ServerInfo& info, const std::string& endpoint);
std::string DevicesText(const v1::ServerInfo& info);
std::string SessionsText(const v1::ListSessionsResponse& response);

}  // namespace acceld::accelctl
