// Policies of a user's own: an overload that argument-dependent lookup finds goes before ours, as it does with Thrust.
// Nothing here needs a GPU: overloads only count that they were called.
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/retag.h>
#include <thrust/memory.h>
#include <thrust/pair.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <functional>
#include <type_traits>
#include <vector>

// The four functions, each without and with a comparator: what a policy may bring.
enum form
{
  sort_2,
  sort_3,
  stable_sort_2,
  stable_sort_3,
  sort_by_key_3,
  sort_by_key_4,
  stable_sort_by_key_3,
  stable_sort_by_key_4,
  forms
};

namespace users
{

/// A policy on the system `Base` that has an overload of its own for one form, and counts the calls that arrive there.
template <template <class> class Base, int Form>
struct policy : Base<policy<Base, Form>>
{
  int* calls;

  explicit policy(int& counter)
      : calls(&counter)
  {}
};

// clang-format off
template <template <class> class B, class I> void sort(policy<B, sort_2>& p, I, I) { ++*p.calls; }
template <template <class> class B, class I, class C> void sort(policy<B, sort_3>& p, I, I, C) { ++*p.calls; }
template <template <class> class B, class I> void stable_sort(policy<B, stable_sort_2>& p, I, I) { ++*p.calls; }
template <template <class> class B, class I, class C> void stable_sort(policy<B, stable_sort_3>& p, I, I, C) { ++*p.calls; }
template <template <class> class B, class I, class J> void sort_by_key(policy<B, sort_by_key_3>& p, I, I, J) { ++*p.calls; }
template <template <class> class B, class I, class J, class C> void sort_by_key(policy<B, sort_by_key_4>& p, I, I, J, C) { ++*p.calls; }
template <template <class> class B, class I, class J> void stable_sort_by_key(policy<B, stable_sort_by_key_3>& p, I, I, J) { ++*p.calls; }
template <template <class> class B, class I, class J, class C> void stable_sort_by_key(policy<B, stable_sort_by_key_4>& p, I, I, J, C) { ++*p.calls; }
// clang-format on

/// A tag that iterators carry, with overloads of every form.
template <template <class> class Base>
struct tag : Base<tag<Base>>
{};

inline int tag_calls = 0;

// clang-format off
template <template <class> class B, class I> void sort(tag<B>, I, I) { ++tag_calls; }
template <template <class> class B, class I, class C> void sort(tag<B>, I, I, C) { ++tag_calls; }
template <template <class> class B, class I> void stable_sort(tag<B>, I, I) { ++tag_calls; }
template <template <class> class B, class I, class C> void stable_sort(tag<B>, I, I, C) { ++tag_calls; }
template <template <class> class B, class I, class J> void sort_by_key(tag<B>, I, I, J) { ++tag_calls; }
template <template <class> class B, class I, class J, class C> void sort_by_key(tag<B>, I, I, J, C) { ++tag_calls; }
template <template <class> class B, class I, class J> void stable_sort_by_key(tag<B>, I, I, J) { ++tag_calls; }
template <template <class> class B, class I, class J, class C> void stable_sort_by_key(tag<B>, I, I, J, C) { ++tag_calls; }
// clang-format on

/// A policy that says where scratch memory comes from, in the way Thrust has had since before allocators.
struct own_memory : thrust::host_execution_policy<own_memory>
{
  int* taken;
  int* given_back;

  own_memory(int& t, int& g)
      : taken(&t)
      , given_back(&g)
  {}
};

template <class T>
thrust::pair<T*, std::ptrdiff_t> get_temporary_buffer(own_memory& policy, std::ptrdiff_t n)
{
  ++*policy.taken;
  return {static_cast<T*>(std::malloc(static_cast<std::size_t>(n) * sizeof(T))), n};
}
template <class Pointer>
void return_temporary_buffer(own_memory& policy, Pointer memory, std::ptrdiff_t)
{
  ++*policy.given_back;
  std::free(thrust::raw_pointer_cast(memory));
}

/// A policy without any overload: it only stands on another.
struct plain_host_policy : thrust::host_execution_policy<plain_host_policy>
{};

} // namespace users

namespace gpusort::testing
{
namespace
{

struct by_gpusort
{
  template <class Policy, class K, class V>
  static void call(int form, Policy& policy, K first, K last, V values)
  {
    auto const comp = thrust::greater<int>{};
    // clang-format off
    switch (form)
    {
      case sort_2: gpusort::sort(policy, first, last); break;
      case sort_3: gpusort::sort(policy, first, last, comp); break;
      case stable_sort_2: gpusort::stable_sort(policy, first, last); break;
      case stable_sort_3: gpusort::stable_sort(policy, first, last, comp); break;
      case sort_by_key_3: gpusort::sort_by_key(policy, first, last, values); break;
      case sort_by_key_4: gpusort::sort_by_key(policy, first, last, values, comp); break;
      case stable_sort_by_key_3: gpusort::stable_sort_by_key(policy, first, last, values); break;
      default: gpusort::stable_sort_by_key(policy, first, last, values, comp); break;
    }
    // clang-format on
  }
};

struct by_thrust
{
  template <class Policy, class K, class V>
  static void call(int form, Policy& policy, K first, K last, V values)
  {
    auto const comp = thrust::greater<int>{};
    // clang-format off
    switch (form)
    {
      case sort_2: thrust::sort(policy, first, last); break;
      case sort_3: thrust::sort(policy, first, last, comp); break;
      case stable_sort_2: thrust::stable_sort(policy, first, last); break;
      case stable_sort_3: thrust::stable_sort(policy, first, last, comp); break;
      case sort_by_key_3: thrust::sort_by_key(policy, first, last, values); break;
      case sort_by_key_4: thrust::sort_by_key(policy, first, last, values, comp); break;
      case stable_sort_by_key_3: thrust::stable_sort_by_key(policy, first, last, values); break;
      default: thrust::stable_sort_by_key(policy, first, last, values, comp); break;
    }
    // clang-format on
  }
};

struct outcome
{
  int calls; // of the user's overload
  std::vector<int> keys, values;
};

/// Calls a form on a small range under a policy that has its own overload of `Own`.
template <class Library, template <class> class Base, int Own>
outcome run(int form)
{
  outcome o{0, {5, 2, 9, 2, 7, 5, 1}, {0, 1, 2, 3, 4, 5, 6}};
  users::policy<Base, Own> policy(o.calls);
  Library::call(form, policy, o.keys.data(), o.keys.data() + o.keys.size(), o.values.data());
  return o;
}

/// Whatever is called, and whichever one form the user has: what happens is what happens under Thrust.
template <template <class> class Base, int Own>
void expect_as_under_thrust()
{
  for (int form = 0; form < forms; ++form)
  {
    SCOPED_TRACE(::testing::Message() << "the user's overload is " << Own << ", the call is " << form);
    outcome const ours    = run<by_gpusort, Base, Own>(form);
    outcome const thrusts = run<by_thrust, Base, Own>(form);
    EXPECT_EQ(ours.calls, thrusts.calls);
    EXPECT_EQ(ours.keys, thrusts.keys);
    EXPECT_EQ(ours.values, thrusts.values);
    if (form == Own)
    {
      EXPECT_EQ(ours.calls, 1);
    }
  }
}

template <template <class> class Base>
void expect_every_overload_as_under_thrust()
{
  expect_as_under_thrust<Base, sort_2>();
  expect_as_under_thrust<Base, sort_3>();
  expect_as_under_thrust<Base, stable_sort_2>();
  expect_as_under_thrust<Base, stable_sort_3>();
  expect_as_under_thrust<Base, sort_by_key_3>();
  expect_as_under_thrust<Base, sort_by_key_4>();
  expect_as_under_thrust<Base, stable_sort_by_key_3>();
  expect_as_under_thrust<Base, stable_sort_by_key_4>();
}

TEST(UserPolicy, OnTheHostSystem)
{
  expect_every_overload_as_under_thrust<thrust::host_execution_policy>();
}

TEST(UserPolicy, WithoutAnOverloadSortsLikeItsSystem)
{
  std::vector<int> keys = {3, 1, 2};
  gpusort::sort(users::plain_host_policy{}, keys.begin(), keys.end());
  EXPECT_EQ(keys, (std::vector<int>{1, 2, 3}));
  gpusort::sort(gpusort::merge_sort(users::plain_host_policy{}), keys.begin(), keys.end(), thrust::greater<int>{});
  EXPECT_EQ(keys, (std::vector<int>{3, 2, 1}));
}

TEST(UserPolicy, ThatBringsItsOwnMemory)
{
  std::vector<int> const before = [] {
    std::vector<int> keys;
    for (int i = 0; i < 1000; ++i)
    {
      keys.push_back(i * 7919 % 1000);
    }
    return keys;
  }();
  std::vector<int> sorted = before;
  std::sort(sorted.begin(), sorted.end());
  int taken = 0, given_back = 0;
  users::own_memory policy(taken, given_back);

  std::vector<int> keys = before;
  gpusort::sort(policy, keys.begin(), keys.end());
  EXPECT_EQ(keys, sorted);
  EXPECT_GT(taken, 0);
  EXPECT_EQ(given_back, taken);

  int const so_far = taken;
  keys             = before;
  gpusort::stable_sort(gpusort::radix_sort(policy), keys.begin(), keys.end());
  EXPECT_EQ(keys, sorted);
  EXPECT_GT(taken, so_far);
  EXPECT_EQ(given_back, taken);
}

/// On the GPU only the call that the overload is for can be made here: the others would launch kernels.
template <template <class> class Base, int Own>
void expect_own_overload()
{
  SCOPED_TRACE(Own);
  std::vector<int> const keys = {3, 1, 2};
  int calls                   = 0;
  users::policy<Base, Own> policy(calls);
  auto k           = keys;
  auto const comp  = thrust::greater<int>{};
  int* const first = k.data();
  int* const last  = k.data() + k.size();
  if constexpr (Own == sort_2)
  {
    gpusort::sort(policy, first, last);
  }
  else if constexpr (Own == sort_3)
  {
    gpusort::sort(policy, first, last, comp);
  }
  else if constexpr (Own == stable_sort_2)
  {
    gpusort::stable_sort(policy, first, last);
  }
  else if constexpr (Own == stable_sort_3)
  {
    gpusort::stable_sort(policy, first, last, comp);
  }
  else if constexpr (Own == sort_by_key_3)
  {
    gpusort::sort_by_key(policy, first, last, first);
  }
  else if constexpr (Own == sort_by_key_4)
  {
    gpusort::sort_by_key(policy, first, last, first, comp);
  }
  else if constexpr (Own == stable_sort_by_key_3)
  {
    gpusort::stable_sort_by_key(policy, first, last, first);
  }
  else
  {
    gpusort::stable_sort_by_key(policy, first, last, first, comp);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(k, keys);
}

template <template <class> class Base>
void expect_own_overloads()
{
  expect_own_overload<Base, sort_2>();
  expect_own_overload<Base, sort_3>();
  expect_own_overload<Base, stable_sort_2>();
  expect_own_overload<Base, stable_sort_3>();
  expect_own_overload<Base, sort_by_key_3>();
  expect_own_overload<Base, sort_by_key_4>();
  expect_own_overload<Base, stable_sort_by_key_3>();
  expect_own_overload<Base, stable_sort_by_key_4>();
}

TEST(UserPolicy, OnTheDeviceSystem)
{
  expect_own_overloads<thrust::device_execution_policy>();
}

TEST(UserPolicy, OnTheCudaSystem)
{
  expect_own_overloads<thrust::cuda::execution_policy>();
}

TEST(UserPolicy, OnNoSystemAtAll)
{
  expect_own_overloads<thrust::execution_policy>();
}

// Not inlined: where GCC knows the size, it warns of accesses that only happen in longer ranges.
[[gnu::noinline]] std::vector<int> three_keys()
{
  return {3, 1, 2};
}

TEST(UserPolicy, AutomaticIsTheBarePolicyAndOtherTagsAreNot)
{
  std::vector<int> keys = three_keys();
  int calls             = 0;
  users::policy<thrust::host_execution_policy, sort_2> policy(calls);
  gpusort::sort(gpusort::automatic(policy), keys.begin(), keys.end());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(keys, (std::vector<int>{3, 1, 2}));
  gpusort::sort(gpusort::quicksort(policy), keys.begin(), keys.end());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(keys, (std::vector<int>{1, 2, 3}));
}

/// Calls every form without a policy, on iterators that carry the tag.
template <class K, class V>
int calls_that_reach_the_tag(K first, K last, V values)
{
  users::tag_calls = 0;
  auto const comp  = thrust::less<int>{};
  gpusort::sort(first, last);
  gpusort::sort(first, last, comp);
  gpusort::stable_sort(first, last);
  gpusort::stable_sort(first, last, comp);
  gpusort::sort_by_key(first, last, values);
  gpusort::sort_by_key(first, last, values, comp);
  gpusort::stable_sort_by_key(first, last, values);
  gpusort::stable_sort_by_key(first, last, values, comp);
  gpusort::sort(gpusort::automatic, first, last);
  gpusort::stable_sort_by_key(gpusort::automatic, first, last, values, comp);
  return users::tag_calls;
}

TEST(RetaggedIterators, ReachTheUsersOverloadOnTheHost)
{
  using tag = users::tag<thrust::host_execution_policy>;
  thrust::host_vector<int> const before(std::vector<int>{3, 1, 2});
  thrust::host_vector<int> keys = before, values = before;
  EXPECT_EQ(calls_that_reach_the_tag(
              thrust::retag<tag>(keys.begin()), thrust::retag<tag>(keys.end()), thrust::retag<tag>(values.begin())),
            10);
  EXPECT_EQ(keys, before);
  EXPECT_EQ(values, before);
}

TEST(RetaggedIterators, ReachTheUsersOverloadOnTheDevice)
{
  using tag                            = users::tag<thrust::device_execution_policy>;
  thrust::device_ptr<int> const nobody = thrust::device_pointer_cast(static_cast<int*>(nullptr));
  EXPECT_EQ(
    calls_that_reach_the_tag(thrust::retag<tag>(nobody), thrust::retag<tag>(nobody + 100), thrust::retag<tag>(nobody)),
    10);
}

TEST(RetaggedIterators, ATagOfOursGoesBeforeTheUsers)
{
  using tag                     = users::tag<thrust::host_execution_policy>;
  thrust::host_vector<int> keys = std::vector<int>{3, 1, 2};
  users::tag_calls              = 0;
  gpusort::sort(gpusort::merge_sort, thrust::retag<tag>(keys.begin()), thrust::retag<tag>(keys.end()));
  EXPECT_EQ(users::tag_calls, 0);
  EXPECT_EQ(keys, (thrust::host_vector<int>(std::vector<int>{1, 2, 3})));
}

// nvcc has nothing to say about iterators and comparators that are host code: its warnings would be errors here.
TEST(SystemFromIterators, HostCodeAlone)
{
  std::deque<int> keys{3, 1, 2};
  std::vector<int> values{30, 10, 20};
  std::function<bool(int, int)> const comp = std::less<int>{};
  gpusort::sort_by_key(keys.begin(), keys.end(), values.begin(), comp);
  EXPECT_EQ(keys, (std::deque<int>{1, 2, 3}));
  EXPECT_EQ(values, (std::vector<int>{10, 20, 30}));
  gpusort::sort(gpusort::quicksort(thrust::host), keys.begin(), keys.end(), [](int a, int b) { return a > b; });
  EXPECT_EQ(keys, (std::deque<int>{3, 2, 1}));
}

// Tags around policies keep the policy as it is.
TEST(TagsAroundPolicies, KeepThePolicy)
{
  using sequential = decltype(gpusort::radix_sort(thrust::seq));
  static_assert(std::is_same_v<sequential::algorithm_type, radix_sort_t>);
  static_assert(std::is_same_v<sequential::policy_type, thrust::detail::seq_t>);

  auto const stream   = reinterpret_cast<cudaStream_t>(0x1234);
  auto const streamed = thrust::cuda::par_nosync.on(stream);
  auto const tagged   = gpusort::merge_sort(streamed);
  static_assert(std::is_same_v<decltype(tagged)::policy_type, std::decay_t<decltype(streamed)>>);
  EXPECT_EQ(thrust::cuda_cub::stream(tagged.policy), stream);

  int calls = 0;
  users::policy<thrust::host_execution_policy, sort_2> policy(calls);
  auto const around = gpusort::hybrid_sort(policy);
  EXPECT_EQ(around.policy.calls, &calls);
}

} // namespace
} // namespace gpusort::testing
