// The exceptions of CUDA's samples: a standard exception whose message begins with its place in the source.
#pragma once
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

template <class Base> class Exception : public Base {
 public:
  static void throw_it(const char *file, const int line, const char *detailed = "-") {
    std::ostringstream text;
    text << "Exception in file '" << file << "' in line " << line << "\nDetailed description: " << detailed << "\n";
    throw Exception(text.str());
  }
  static void throw_it(const char *file, const int line, const std::string &detailed) {
    throw_it(file, line, detailed.c_str());
  }
  virtual ~Exception() noexcept {}

 private:
  explicit Exception(const std::string &text) : Base(text) {}
};

template <class Thrown> inline void handleException(const Thrown &thrown) {
  std::cerr << thrown.what() << std::endl;
  std::exit(EXIT_FAILURE);
}

#define RUNTIME_EXCEPTION(message) Exception<std::runtime_error>::throw_it(__FILE__, __LINE__, message)
#define LOGIC_EXCEPTION(message) Exception<std::logic_error>::throw_it(__FILE__, __LINE__, message)
#define RANGE_EXCEPTION(message) Exception<std::range_error>::throw_it(__FILE__, __LINE__, message)
