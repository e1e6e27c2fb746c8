// What a selftest found, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "backends/core/device_info.h"
#include "client/accelctl/selftest.h"

namespace acceld::accelctl {

struct SelftestReport {
  DeviceInfo device;
  // How the commands travelled, such as "grpc+unix".
  std::string transport;
  std::vector<SelftestResult> results;
};

std::string SelftestText(const SelftestReport& report);

// The object that `accelctl selftest --help` describes.
std::string SelftestJson(const SelftestReport& report);

}  // namespace acceld::accelctl
