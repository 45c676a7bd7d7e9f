// SPDX-License-Identifier: Apache-2.0
// A lossy code of a gradient whose decoded messages add up to N times the result. Error feedback (`ef`) can
// wrap it, because the error of each worker's own message is known.
#pragma once

#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

class Compressor : public Synchroniser {
 public:
  void synchronise(Bucket& bucket, Collective& network) final { exchange(bucket, network, nullptr); }

  // Like synchronise(). If `own` is not null, sets *own to this worker's decoded message, float32 [n].
  virtual void exchange(Bucket& bucket, Collective& network, torch::Tensor* own) = 0;
};

// Creates the compressor that {"name": …, options…} describes for `ef` to wrap. Throws
// InputError at `place` if the named method is not a compressor.
std::unique_ptr<Compressor> make_compressor(const Json& description, const Place& place,
                                            const SynchroniserContext& context);

}  // namespace thinpipe::trainer
