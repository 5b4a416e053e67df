// Where a capture goes: a folder with events.PID.jsonl, one JSON object a line, spv/HASH.spv and blobs/HASH.
#pragma once
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

enum class Contents { none, before, both };

class Recorder {
public:
  Contents contents() {
    open();
    return contents_;
  }

  void write(const std::string &line) {
    open();
    fputs(line.c_str(), events_);
    fputc('\n', events_);
  }

  void flush() {
    if (events_)
      fflush(events_);
  }

  // Keeps bytes under the name of their hash, once; returns the name.
  std::string store(const char *subfolder, const void *bytes, size_t size, const char *extension) {
    open();
    std::string name = hash(bytes, size);
    auto path = folder_ / subfolder / (name + extension);
    if (!std::filesystem::exists(path) && stored_ + size <= most_bytes_) {
      if (FILE *file = fopen(path.c_str(), "wb")) {
        fwrite(bytes, 1, size, file);
        fclose(file);
        stored_ += size;
      }
    }
    return name;
  }

private:
  static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value ? value : otherwise;
  }

  void open() {
    if (events_)
      return;
    folder_ = setting("CAPTURE_FOLDER", "capture");
    std::string what = setting("CAPTURE_CONTENTS", "before");
    contents_ = what == "none" ? Contents::none : what == "both" ? Contents::both : Contents::before;
    most_bytes_ = strtoull(setting("CAPTURE_MOST_BYTES", "2147483648"), nullptr, 0);
    std::error_code ignored;
    std::filesystem::create_directories(folder_ / "spv", ignored);
    std::filesystem::create_directories(folder_ / "blobs", ignored);
    auto path = folder_ / ("events." + std::to_string(getpid()) + ".jsonl");
    events_ = fopen(path.c_str(), "w");
    if (!events_) {
      perror(path.c_str());
      events_ = stderr;
    }
  }

  static std::string hash(const void *bytes, size_t size) {
    uint64_t h = 0x9e3779b97f4a7c15ull ^ size;
    const unsigned char *at = static_cast<const unsigned char *>(bytes);
    for (; size >= 8; size -= 8, at += 8) {
      uint64_t word;
      memcpy(&word, at, 8);
      h = (h ^ word) * 0xff51afd7ed558ccdull;
      h ^= h >> 32;
    }
    uint64_t word = 0;
    memcpy(&word, at, size);
    h = (h ^ word) * 0xc4ceb9fe1a85ec53ull;
    h ^= h >> 29;
    char name[17];
    snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(h));
    return name;
  }

  std::filesystem::path folder_;
  FILE *events_ = nullptr;
  Contents contents_ = Contents::before;
  uint64_t most_bytes_ = 0, stored_ = 0;
};

// Small numbers for handles. A handle that the driver gives out again gets a new number.
class Names {
public:
  template <class Handle>
  uint64_t of(char kind, Handle handle) {
    uint64_t &number = numbers_[{kind, reinterpret_cast<uint64_t>(handle)}];
    return number ? number : number = next_++;
  }

  template <class Handle>
  uint64_t renew(char kind, Handle handle) {
    return numbers_[{kind, reinterpret_cast<uint64_t>(handle)}] = next_++;
  }

private:
  std::map<std::pair<char, uint64_t>, uint64_t> numbers_;
  uint64_t next_ = 1;
};

// One JSON object, built member by member. Strings are written as they are: names of pipelines and entry points.
class Json {
public:
  explicit Json(const char *event) { text("e", event); }
  Json() = default;

  Json &number(const char *name, uint64_t value) { return raw(name, std::to_string(value)); }

  Json &text(const char *name, const std::string &value) {
    std::string escaped;
    for (char c : value) {
      if (c == '"' || c == '\\')
        escaped += '\\';
      if (static_cast<unsigned char>(c) >= ' ')
        escaped += c;
    }
    return raw(name, '"' + escaped + '"');
  }

  Json &hex(const char *name, const void *bytes, size_t size) {
    static const char *digits = "0123456789abcdef";
    std::string value;
    for (const unsigned char *at = static_cast<const unsigned char *>(bytes); size--; at++) {
      value += digits[*at >> 4];
      value += digits[*at & 15];
    }
    return raw(name, '"' + value + '"');
  }

  Json &raw(const char *name, const std::string &value) {
    members_ += (members_.empty() ? "" : ",") + ('"' + std::string(name) + "\":") + value;
    return *this;
  }

  std::string object() const { return '{' + members_ + '}'; }

private:
  std::string members_;
};

// "[a,b,c]" of values that are JSON already.
template <class Range>
std::string json_array(const Range &values) {
  std::string result;
  for (const std::string &value : values)
    result += (result.empty() ? "" : ",") + value;
  return '[' + result + ']';
}
