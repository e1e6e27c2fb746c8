// Every message, field, enum, value, service and method of acceld.v1 says what it is.
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::ServiceDescriptorProto;

// What is looked for in one file.
class Documentation {
 public:
  explicit Documentation(const FileDescriptorProto& file) : file_(file) {
    for (const auto& location : file.source_code_info().location()) {
      comments_[{location.path().begin(), location.path().end()}] = location.leading_comments();
    }
    for (int i = 0; i < file.message_type_size(); ++i) {
      Visit(file.message_type(i), {FileDescriptorProto::kMessageTypeFieldNumber, i}, "");
    }
    for (int i = 0; i < file.enum_type_size(); ++i) {
      Visit(file.enum_type(i), {FileDescriptorProto::kEnumTypeFieldNumber, i}, "");
    }
    for (int i = 0; i < file.service_size(); ++i) {
      Visit(file.service(i), {FileDescriptorProto::kServiceFieldNumber, i});
    }
  }

  int described() const { return described_; }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  // Where an element is in its file: field numbers and indices, as in
  // google.protobuf.SourceCodeInfo.
  using Path = std::vector<int>;

  static Path Join(Path path, int field, int index) {
    path.push_back(field);
    path.push_back(index);
    return path;
  }

  void Expect(const Path& path, const std::string& name) {
    const auto found = comments_.find(path);
    const bool described =
        found != comments_.end() && found->second.find_first_not_of(" \n") != std::string::npos;
    if (described) {
      ++described_;
    } else {
      missing_.push_back(fmt::format("{}: {}", file_.name(), name));
    }
  }

  void Visit(const DescriptorProto& message, const Path& path, const std::string& scope) {
    // protoc makes these up for map fields.
    if (message.options().map_entry()) return;
    const std::string name = scope + message.name();
    Expect(path, name);
    for (int i = 0; i < message.field_size(); ++i) {
      Expect(Join(path, DescriptorProto::kFieldFieldNumber, i),
             name + "." + message.field(i).name());
    }
    for (int i = 0; i < message.nested_type_size(); ++i) {
      Visit(message.nested_type(i), Join(path, DescriptorProto::kNestedTypeFieldNumber, i),
            name + ".");
    }
    for (int i = 0; i < message.enum_type_size(); ++i) {
      Visit(message.enum_type(i), Join(path, DescriptorProto::kEnumTypeFieldNumber, i), name + ".");
    }
  }

  void Visit(const EnumDescriptorProto& enumeration, const Path& path, const std::string& scope) {
    const std::string name = scope + enumeration.name();
    Expect(path, name);
    for (int i = 0; i < enumeration.value_size(); ++i) {
      Expect(Join(path, EnumDescriptorProto::kValueFieldNumber, i),
             name + "." + enumeration.value(i).name());
    }
  }

  void Visit(const ServiceDescriptorProto& service, const Path& path) {
    Expect(path, service.name());
    for (int i = 0; i < service.method_size(); ++i) {
      Expect(Join(path, ServiceDescriptorProto::kMethodFieldNumber, i),
             service.name() + "." + service.method(i).name());
    }
  }

  const FileDescriptorProto& file_;
  std::map<Path, std::string> comments_;
  int described_ = 0;
  std::vector<std::string> missing_;
};

FileDescriptorSet ReadProtos() {
  FileDescriptorSet files;
  const char* path = std::getenv("ACCELD_V1_DESCRIPTOR");
  if (path == nullptr) {
    ADD_FAILURE() << "ACCELD_V1_DESCRIPTOR does not name the descriptor set.";
    return files;
  }
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(files.ParseFromIstream(&stream)) << path;
  return files;
}

TEST(DocumentationTest, EverythingHasALeadingComment) {
  const FileDescriptorSet files = ReadProtos();
  ASSERT_GT(files.file_size(), 15);
  for (const FileDescriptorProto& file : files.file()) {
    const Documentation documentation(file);
    EXPECT_THAT(documentation.missing(), testing::IsEmpty());
    EXPECT_GT(documentation.described(), 0) << file.name();
  }
}

TEST(DocumentationTest, FindsWhatHasNone) {
  FileDescriptorProto file;
  file.set_name("undocumented.proto");
  auto& message = *file.add_message_type();
  message.set_name("Thing");
  message.add_field()->set_name("size");
  message.add_enum_type()->set_name("Kind");
  auto& location = *file.mutable_source_code_info()->add_location();
  location.add_path(FileDescriptorProto::kMessageTypeFieldNumber);
  location.add_path(0);
  location.set_leading_comments(" A thing.\n");

  EXPECT_THAT(
      Documentation(file).missing(),
      testing::ElementsAre("undocumented.proto: Thing.size", "undocumented.proto: Thing.Kind"));
}

TEST(PackageTest, IsTheSameInEveryFile) {
  const FileDescriptorSet files = ReadProtos();
  for (const FileDescriptorProto& file : files.file()) {
    EXPECT_EQ(file.package(), "acceld.v1") << file.name();
  }
}

}  // namespace
}  // namespace acceld
