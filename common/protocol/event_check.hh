// Checks the events that a worker program reports, before they are used. Pure.
#pragma once

#include "common/support/json_object.hh"

namespace thinpipe {

// An event has impossible values.
class UnfitEvent : public Error {
 public:
  using Error::Error;
};

// Throws UnfitEvent naming the field, its value and the rule, if a known field has another type or is out of
// bounds, such as an accuracy of 9.5 or a negative time. Ignores absent and unknown fields.
void check_event(const Json& event);

}  // namespace thinpipe
