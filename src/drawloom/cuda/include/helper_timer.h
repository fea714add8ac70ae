// The stop watches of CUDA's samples: milliseconds of wall time, over all runs and on average.
#pragma once
#include <chrono>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

class StopWatchInterface {
 public:
  StopWatchInterface() {}
  virtual ~StopWatchInterface() {}
  virtual void start() = 0;
  virtual void stop() = 0;
  virtual void reset() = 0;
  virtual float getTime() = 0;
  virtual float getAverageTime() = 0;
};

class StopWatchLinux : public StopWatchInterface {
 public:
  void start() override {
    begin = Clock::now();
    running = true;
  }
  void stop() override {
    if (!running) return;
    total += since();
    running = false;
    sessions++;
  }
  void reset() override {
    total = 0;
    sessions = 0;
    begin = Clock::now();
  }
  float getTime() override { return total + (running ? since() : 0); }
  float getAverageTime() override { return sessions ? total / sessions : 0; }

 private:
  using Clock = std::chrono::steady_clock;
  float since() const { return std::chrono::duration<float, std::milli>(Clock::now() - begin).count(); }
  Clock::time_point begin = Clock::now();
  float total = 0;
  bool running = false;
  int sessions = 0;
};

inline bool sdkCreateTimer(StopWatchInterface **timer) {
  *timer = new StopWatchLinux;
  return *timer != nullptr;
}
inline bool sdkDeleteTimer(StopWatchInterface **timer) {
  delete *timer;
  *timer = nullptr;
  return true;
}
inline bool sdkStartTimer(StopWatchInterface **timer) {
  if (*timer) (*timer)->start();
  return true;
}
inline bool sdkStopTimer(StopWatchInterface **timer) {
  if (*timer) (*timer)->stop();
  return true;
}
inline bool sdkResetTimer(StopWatchInterface **timer) {
  if (*timer) (*timer)->reset();
  return true;
}
inline float sdkGetAverageTimerValue(StopWatchInterface **timer) { return *timer ? (*timer)->getAverageTime() : 0; }
inline float sdkGetTimerValue(StopWatchInterface **timer) { return *timer ? (*timer)->getTime() : 0; }
