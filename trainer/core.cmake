# SPDX-License-Identifier: Apache-2.0
# The part of the trainer that needs no LibTorch: codes of messages, collective algorithms over sockets, file
# headers. It builds in seconds, so sanitizers are cheapest here. A file belongs in these lists if nothing
# that it includes or calls needs LibTorch; all other files are compiled with LibTorch.
find_package(ZLIB REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)

set(THINPIPE_CORE_SOURCES
  base/begin_file.cc base/byte_codes.cc base/cache_folder.cc base/input_file.cc base/mapped_file.cc base/packed_codes.cc base/philox.cc
  base/random_words.cc
  collectives/sparse_block.cc
  collectives/algorithms/recursive_doubling_all_reduce.cc collectives/algorithms/ring_all_gather.cc
  collectives/algorithms/ring_all_reduce.cc collectives/algorithms/tree_all_gather.cc
  collectives/algorithms/tree_all_reduce.cc collectives/algorithms/tree_all_reduce_quantised.cc
  collectives/algorithms/tree_plan.cc collectives/algorithms/tree_sparse_all_reduce.cc
  collectives/algorithms/tree_sparse_all_reduce_replay.cc collectives/algorithms/tree_sums.cc
  collectives/transport/keyed_hash.cc collectives/transport/local_address.cc
  collectives/transport/network_interface.cc
  collectives/transport/pair_order.cc collectives/transport/pair_speed.cc collectives/transport/peer.cc
  collectives/transport/peer_hello.cc collectives/transport/peer_listener.cc collectives/transport/peer_sockets.cc
  collectives/transport/rendezvous.cc collectives/transport/sigpipe_block.cc
  datasets/cifar_format.cc datasets/epoch_permutation.cc datasets/idx_format.cc
  datasets/images/folder_scan.cc datasets/images/image_cache.cc datasets/images/image_file.cc datasets/images/jpeg.cc
  datasets/images/png.cc datasets/images/resize.cc datasets/text/token_file.cc
  exchange/communication_thread.cc
  pruning/schedule.cc
  replay/compute_emulation.cc
  synchronisers/deepreduce/bloom_choice.cc synchronisers/deepreduce/bloom_filter.cc
  synchronisers/deepreduce/deepreduce_code.cc synchronisers/deepreduce/deepreduce_index_code.cc
  synchronisers/deepreduce/exponential_fit.cc synchronisers/deepreduce/polynomial_fit.cc
  synchronisers/deepreduce/value_code.cc
  synchronisers/quantised/sign_code.cc synchronisers/quantised/ternary.cc synchronisers/quantised/thc_table.cc
  synchronisers/quantised/vote_code.cc
  synchronisers/sparse/deflate.cc synchronisers/entries/entry_code.cc synchronisers/entries/hashed_owners.cc synchronisers/sparse/huffman_indices.cc
  synchronisers/sparse/index_code.cc synchronisers/sparse/nonzero_blocks.cc synchronisers/entries/push_pull.cc
  synchronisers/sparse/run_length_indices.cc synchronisers/sparse/sampled_top_k.cc synchronisers/sparse/sparse_code.cc
  synchronisers/entries/sparse_entries.cc synchronisers/sparse/threshold_choice.cc synchronisers/sparse/top_k.cc
  synchronisers/transforms/block_rotation.cc synchronisers/transforms/sent_coefficients.cc
  synchronisers/transforms/walsh_hadamard.cc
  tensors/legacy_file.cc tensors/npy_header.cc tensors/pickle.cc tensors/pickle_bytes.cc tensors/pickle_text.cc
  tensors/safetensors_header.cc tensors/state_dict_index.cc tensors/state_dict_search.cc tensors/storage_id.cc
  tensors/weight_names.cc tensors/zip_archive.cc
  training/heartbeat.cc training/learning_rate.cc training/straggler.cc training/times_report.cc)

set(THINPIPE_CORE_TESTS
  base/tests/byte_codes_test.cc base/tests/packed_codes_test.cc base/tests/philox_test.cc
  base/tests/random_words_test.cc
  collectives/algorithms/tests/pipelined_test.cc collectives/algorithms/tests/tree_plan_test.cc
  collectives/tests/ring_formula_test.cc collectives/tests/sparse_block_test.cc
  collectives/transport/tests/keyed_hash_test.cc collectives/transport/tests/network_interface_test.cc collectives/transport/tests/pair_order_test.cc
  collectives/transport/tests/pair_speed_test.cc collectives/transport/tests/peer_listener_test.cc
  collectives/transport/tests/rendezvous_test.cc collectives/transport/tests/sigpipe_block_test.cc collectives/transport/tests/time_limits_test.cc
  datasets/tests/cifar_format_test.cc datasets/tests/epoch_permutation_test.cc datasets/tests/idx_format_test.cc
  datasets/images/tests/folder_scan_test.cc datasets/images/tests/image_cache_test.cc
  datasets/images/tests/image_file_test.cc datasets/images/tests/resize_test.cc
  exchange/tests/communication_thread_test.cc
  pruning/tests/schedule_test.cc
  synchronisers/deepreduce/tests/bloom_filter_test.cc
  synchronisers/deepreduce/tests/deepreduce_code_properties_test.cc
  synchronisers/deepreduce/tests/deepreduce_code_test.cc synchronisers/deepreduce/tests/exponential_fit_test.cc
  synchronisers/deepreduce/tests/value_code_test.cc
  synchronisers/quantised/tests/quantised_properties_test.cc synchronisers/quantised/tests/sign_code_test.cc
  synchronisers/quantised/tests/ternary_test.cc
  synchronisers/sparse/tests/bit_stream_properties_test.cc synchronisers/sparse/tests/bit_stream_test.cc
  synchronisers/sparse/tests/deflate_test.cc synchronisers/entries/tests/entry_code_test.cc
  synchronisers/entries/tests/hashed_owners_test.cc synchronisers/sparse/tests/index_code_properties_test.cc
  synchronisers/sparse/tests/index_code_test.cc synchronisers/sparse/tests/nonzero_blocks_test.cc
  synchronisers/entries/tests/push_pull_test.cc synchronisers/sparse/tests/random_block_test.cc
  synchronisers/sparse/tests/sampled_top_k_test.cc
  synchronisers/sparse/tests/sparse_code_properties_test.cc synchronisers/sparse/tests/sparse_code_test.cc
  synchronisers/entries/tests/sparse_entries_test.cc synchronisers/sparse/tests/threshold_choice_test.cc
  synchronisers/sparse/tests/top_k_properties_test.cc synchronisers/sparse/tests/top_k_test.cc
  synchronisers/tests/warm_up_test.cc
  synchronisers/transforms/tests/block_rotation_test.cc synchronisers/transforms/tests/walsh_hadamard_properties_test.cc
  synchronisers/transforms/tests/walsh_hadamard_test.cc
  tensors/tests/npy_header_test.cc tensors/tests/pickle_test.cc tensors/tests/safetensors_header_test.cc tensors/tests/state_dict_index_test.cc
  tensors/tests/weight_names_test.cc tensors/tests/zip_archive_test.cc
  training/tests/heartbeat_test.cc training/tests/learning_rate_test.cc training/tests/straggler_test.cc
  training/tests/times_report_test.cc)
list(TRANSFORM THINPIPE_CORE_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(TRANSFORM THINPIPE_CORE_TESTS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)

add_library(thinpipe_core STATIC ${THINPIPE_CORE_SOURCES})
target_precompile_headers(thinpipe_core REUSE_FROM thinpipe_headers)
thinpipe_compile_in_groups(thinpipe_core)
target_link_libraries(thinpipe_core PUBLIC thinpipe_protocol thinpipe_support thinpipe_flags Boost::headers
  PRIVATE JPEG::JPEG PNG::PNG ZLIB::ZLIB PkgConfig::XXHASH)
thinpipe_test(core_tests SOURCES ${THINPIPE_CORE_TESTS} LIBS thinpipe_core rapidcheck JPEG::JPEG PNG::PNG ZLIB::ZLIB
  WHOLE_IF_SANITISED)
