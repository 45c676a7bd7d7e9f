// Judges what a worker program reports, before anything is made of it. Pure.
#pragma once

#include "common/support/json_object.hh"

namespace thinpipe {

// What a worker reported is of a known kind, but its values cannot be.
class UnfitEvent : public Error {
 public:
  using Error::Error;
};

// Throws UnfitEvent naming the field, its value and what it must be, if a known field of a known kind of
// event has another type or is out of bounds: an accuracy of 9.5, a negative time. Fields that are absent are
// not its concern.
void check_event(const Json& event);

}  // namespace thinpipe
