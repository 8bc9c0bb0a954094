// The readers of examples/visibility_ordering: what they read, and what they refuse with one clear line.
#include <examples/visibility_ordering/point_cloud.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

using visibility::file_format;
using visibility::point_cloud;

template <class T>
std::string bytes_of(T value, bool big_endian = false)
{
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return big_endian ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
}

std::string raw(std::vector<float> const& coordinates)
{
  std::string bytes;
  for (float c : coordinates)
  {
    bytes += bytes_of(c);
  }
  return bytes;
}

class PointCloud : public testing::Test
{
protected:
  void SetUp() override
  {
    folder_ = std::filesystem::path(testing::TempDir())
            / ("gpusort_point_cloud_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  void TearDown() override
  {
    std::filesystem::remove_all(folder_);
  }

  std::string path(std::string const& name) const
  {
    return (folder_ / name).string();
  }

  point_cloud read(std::string const& contents, file_format format = file_format::automatic, char const* name = "cloud")
  {
    std::ofstream(path(name), std::ios::binary) << contents;
    return visibility::read_point_cloud(path(name), format);
  }

  // The message, without the name of the file that it has to begin with.
  std::string
  refusal(std::string const& contents, file_format format = file_format::automatic, char const* name = "cloud")
  {
    try
    {
      std::size_t const n = read(contents, format, name).size();
      return "read " + std::to_string(n) + " vertices";
    }
    catch (std::runtime_error const& error)
    {
      return without_name(error.what(), path(name));
    }
  }

  static std::string without_name(std::string const& message, std::string const& name)
  {
    EXPECT_EQ(message.find(name + ": "), 0u) << message;
    EXPECT_LT(message.size(), name.size() + 130) << message;
    for (char c : message)
    {
      EXPECT_TRUE(c >= ' ' && c <= '~') << "a line of plain text: " << message;
    }
    return message.substr(name.size() + 2);
  }

private:
  std::filesystem::path folder_;
};

void expect_points(point_cloud const& points, std::vector<float> const& coordinates)
{
  ASSERT_EQ(points.size() * 3, coordinates.size());
  for (std::size_t i = 0; i < points.size(); ++i)
  {
    EXPECT_EQ(points[i].x, coordinates[3 * i]) << i;
    EXPECT_EQ(points[i].y, coordinates[3 * i + 1]) << i;
    EXPECT_EQ(points[i].z, coordinates[3 * i + 2]) << i;
  }
}

#define EXPECT_REFUSED(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

// Files as such

TEST_F(PointCloud, RefusesAMissingFile)
{
  try
  {
    visibility::read_point_cloud(path("absent"));
    FAIL() << "it was read";
  }
  catch (std::runtime_error const& error)
  {
    EXPECT_EQ(without_name(error.what(), path("absent")), "No such file or directory");
  }
}

TEST_F(PointCloud, RefusesADirectory)
{
  EXPECT_THROW(visibility::read_point_cloud(testing::TempDir()), std::runtime_error);
}

TEST_F(PointCloud, RefusesAnEmptyFileInEveryFormat)
{
  for (file_format format : {file_format::automatic, file_format::raw, file_format::ascii, file_format::ply})
  {
    EXPECT_EQ(refusal("", format), "it is empty");
  }
}

TEST_F(PointCloud, RefusesGarbage)
{
  std::string garbage;
  std::uint32_t state = 1;
  for (int i = 0; i < 1200; ++i)
  {
    state = state * 1664525u + 1013904223u;
    garbage += static_cast<char>(state >> 24);
  }
  EXPECT_REFUSED(refusal(garbage), "no point cloud");
  EXPECT_REFUSED(refusal(garbage + "x"), "not a multiple of 12");
  EXPECT_REFUSED(refusal(garbage, file_format::ascii), "does not begin with three numbers");
  EXPECT_REFUSED(refusal(garbage, file_format::ply), "does not begin with the line 'ply'");
  EXPECT_REFUSED(refusal(garbage, file_format::automatic, "scan.ply"), "does not begin with the line 'ply'");
}

TEST_F(PointCloud, RefusesProseAndNetcdf)
{
  EXPECT_REFUSED(refusal("It was a dark and stormy night.\n"), "line 1 does not begin with three numbers");
  EXPECT_REFUSED(refusal(std::string("CDF\1\0\0\0\0\0\0\0\n", 12)), "--relief");
}

// Raw

TEST_F(PointCloud, ReadsRaw)
{
  std::vector<float> const coordinates = {1, -2.5f, 3e-20f, 0, -0.0f, 1e14f, 7, 8, 9};
  expect_points(read(raw(coordinates)), coordinates);
  expect_points(read(raw(coordinates), file_format::raw, "cloud.f32"), coordinates);
}

TEST_F(PointCloud, ReadsRawLargerThanTheFirstBuffer)
{
  std::vector<float> coordinates(3 * 50000);
  for (std::size_t i = 0; i < coordinates.size(); ++i)
  {
    coordinates[i] = static_cast<float>(i) / 8;
  }
  expect_points(read(raw(coordinates)), coordinates);
}

TEST_F(PointCloud, RefusesRawThatIsTruncated)
{
  std::string const whole = raw({1, 2, 3, 4, 5, 6});
  for (std::size_t size = 13; size < whole.size(); ++size)
  {
    EXPECT_REFUSED(refusal(whole.substr(0, size)), "not a multiple of 12");
  }
}

TEST_F(PointCloud, RefusesRawCoordinatesThatAreNoPositions)
{
  float const nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  EXPECT_REFUSED(refusal(raw({1, 2, 3, 4, nan, 6})), "vertex 1 has a coordinate that is not finite");
  EXPECT_REFUSED(refusal(raw({1, 2, -infinity})), "vertex 0 has a coordinate that is not finite");
  EXPECT_REFUSED(refusal(raw({1, 2, 3, 2e15f, 5, 6})), "vertex 1 has a coordinate beyond 1e15");
}

// ASCII

TEST_F(PointCloud, ReadsAscii)
{
  std::vector<float> const coordinates = {1, 2, 3, -4.5f, 5e-3f, 6, 7, 8, 9};
  expect_points(read("1 2 3\n-4.5 5e-3 +6\n7 8 9\n"), coordinates);
  expect_points(read("1 2 3\r\n-4.5 5e-3 6\r\n7 8 9"), coordinates);
  expect_points(read("1 2 3\r-4.5 5e-3 6\r7 8 9\r"), coordinates);
  expect_points(read("# x y z\n\n 1,2,3\n\t-4.5; 5E-3; 6 \n// end\n7 8 9 255 0 0\n\n"), coordinates);
  expect_points(read("3\n1 2 3\n-4.5 5e-3 6\n7 8 9\n"), coordinates);
}

TEST_F(PointCloud, ReadsAsciiNumbersTooSmallForADoubleAsZero)
{
  expect_points(read("1e-400 -1E-5000 3\n"), {0, 0, 3});
}

TEST_F(PointCloud, RefusesAsciiThatIsNoListOfPoints)
{
  EXPECT_REFUSED(refusal("1 2 3\n4 5\n"), "line 2 does not begin with three numbers: '4 5'");
  EXPECT_REFUSED(refusal("1 2 3\r\n\r\n4 5 6x\r\n"), "line 3 does not begin with three numbers: '4 5 6x'");
  EXPECT_REFUSED(refusal("1 2 3\n4\n"), "line 2 does not begin with three numbers");
  EXPECT_REFUSED(refusal("1 2 +-3\n"), "line 1 does not begin with three numbers");
  EXPECT_REFUSED(refusal("# nothing but a comment\n"), "it has no vertices");
  EXPECT_REFUSED(refusal("\n\n"), "it has no vertices");
  EXPECT_REFUSED(refusal("1 2 3\n\x01\x02\x7f 5 6\n", file_format::ascii), "line 2 does not begin");
}

TEST_F(PointCloud, RefusesAsciiWithAWrongCount)
{
  EXPECT_REFUSED(refusal("3\n1 2 3\n4 5 6\n"), "it promises 3 vertices and holds 2");
  EXPECT_REFUSED(refusal("1\n1 2 3\n4 5 6\n"), "it promises 1 vertices and holds 2");
  EXPECT_REFUSED(refusal("18446744073709551615\n1 2 3\n"), "it promises 18446744073709551615 vertices and holds 1");
  EXPECT_REFUSED(refusal("99999999999999999999999\n1 2 3\n"), "line 1 does not begin with three numbers");
  EXPECT_REFUSED(refusal("42\n"), "it promises 42 vertices and holds 0");
}

TEST_F(PointCloud, RefusesAsciiCoordinatesThatAreNoPositions)
{
  EXPECT_REFUSED(refusal("1 2 3\nnan 5 6\n"), "vertex 1 has a coordinate that is not finite");
  EXPECT_REFUSED(refusal("1 -inf 3\n"), "vertex 0 has a coordinate that is not finite");
  EXPECT_REFUSED(refusal("1 2 1e16\n"), "vertex 0 has a coordinate beyond 1e15");
  EXPECT_REFUSED(refusal("1 2 -1e999\n"), "vertex 0 has a coordinate beyond 1e15");
}

// PLY

std::string ply(std::string const& format, std::string const& lines)
{
  return "ply\nformat " + format + " 1.0\ncomment made by a test\n" + lines + "end_header\n";
}

std::string const xyz = "property float x\nproperty float y\nproperty float z\n";

std::string with_crlf(std::string text)
{
  for (std::size_t i = 0; (i = text.find('\n', i)) != std::string::npos; i += 2)
  {
    text.replace(i, 1, "\r\n");
  }
  return text;
}

TEST_F(PointCloud, ReadsAsciiPly)
{
  std::string const file =
    ply("ascii", "obj_info none\nelement vertex 2\n" + xyz + "element face 1\nproperty list uchar int vertex_indices\n")
    + "1 2 3\n-4.5 5 6e1\n3 0 1 0\n";
  expect_points(read(file), {1, 2, 3, -4.5f, 5, 60});
  expect_points(read(with_crlf(file)), {1, 2, 3, -4.5f, 5, 60});
  expect_points(read(file, file_format::ply), {1, 2, 3, -4.5f, 5, 60});
}

TEST_F(PointCloud, ReadsBinaryPlyInBothByteOrders)
{
  for (bool big : {false, true})
  {
    std::string const header = ply(big ? "binary_big_endian" : "binary_little_endian", "element vertex 2\n" + xyz);
    std::string data;
    for (float c : {1.0f, -2.0f, 3.5f, 1e-10f, 5.0f, 6.0f})
    {
      data += bytes_of(c, big);
    }
    std::vector<float> const expected = {1, -2, 3.5f, 1e-10f, 5, 6};
    expect_points(read(header + data), expected);
    expect_points(read(header + data + "\n"), expected);
    expect_points(read(with_crlf(header) + data), expected);
  }
}

TEST_F(PointCloud, ReadsBinaryDataThatBeginsLikeALineEnd)
{
  // 0x0a and 0x0d are the first bytes of the data: a reader that guesses line ends eats them.
  std::string data = bytes_of(std::uint32_t{0x3f80000a}) + bytes_of(std::uint32_t{0x3f80000d}) + bytes_of(1.0f);
  float x, y;
  std::memcpy(&x, data.data(), 4);
  std::memcpy(&y, data.data() + 4, 4);
  std::string const header = ply("binary_little_endian", "element vertex 1\n" + xyz);
  expect_points(read(header + data), {x, y, 1});
  expect_points(read(with_crlf(header) + data), {x, y, 1});
}

TEST_F(PointCloud, ReadsEveryScalarTypeInBothByteOrders)
{
  for (bool big : {false, true})
  {
    std::string const format = big ? "binary_big_endian" : "binary_little_endian";
    auto const one           = [&](char const* type, auto value, float expected) {
      std::string lines = "element vertex 1\n";
      std::string data;
      for (char axis : {'x', 'y', 'z'})
      {
        lines += std::string("property ") + type + " " + axis + "\n";
        data += bytes_of(value, big);
      }
      SCOPED_TRACE(format + " " + type);
      expect_points(read(ply(format, lines) + data), {expected, expected, expected});
    };
    one("char", std::int8_t{-100}, -100);
    one("int8", std::int8_t{-1}, -1);
    one("uchar", std::uint8_t{200}, 200);
    one("uint8", std::uint8_t{255}, 255);
    one("short", std::int16_t{-30000}, -30000);
    one("int16", std::int16_t{258}, 258);
    one("ushort", std::uint16_t{60000}, 60000);
    one("uint16", std::uint16_t{1}, 1);
    one("int", std::int32_t{-70000}, -70000);
    one("int32", std::int32_t{16777216}, 16777216);
    one("uint", std::uint32_t{3000000000u}, 3e9f);
    one("uint32", std::uint32_t{65536}, 65536);
    one("float", -1.5f, -1.5f);
    one("float32", 1e-30f, 1e-30f);
    one("double", -2.25, -2.25f);
    one("float64", 1e10, 1e10f);
  }
}

TEST_F(PointCloud, SkipsOtherPropertiesAndElements)
{
  std::string const lines =
    "element camera 2\nproperty list uchar double view\nproperty short id\n"
    "element vertex 2\nproperty uchar red\nproperty double z\nproperty list int float weights\nproperty float x\n"
    "property ushort flags\nproperty int y\n"
    "element face 1\nproperty list uint int vertex_indices\n"
    "element nothing 7\n";
  auto const vertex = [](bool big, float x, std::int32_t y, double z, std::vector<float> const& weights) {
    std::string data = bytes_of(std::uint8_t{9}) + bytes_of(z, big);
    data += bytes_of(static_cast<std::int32_t>(weights.size()), big);
    for (float w : weights)
    {
      data += bytes_of(w, big);
    }
    return data + bytes_of(x, big) + bytes_of(std::uint16_t{77}, big) + bytes_of(y, big);
  };
  for (bool big : {false, true})
  {
    std::string const cameras = bytes_of(std::uint8_t{0}) + bytes_of(std::int16_t{1}, big) + bytes_of(std::uint8_t{1})
                              + bytes_of(2.0, big) + bytes_of(std::int16_t{2}, big);
    std::string const faces = bytes_of(std::uint32_t{1}, big) + bytes_of(std::int32_t{5}, big);
    std::string const file  = ply(big ? "binary_big_endian" : "binary_little_endian", lines) + cameras
                           + vertex(big, 1, 2, 3, {}) + vertex(big, 4, -5, 6, {0.1f, 0.2f}) + faces;
    expect_points(read(file), {1, 2, 3, 4, -5, 6});
    // Every way of cutting it short is noticed, also behind the vertices.
    for (std::size_t missing = 1; missing < 60; ++missing)
    {
      EXPECT_REFUSED(refusal(file.substr(0, file.size() - missing)), "it is truncated");
    }
  }
  std::string const text = ply("ascii", lines) + "0 1\n1 2.0 2\n9 3 0 1 77 2\n9 6 2 .1 .2 4 77 -5\n1 5\n";
  expect_points(read(text), {1, 2, 3, 4, -5, 6});
}

TEST_F(PointCloud, RefusesPlyThatIsTruncated)
{
  std::string const ascii = ply("ascii", "element vertex 3\n" + xyz) + "1 2 3\n4 5 6\n7 8";
  EXPECT_REFUSED(refusal(ascii), "it is truncated");
  std::string const binary = ply("binary_little_endian", "element vertex 2\n" + xyz) + raw({1, 2, 3, 4, 5});
  EXPECT_REFUSED(refusal(binary), "it is truncated");
  std::string const header = ply("ascii", "element vertex 3\n" + xyz);
  for (std::size_t size = 4; size < header.size() - 1; ++size)
  {
    std::string const message = refusal(header.substr(0, size), file_format::ply);
    EXPECT_REFUSED(message, "its PLY header has no end");
  }
  EXPECT_REFUSED(refusal("ply", file_format::ply), "does not begin with the line 'ply'");
}

TEST_F(PointCloud, RefusesPlyWithAWrongCount)
{
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex 1\n" + xyz) + "1 2 3\n4 5 6\n"), "it goes on after the elements");
  std::string const binary = ply("binary_little_endian", "element vertex 1\n" + xyz) + raw({1, 2, 3, 4, 5, 6});
  EXPECT_REFUSED(refusal(binary), "it goes on after the elements");
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex -1\n" + xyz) + "1 2 3\n"), "a line without a count");
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex\n" + xyz) + "1 2 3\n"), "a line without a count");
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex 2.5\n" + xyz) + "1 2 3\n"), "a line without a count");
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex 0\n" + xyz)), "it has no vertices");
}

TEST_F(PointCloud, RefusesHugeCountsWithoutTakingTheMemory)
{
  for (char const* count : {"4000000000", "1000000000000000", "18446744073709551615"})
  {
    std::string const vertices = std::string("element vertex ") + count + "\n" + xyz;
    EXPECT_REFUSED(refusal(ply("ascii", vertices) + "1 2 3\n"), "it is truncated");
    EXPECT_REFUSED(refusal(ply("binary_little_endian", vertices) + raw({1, 2, 3})), "it is truncated");
    std::string const faces =
      "element vertex 1\n" + xyz + "element face " + count + "\nproperty list uchar int vertex_indices\n";
    EXPECT_REFUSED(refusal(ply("binary_big_endian", faces) + std::string(13, '\0')), "it is truncated");
  }
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex 99999999999999999999\n" + xyz)), "a line without a count");
  std::string const list = "element list 1\nproperty list uint double values\nelement vertex 1\n" + xyz;
  std::string const data = bytes_of(std::uint32_t{0xffffffff}) + raw({1, 2, 3});
  EXPECT_REFUSED(refusal(ply("binary_little_endian", list) + data), "it is truncated");
  EXPECT_REFUSED(refusal(ply("ascii", list) + "4294967295 1 2 3\n"), "it is truncated");
}

TEST_F(PointCloud, RefusesPlyListsOfImpossibleLength)
{
  std::string const lines = "element vertex 1\nproperty list char int l\n" + xyz;
  std::string const data  = bytes_of(std::int8_t{-1}) + raw({1, 2, 3});
  EXPECT_REFUSED(refusal(ply("binary_little_endian", lines) + data), "impossible length");
  EXPECT_REFUSED(refusal(ply("ascii", lines) + "-1 1 2 3\n"), "impossible length");
  EXPECT_REFUSED(refusal(ply("ascii", lines) + "0.5 1 2 3\n"), "impossible length");
  EXPECT_REFUSED(refusal(ply("ascii", lines) + "nan 1 2 3\n"), "impossible length");
}

TEST_F(PointCloud, RefusesPlyHeadersThatMakeNoSense)
{
  std::string const data = "1 2 3\n";
  EXPECT_REFUSED(refusal("ply\nelement vertex 1\n" + xyz + "end_header\n" + data), "names no format");
  EXPECT_REFUSED(refusal(ply("binary_middle_endian", "element vertex 1\n" + xyz) + data), "format is unknown");
  EXPECT_REFUSED(refusal(ply("ascii", xyz + "element vertex 1\n") + data), "property before the first element");
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex 1\nproperty float x\nproperty float y\n") + "1 2\n"),
                 "its vertices have no property z");
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex 1\nproperty list uchar float x\n") + "1 2\n"),
                 "its vertices have no property x");
  EXPECT_REFUSED(refusal(ply("ascii", "element face 1\n" + xyz) + data), "its header has no vertices");
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex 1\n" + xyz + "element vertex 1\n" + xyz) + data + data),
                 "two elements named vertex");
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex 1\nproperty quad x\n") + data), "unknown type 'quad'");
  EXPECT_REFUSED(refusal(ply("ascii", "element vertex 1\nproperty list float int l\n" + xyz) + data),
                 "counts a list in floating point");
  EXPECT_REFUSED(refusal(ply("ascii", "elements vertex 1\n" + xyz) + data), "unknown line");
}

TEST_F(PointCloud, RefusesPlyDataThatIsNoNumberOrNoPosition)
{
  std::string const header = ply("ascii", "element vertex 2\n" + xyz);
  EXPECT_REFUSED(refusal(header + "1 2 3\n4 five 6\n"), "its data has 'five' where a number should be");
  EXPECT_REFUSED(refusal(header + "1 2 3\n4 nan 6\n"), "vertex 1 has a coordinate that is not finite");
  EXPECT_REFUSED(refusal(header + "1 2 3\n4 1e300 6\n"), "vertex 1 has a coordinate beyond 1e15");
  std::string const binary = ply("binary_little_endian", "element vertex 1\n" + xyz);
  EXPECT_REFUSED(refusal(binary + raw({1, std::numeric_limits<float>::quiet_NaN(), 3})),
                 "vertex 0 has a coordinate that is not finite");
}

} // namespace
