// A lossy code of a gradient whose decoded messages add up to N times the result: what error feedback (`ef`)
// can be put around, because what a message left out can be told.
#pragma once

#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

class Compressor : public Synchroniser {
 public:
  void synchronise(Bucket& bucket, Collective& network) final { exchange(bucket, network, nullptr); }

  // As synchronise(); *own, where it is wanted, becomes what this worker's message stands for, float32 [n].
  virtual void exchange(Bucket& bucket, Collective& network, torch::Tensor* own) = 0;
};

// {"name": …, options…} of a method that is one, for `user` to be put around; InputError at `place` where it
// is not.
std::unique_ptr<Compressor> make_compressor(const Json& description, const Place& place,
                                            const std::string& user, const SynchroniserContext& context);

}  // namespace thinpipe::trainer
