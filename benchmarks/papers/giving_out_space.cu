// How the blocks of a partition get the space that their elements go to: by reading twice, as GPU-Quicksort does (Cederman and
// Tsigas, algorithm 2), by fetch-and-add and by look-back with one read, or not at all, as our hybrid sort and quicksort do, which
// leave the elements in their tiles, in the order of their buckets, for whoever reads a bucket next.
//
// For one pivot and for 255. A partition is followed by what it is for: blocks read the buckets, tile by tile, and write them to
// the first array. With one pivot the second bucket grows from the end of the array down, so that nobody has to know how large the
// first one is; with 255, where space is given out, all keys are counted first.
#include <benchmarks/elements.cuh>
#include <benchmarks/input.cuh>
#include <benchmarks/papers/experiment.cuh>

#include <gpusort/block/bucket_rank.cuh>
#include <gpusort/block/look_back.cuh>
#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/runs.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/hybrid/guesses.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

namespace gpusort::benchmarks
{
namespace
{

enum class way
{
  read_twice,
  fetch_and_add,
  look_back,
  in_tiles
};

constexpr char const* name_of(way w)
{
  return w == way::read_twice    ? "read twice, fetch-and-add"
       : w == way::fetch_and_add ? "fetch-and-add"
       : w == way::look_back     ? "look-back"
                                 : "in tiles";
}

template <class Key>
constexpr hybrid::block_shape shape = hybrid::tile_shape_for(sizeof(Key), 0);
template <class Key>
constexpr int tile_size = shape<Key>.threads * shape<Key>.items;

/// Buckets that are ranked: a warp ranks 32 at least.
template <int Log2>
constexpr int ranked = Log2 < 5 ? 32 : 1 << Log2;

/// Device memory of a partition into 2^Log2 buckets; of the counts, a bucket's are in a row of `ranked`.
struct space
{
  unsigned long long* counts; // of each bucket
  unsigned long long* cursors; // what is given out next
  std::uint32_t* status; // look-back words
  std::uint32_t* ticket;
  std::uint16_t* starts; // of buckets in each tile
  unsigned long long* before; // of each bucket in the groups before; at first, in the group
};

template <class Key, int Log2>
struct tile_storage
{
  using counts = block::bucket_counts<ranked<Log2>, shape<Key>.threads>;

  union
  {
    counts of;
    alignas(16) char keys[sizeof(Key) * tile_size<Key>];
  };
  std::uint8_t bucket_at[tile_size<Key>];
  std::uint64_t output_of[ranked<Log2>];
  std::uint32_t totals[ranked<Log2> / 32];
  std::uint32_t number;
  hybrid::splitter_tree<Key> tree;
};

/// Grid: a block a tile. Counts the keys of every bucket.
template <class Key, int Log2>
__global__ void __launch_bounds__(shape<Key>.threads, 2)
  count_keys(Key const* keys, std::uint64_t n, hybrid::splitter_tree<Key> const* tree, space at)
{
  constexpr int threads = shape<Key>.threads, items = shape<Key>.items;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<tile_storage<Key, Log2>*>(shared_words);
  runtime::wait_for_previous_kernel();
  auto const thread         = static_cast<int>(threadIdx.x);
  std::uint64_t const begin = static_cast<std::uint64_t>(blockIdx.x) * tile_size<Key>;
  int const size            = n - begin < tile_size<Key> ? static_cast<int>(n - begin) : tile_size<Key>;
  for (int i = thread + 1; i < 1 << Log2; i += threads)
  {
    shared.tree.keys()[i] = tree->keys()[i];
  }
  shared.of.clear();
  __syncthreads();
  block::bucket_rank<ranked<Log2>, threads, items, false> rank(shared.of, size);
  by_first_field comp;
  hybrid::splitter_search<Key, by_first_field> const search{shared.tree, Log2, false, comp};
  Key held[items];
  std::uint32_t buckets[items];
  rank.load(keys + begin, held);
  search.all(held, [&](int i) { return rank.holds(i); }, buckets);
#pragma unroll
  for (int i = 0; i < items; ++i)
  {
    if (rank.holds(i))
    {
      rank.count_one(buckets[i]);
    }
  }
  __syncthreads();
  if (thread < 1 << Log2)
  {
    atomicAdd(&at.counts[thread], static_cast<unsigned long long>(rank.counted()));
  }
}

/// Grid: one block of 2^Log2 threads, or 32. Where buckets begin, by their counts.
template <int Log2>
__global__ void find_begins(space at)
{
  __shared__ block::warp_sums<std::uint64_t, ranked<Log2>> sums;
  runtime::wait_for_previous_kernel();
  bool const stands_for_one = threadIdx.x < 1 << Log2;
  std::uint64_t const own   = stands_for_one ? at.counts[threadIdx.x] : 0;
  std::uint64_t const begin = block::exclusive_sum<ranked<Log2>>(sums, own);
  if (stands_for_one)
  {
    at.cursors[threadIdx.x] = begin;
  }
}

/// Where the elements of the thread's bucket go. With one pivot, cursors count what has been given out from either end.
template <int Log2>
__device__ std::uint64_t from_either_end(std::uint64_t taken, std::uint32_t count, std::uint64_t n)
{
  return Log2 == 1 && threadIdx.x == 1 ? n - taken - count : taken;
}

template <class Key, int Log2, way Way, bool Full>
__device__ void partition_tile(
  tile_storage<Key, Log2>& shared,
  std::uint32_t number,
  Key const* keys,
  int size,
  Key* out,
  std::uint64_t n,
  space const& at)
{
  constexpr int threads = shape<Key>.threads, items = shape<Key>.items;
  constexpr bool in_order = !Full || Log2 == 1;
  using rank_of_tile      = block::bucket_rank<ranked<Log2>, threads, items, Full, in_order>;
  auto const thread       = static_cast<int>(threadIdx.x);
  by_first_field comp;
  hybrid::splitter_search<Key, by_first_field> const search{shared.tree, Log2, false, comp};
  rank_of_tile rank(shared.of, size);
  block::look_back const chain(at.status, ranked<Log2>, 0);
  bool const stands_for_one = thread < 1 << Log2;

  Key held[items];
  std::uint32_t ranks[items];
  rank.load(keys, held);
  search.all(held, [&](int i) { return rank.holds(i); }, ranks);
  if constexpr (Way == way::read_twice)
  {
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      if (rank.holds(i))
      {
        rank.count_one(ranks[i]);
      }
    }
  }
  else
  {
    rank.count([&](int i) { return ranks[i]; }, ranks);
  }
  __syncthreads();
  std::uint32_t count = 0;
  if (thread < ranked<Log2>)
  {
    count = Way == way::read_twice ? rank.counted() : rank.total();
    if constexpr (Way == way::look_back)
    {
      if (stands_for_one)
      {
        chain.publish_count(number, thread, count, number == 0);
      }
    }
  }
  std::uint32_t const start = rank.starts(shared.totals, count);
  if (thread < ranked<Log2>)
  {
    rank.spread(start);
  }
  auto const note_output = [&] {
    if (stands_for_one)
    {
      std::uint64_t taken = 0;
      if constexpr (Way == way::look_back)
      {
        taken = number == 0 ? 0 : chain.exclusive_prefix(number, 0, thread, count);
        if (Log2 == 1 && number == gridDim.x - 1)
        {
          at.counts[thread] = taken + count;
        }
        taken += Log2 == 1 ? 0 : at.cursors[thread];
      }
      else
      {
        taken = atomicAdd(&at.cursors[thread], static_cast<unsigned long long>(count));
      }
      shared.output_of[thread] = from_either_end<Log2>(taken, count, n) - start;
    }
  };
  if constexpr (Way == way::read_twice)
  {
    note_output();
    __syncthreads();
    // Read again, as the paper does: whatever is in registers is forgotten.
    asm volatile("" : "+l"(keys));
    rank.load(keys, held);
    search.all(held, [&](int i) { return rank.holds(i); }, ranks);
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      if (rank.holds(i))
      {
        std::uint32_t const place               = atomicAdd(&shared.of.of[thread / 32][ranks[i]], 1u);
        out[shared.output_of[ranks[i]] + place] = held[i];
      }
    }
    return;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < items; ++i)
  {
    if (i < rank.rows())
    {
      unsigned const bucket = ranks[i] >> rank_of_tile::rank_bits;
      std::uint32_t in_warp = ranks[i] & ((1u << rank_of_tile::rank_bits) - 1);
      ranks[i]              = shared.of.of[thread / 32][bucket] + in_warp;
      if constexpr (Way != way::in_tiles)
      {
        shared.bucket_at[ranks[i]] = static_cast<std::uint8_t>(bucket);
      }
    }
  }
  __syncthreads();
  Key* const sorted = reinterpret_cast<Key*>(shared.keys);
  rank.put(held, ranks, sorted);
  if constexpr (Way == way::in_tiles)
  {
    if (stands_for_one)
    {
      at.starts[static_cast<std::size_t>(number) << Log2 | threadIdx.x] = static_cast<std::uint16_t>(start);
      std::size_t const group                                           = number / block::tiles_of_group;
      atomicAdd(&at.before[group << Log2 | threadIdx.x], static_cast<unsigned long long>(count));
    }
    __syncthreads();
    block::move_tile<threads, items>(
      size, [&](int place) { return sorted[place]; }, out + static_cast<std::uint64_t>(number) * tile_size<Key>);
  }
  else
  {
    note_output();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      int const place = i * threads + thread;
      if (Full || place < size)
      {
        out[shared.output_of[shared.bucket_at[place]] + static_cast<std::uint64_t>(place)] = sorted[place];
      }
    }
  }
}

/// Grid: a block a tile. Moves keys to their buckets, or to where these are in their tile.
template <class Key, int Log2, way Way>
__global__ void __launch_bounds__(shape<Key>.threads, 2)
  partition_tiles(Key const* keys, Key* out, std::uint64_t n, hybrid::splitter_tree<Key> const* tree, space at)
{
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<tile_storage<Key, Log2>*>(shared_words);
  runtime::wait_for_previous_kernel();
  if (Way == way::look_back && threadIdx.x == 0)
  {
    shared.number = atomicAdd(at.ticket, 1u); // a block may wait for those that run already, and for no others
  }
  for (int i = static_cast<int>(threadIdx.x) + 1; i < 1 << Log2; i += shape<Key>.threads)
  {
    shared.tree.keys()[i] = tree->keys()[i];
  }
  shared.of.clear();
  __syncthreads();
  std::uint32_t const number = Way == way::look_back ? shared.number : blockIdx.x;
  std::uint64_t const begin  = static_cast<std::uint64_t>(number) * tile_size<Key>;
  if (n - begin >= tile_size<Key>)
  {
    partition_tile<Key, Log2, Way, true>(shared, number, keys + begin, tile_size<Key>, out, n, at);
  }
  else
  {
    partition_tile<Key, Log2, Way, false>(shared, number, keys + begin, static_cast<int>(n - begin), out, n, at);
  }
}

/// Grid: 2^Log2 blocks of 256 threads. Turns what groups of tiles have of a bucket into what those before them have.
template <int Log2>
__global__ void __launch_bounds__(256) add_groups(std::uint32_t groups, space at)
{
  __shared__ block::warp_sums<std::uint64_t, 256> sums;
  __shared__ std::uint64_t carried;
  runtime::wait_for_previous_kernel();
  if (threadIdx.x == 0)
  {
    carried = 0;
  }
  for (std::uint32_t first = 0; first < groups; first += 256)
  {
    std::uint32_t const group = first + threadIdx.x;
    std::size_t const entry   = static_cast<std::size_t>(group) << Log2 | blockIdx.x;
    std::uint64_t const own   = group < groups ? at.before[entry] : 0;
    std::uint64_t const sum   = block::exclusive_sum<256>(sums, own);
    __syncthreads();
    std::uint64_t const before = carried + sum;
    __syncthreads();
    if (group < groups)
    {
      at.before[entry] = before;
    }
    if (threadIdx.x == 255)
    {
      carried = before + own;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0)
  {
    at.counts[blockIdx.x] = carried;
  }
}

template <class Key>
using bucket_source = block::run_source<Key, block::no_values, shape<Key>.threads, tile_size<Key>>;

template <class Key>
struct reading_storage
{
  typename bucket_source<Key>::shared_storage source;
  std::uint64_t begins[256];
  block::warp_sums<std::uint64_t, 256> sums;
};

/// Grid: as many blocks as there are tiles and buckets. Reads each bucket, a tile a block, and writes it to where it belongs:
/// what a sort of buckets does, without the sorting.
template <class Key, int Log2, way Way>
__global__ void __launch_bounds__(shape<Key>.threads, 2)
  read_buckets(Key const* keys, Key* out, std::uint64_t n, space at)
{
  constexpr int threads = shape<Key>.threads, items = shape<Key>.items;
  __shared__ reading_storage<Key> shared;
  runtime::wait_for_previous_kernel();
  auto const thread         = static_cast<int>(threadIdx.x);
  std::uint64_t const own   = thread < 1 << Log2 ? at.counts[thread] : 0;
  std::uint64_t const begin = block::exclusive_sum<256>(shared.sums, own);
  // Blocks are numbered so that a bucket's can be told from where it begins.
  bool const has_begun = thread < 1 << Log2 && begin / tile_size<Key> + static_cast<unsigned>(thread) <= blockIdx.x;
  int const bucket     = __syncthreads_count(has_begun) - 1;
  if (thread < 256)
  {
    shared.begins[thread] = begin;
  }
  __syncthreads();
  std::uint64_t const first = shared.begins[bucket];
  std::uint64_t const end   = bucket + 1 < 1 << Log2 ? shared.begins[bucket + 1] : n;
  std::uint64_t const skip  = (blockIdx.x - first / tile_size<Key> - static_cast<unsigned>(bucket)) * tile_size<Key>;
  if (first + skip >= end)
  {
    return;
  }
  std::uint64_t const left = end - first - skip;
  int const size           = left < tile_size<Key> ? static_cast<int>(left) : tile_size<Key>;
  Key held[items];
  int const first_row = thread / 32 * items;
  if constexpr (Way == way::in_tiles)
  {
    auto const count = static_cast<std::uint32_t>((n + tile_size<Key> - 1) / tile_size<Key>);
    block::segment_tiles const tiles{at.starts, at.before, 0, n, count, 1 << Log2, tile_size<Key>};
    auto const number = static_cast<unsigned>(bucket);
    bucket_source<Key> source(shared.source, tiles, number, number + 1, skip, keys, nullptr);
    source.load_keys(held, size, first_row);
  }
  else
  {
    block::load_rows(keys + first + skip, held, size, first_row);
  }
  int const row = first_row * 32 + thread % 32;
#pragma unroll
  for (int i = 0; i < items; ++i)
  {
    if (row + i * 32 < size)
    {
      out[first + skip + static_cast<std::uint64_t>(row + i * 32)] = held[i];
    }
  }
}

/// Grid: any. Adds up hashes of keys, and how many neighbours have the wrong order of buckets.
template <class Key, int Log2>
__global__ void check_buckets(Key const* keys, std::uint64_t n, unsigned long long* hash, unsigned long long* wrong)
{
  constexpr int shift        = static_cast<int>(sizeof(Key)) * 8 - Log2;
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  unsigned long long sum = 0, faults = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
  {
    sum += hash_of(keys[i]);
    faults += i + 1 < n && keys[i] >> shift > keys[i + 1] >> shift;
  }
  atomicAdd(hash, sum);
  atomicAdd(wrong, faults);
}

/// Hash and faults of n keys.
template <class Key, int Log2>
std::pair<unsigned long long, unsigned long long> inspected(Key const* keys, std::uint64_t n)
{
  device_memory const found(2 * sizeof(unsigned long long));
  check(cudaMemsetAsync(found.data(), 0, found.bytes(), stream()), "cudaMemsetAsync");
  strided const grid(n);
  auto* const words = found.as<unsigned long long>();
  check_buckets<Key, Log2><<<grid.grid, grid.block, 0, stream()>>>(keys, n, words, words + 1);
  check(cudaGetLastError(), "check_buckets");
  unsigned long long host[2] = {};
  check(cudaMemcpyAsync(host, words, sizeof host, cudaMemcpyDeviceToHost, stream()), "check_buckets");
  check(cudaStreamSynchronize(stream()), "check_buckets");
  return {host[0], host[1]};
}

/// The tree of 2^Log2 - 1 splitters that part uniform keys evenly.
template <class Key, int Log2>
hybrid::splitter_tree<Key> even_tree()
{
  hybrid::splitter_tree<Key> tree{};
  constexpr int shift = static_cast<int>(sizeof(Key)) * 8 - Log2;
  for (unsigned node = 1; node < 1u << Log2; ++node)
  {
    // What is equivalent to a splitter is not behind it.
    tree.keys()[node] = static_cast<Key>((Key{hybrid::splitter_at(node, Log2)} + 1) << shift) - 1;
  }
  return tree;
}

template <class Key, int Log2, way Way>
void measure(input<Key, no_value>& in, device_memory const& second, unsigned log2_n, experiment_options const& o)
{
  constexpr bool counts_first = Log2 > 1 && Way != way::in_tiles;
  std::uint64_t const n       = in.size();
  std::size_t const tiles     = runtime::blocks_for(n, tile_size<Key>);
  std::size_t const groups    = runtime::blocks_for(tiles, block::tiles_of_group);
  device_memory const tree_memory(sizeof(hybrid::splitter_tree<Key>));
  auto const tree = even_tree<Key, Log2>();
  copy_to_device(tree_memory.data(), &tree, sizeof tree, "splitters");

  // Everything that has to be zero lies together.
  std::size_t const counters = 2 * ranked<Log2>, befores = groups << Log2, words = tiles * ranked<Log2>;
  device_memory const zeroed((counters + befores) * sizeof(unsigned long long) + (words + 1) * sizeof(std::uint32_t));
  device_memory const starts((tiles << Log2) * sizeof(std::uint16_t));
  space at{};
  at.counts  = zeroed.as<unsigned long long>();
  at.cursors = at.counts + ranked<Log2>;
  at.before  = at.counts + counters;
  at.status  = reinterpret_cast<std::uint32_t*>(at.before + befores);
  at.ticket  = at.status + words;
  at.starts  = starts.as<std::uint16_t>();

  auto const* const nodes = tree_memory.as<hybrid::splitter_tree<Key>>();
  runtime::launch_shape const by_tiles{tiles, shape<Key>.threads, sizeof(tile_storage<Key, Log2>)};
  std::vector<double> times[3];
  for (std::size_t round = 0; round < o.repetitions + 1; ++round)
  {
    Key* const keys = in.next().keys;
    Key* const out  = second.as<Key>();
    auto const want = inspected<Key, Log2>(keys, n);
    check(cudaMemsetAsync(zeroed.data(), 0, zeroed.bytes(), stream()), "cudaMemsetAsync");
    check(cudaDeviceSynchronize(), "before what is measured");
    part_clock clock(3);
    clock.mark(0);
    if constexpr (counts_first)
    {
      runtime::launch(count_keys<Key, Log2>, by_tiles, stream(), keys, n, nodes, at);
      runtime::launch(find_begins<Log2>, {1, ranked<Log2>}, stream(), at);
    }
    clock.mark(1);
    runtime::launch(partition_tiles<Key, Log2, Way>, by_tiles, stream(), keys, out, n, nodes, at);
    if constexpr (Way == way::in_tiles)
    {
      runtime::launch(
        add_groups<Log2>, {std::size_t{1} << Log2, 256}, stream(), static_cast<std::uint32_t>(groups), at);
    }
    clock.mark(2);
    if constexpr (Log2 == 1 && (Way == way::read_twice || Way == way::fetch_and_add))
    {
      at.counts = at.cursors; // what has been given out is what there is
    }
    runtime::launch(
      read_buckets<Key, Log2, Way>, {tiles + (std::size_t{1} << Log2), shape<Key>.threads}, stream(), out, keys, n, at);
    clock.mark(3);
    auto const parts = clock.times();
    at.counts        = zeroed.as<unsigned long long>();
    auto const have  = inspected<Key, Log2>(keys, n);
    if (have.first != want.first || have.second != 0)
    {
      throw std::runtime_error(std::string(name_of(Way)) + ": WRONG RESULT");
    }
    for (std::size_t i = 0; i < 3 && round > 0; ++i)
    {
      times[i].push_back(parts[i]);
    }
  }
  double const counting = median(times[0]), moving = median(times[1]), reading = median(times[2]);
  print_row({name_of_type<Key>(),
             std::to_string(1 << Log2),
             power(log2_n),
             name_of(Way),
             counts_first ? microseconds(counting) : "-",
             microseconds(moving),
             microseconds(reading),
             microseconds((counts_first ? counting : 0) + moving + reading)});
}

template <class Key>
void measure_all(experiment_options const& o)
{
  for (unsigned const log2_n : o.log2_sizes)
  {
    std::size_t const n = std::size_t{1} << log2_n;
    input<Key, no_value> in(testing::distribution::uniform, 1, n);
    device_memory const second(n * sizeof(Key));
    measure<Key, 1, way::read_twice>(in, second, log2_n, o);
    measure<Key, 1, way::fetch_and_add>(in, second, log2_n, o);
    measure<Key, 1, way::look_back>(in, second, log2_n, o);
    measure<Key, 1, way::in_tiles>(in, second, log2_n, o);
    measure<Key, 8, way::read_twice>(in, second, log2_n, o);
    measure<Key, 8, way::fetch_and_add>(in, second, log2_n, o);
    measure<Key, 8, way::look_back>(in, second, log2_n, o);
    measure<Key, 8, way::in_tiles>(in, second, log2_n, o);
  }
}

} // namespace
} // namespace gpusort::benchmarks

int main(int argc, char** argv)
{
  using namespace gpusort::benchmarks;
  return run_experiment(
    "How the blocks of a partition get the space that their elements go to. Times in microseconds, uniform keys.",
    {22, 24, 26, 28},
    argc,
    argv,
    [](experiment_options const& o) {
      print_header({"keys", "buckets", "n", "space", "counting", "moving", "reading buckets", "all"});
      measure_all<u32>(o);
      measure_all<u64>(o);
    });
}
