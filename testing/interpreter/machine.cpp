// Who runs when. Of the lanes of a warp, those that are least far in the code run together, so that lanes that took different
// branches meet again where these end. Warps take turns; so do blocks, but one begins only when those before it have ended or wait.
#include "machine.h"

#include "device_memory.h"
#include "lanes.h"
#include "report.h"
#include "semantics.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>

namespace gpusort::interpreter
{
namespace
{

std::uint64_t executed = 0;
bool turn_ends         = false;
bool has_slept         = false; // the last turn ended by sleeping

constexpr std::uint32_t most_blocks_at_once = multiprocessors * 8;

// Jumps backwards in a turn of a warp: who spins has to let others run.
constexpr int turn_length = 20000;

// Rounds without a block that ends, after which another one begins, or those that sleep are woken: somebody may be waiting for them.
constexpr int patience = 20;

constexpr int garbage_in_shared = 0xCD;

// For functions that are called.
constexpr std::size_t stack_bytes = 32768;

constexpr std::size_t cache_line = 64;

void send(frame& f, lane_mask lanes, std::uint32_t to)
{
  each_lane(lanes, [&](unsigned l) { f.next[l] = to; });
}

lane_mask lanes_at(frame const& f, lane_mask among, std::uint32_t at)
{
  lane_mask result = 0;
  each_lane(among, [&](unsigned l) { result |= f.next[l] == at ? only(l) : 0; });
  return result;
}

bool is_called(frame const& f)
{
  return &f != &f.in->kernel;
}

// --- Starting.

std::uint32_t value_of(special_register which, warp const& w, unsigned lane)
{
  block const& b              = *w.in;
  launch_shape const& shape   = *b.shape;
  std::uint32_t const thread  = w.first_thread() + lane;
  auto const blocks           = static_cast<std::uint32_t>(b.in->blocks.size());
  lane_mask const lanes_below = only(lane) - 1;
  switch (which)
  {
    case special_register::thread_x:
      return thread % shape.block[0];
    case special_register::thread_y:
      return thread / shape.block[0] % shape.block[1];
    case special_register::thread_z:
      return thread / shape.block[0] / shape.block[1];
    case special_register::block_size_x:
      return shape.block[0];
    case special_register::block_size_y:
      return shape.block[1];
    case special_register::block_size_z:
      return shape.block[2];
    case special_register::block_x:
      return b.index[0];
    case special_register::block_y:
      return b.index[1];
    case special_register::block_z:
      return b.index[2];
    case special_register::grid_size_x:
      return shape.grid[0];
    case special_register::grid_size_y:
      return shape.grid[1];
    case special_register::grid_size_z:
      return shape.grid[2];
    case special_register::lane:
      return lane;
    case special_register::warp:
      return w.index;
    case special_register::lanes_below:
      return lanes_below;
    case special_register::lanes_up_to:
      return lanes_below | only(lane);
    case special_register::lanes_above:
      return ~(lanes_below | only(lane));
    case special_register::lanes_from:
      return ~lanes_below;
    case special_register::lane_alone:
      return only(lane);
    case special_register::rank_in_cluster:
      return b.rank;
    case special_register::cluster_size:
      return blocks;
    case special_register::cluster:
      return b.index[0] / blocks;
    case special_register::clusters:
      return shape.grid[0] / blocks;
    case special_register::multiprocessor:
      return b.index[0] % multiprocessors;
    case special_register::dynamic_shared_bytes:
      return shape.dynamic_shared_bytes;
    case special_register::shared_bytes:
      return b.shared_bytes;
    case special_register::one:
      return 1;
    default:
      return 0;
  }
}

void set_constants(std::uint8_t* registers, function const& f)
{
  std::copy(f.constants.begin(), f.constants.end(), registers + f.constants_at);
}

/// The constants are in the registers already.
void enter(frame& f, warp& w, function const& code_of, std::uint8_t* registers, lane_mask lanes_in, std::uint32_t base)
{
  f           = frame{};
  f.in        = &w;
  f.code_of   = &code_of;
  f.registers = registers;
  f.alive     = lanes_in;
  f.ready     = lanes_in;
  f.base      = base;
  for (auto const& [where, which] : code_of.specials)
  {
    std::uint32_t* const values = lanes<std::uint32_t>(f, where);
    for (unsigned lane = 0; lane < warp_size; ++lane)
    {
      values[lane] = value_of(which, w, lane);
    }
  }
}

// --- Meeting.

void note_meeting(frame& f, instruction const& i, lane_mask lanes_here)
{
  ++f.in->epoch;
  i.execute(f, i, lanes_here);
}

/// Whether all lanes that are alive are here and wait for nobody else. Their masks are in `d`.
bool is_complete(frame& f, instruction const& i, lane_mask active)
{
  if (active != f.alive)
  {
    return false;
  }
  lane_mask const* const members = lanes<lane_mask>(f, i.d);
  lane_mask common               = all_lanes;
  if (active == all_lanes)
  {
    for (unsigned lane = 0; lane < warp_size; ++lane)
    {
      common &= members[lane];
    }
  }
  else
  {
    each_lane(active, [&](unsigned l) { common &= members[l]; });
  }
  return (common & active) == active;
}

lane_mask lanes_with_mask(lane_mask const* members, lane_mask among, lane_mask expected)
{
  lane_mask result = 0;
  each_lane(among, [&](unsigned l) { result |= members[l] == expected ? only(l) : 0; });
  return result;
}

/// Lanes come to a .sync instruction. Those with the same mask pass it together, once all of the mask are there that are alive.
void come_to_warp_sync(frame& f, instruction const& i, std::uint32_t at, lane_mask arriving)
{
  lane_mask const* const members = lanes<lane_mask>(f, i.d);
  send(f, arriving, at);
  lane_mask left = arriving | lanes_at(f, f.at_warp_sync, at);
  while (left != 0)
  {
    unsigned const first     = lowest_lane(left);
    lane_mask const expected = members[first];
    lane_mask const group    = lanes_with_mask(members, left, expected);
    left &= ~group;
    if (!holds(expected, first))
    {
      finding({f, i, first}, "a lane is not in its own mask", expected);
    }
    if ((expected & f.alive & ~group) == 0)
    {
      note_meeting(f, i, group);
      send(f, group, at + 1);
      f.at_warp_sync &= ~group;
      f.ready |= group;
    }
    else
    {
      f.at_warp_sync |= group;
      f.ready &= ~group;
    }
  }
}

/// Lanes at .sync instructions need not wait for those that have left since. False if all the others are still expected.
bool wake_at_warp_sync(frame& f)
{
  lane_mask left = f.at_warp_sync;
  while (left != 0)
  {
    unsigned const first           = lowest_lane(left);
    std::uint32_t const at         = f.next[first];
    lane_mask const* const members = lanes<lane_mask>(f, f.code_of->code[at].d);
    lane_mask const group          = lanes_with_mask(members, lanes_at(f, left, at), members[first]);
    if ((members[first] & f.alive & ~group) == 0)
    {
      f.ready |= group;
      f.at_warp_sync &= ~group;
      return true;
    }
    left &= ~group;
  }
  if (f.at_warp_sync != 0 && f.at_barrier == 0 && f.at_cluster == 0)
  {
    unsigned const first = lowest_lane(f.at_warp_sync);
    fault({f, f.code_of->code[f.next[first]], first},
          "deadlock: lanes of a warp wait for each other at different instructions; their mask",
          f.at_warp_sync);
  }
  return false;
}

void come_to_barrier(frame& f, instruction const& i, std::uint32_t at, lane_mask arriving)
{
  unsigned const first    = lowest_lane(arriving);
  std::uint32_t const id  = lanes<std::uint32_t>(f, i.a)[first];
  std::uint32_t const all = i.b == no_slot ? 0 : lanes<std::uint32_t>(f, i.b)[first];
  block& b                = *f.in->in;
  if (is_called(f))
  {
    fault({f, i, first}, "the interpreter does not support barriers in functions that are called");
  }
  if (id >= b.barriers.size())
  {
    fault({f, i, first}, "there is no such barrier", id);
  }
  b.barriers[id].arrived += count(arriving);
  b.barriers[id].expected = all;
  each_lane(arriving, [&](unsigned l) { f.in->barrier[l] = static_cast<std::uint8_t>(id); });
  send(f, arriving, at);
  f.at_barrier |= arriving;
  f.ready &= ~arriving;
}

lane_mask lanes_at_barrier(warp const& w, std::uint8_t id)
{
  lane_mask result = 0;
  each_lane(w.kernel.at_barrier, [&](unsigned l) { result |= w.barrier[l] == id ? only(l) : 0; });
  return result;
}

void release_barrier(block& b, std::uint8_t id)
{
  // What the predicates of all threads are, where somebody asks.
  std::uint32_t holding = 0;
  std::uint32_t voters  = 0;
  instruction const* at = nullptr;
  for (warp& w : b.warps)
  {
    each_lane(lanes_at_barrier(w, id), [&](unsigned l) {
      instruction const& i = w.kernel.code_of->code[w.kernel.next[l]];
      if (at != nullptr && at->result != i.result)
      {
        finding({w.kernel, i, l}, "threads of a block are at different barriers", id, at->line);
      }
      at = &i;
      if (i.result != barrier_result::none)
      {
        voters += 1;
        holding += holds(mask_at(w.kernel, i.c), l) != i.source_negated ? 1 : 0;
      }
    });
  }
  for (warp& w : b.warps)
  {
    frame& f                 = w.kernel;
    lane_mask const released = lanes_at_barrier(w, id);
    each_lane(released, [&](unsigned l) {
      instruction const& i = f.code_of->code[f.next[l]];
      switch (i.result)
      {
        case barrier_result::none:
          break;
        case barrier_result::count:
          lanes<std::uint32_t>(f, i.to)[l] = holding;
          break;
        case barrier_result::any:
          assign_mask(f, i.to, holding != 0 ? all_lanes : 0, only(l));
          break;
        case barrier_result::all:
          assign_mask(f, i.to, holding == voters ? all_lanes : 0, only(l));
          break;
      }
      ++f.next[l];
    });
    f.at_barrier &= ~released;
    f.ready |= released;
    ++w.epoch;
  }
  b.barriers[id] = {};
  if (b.races)
  {
    b.races->begin_epoch();
  }
}

/// Whether there were any to release.
bool release_barriers(block& b)
{
  bool released = false;
  for (std::size_t id = 0; id < b.barriers.size(); ++id)
  {
    barrier_state const& state = b.barriers[id];
    if (state.arrived != 0 && state.arrived >= (state.expected != 0 ? state.expected : b.alive))
    {
      release_barrier(b, static_cast<std::uint8_t>(id));
      released = true;
    }
  }
  return released;
}

void end_phase_if_complete(cluster& c)
{
  if (c.arrived != 0 && c.arrived >= c.alive)
  {
    c.arrived = 0;
    ++c.phase;
    for (std::unique_ptr<block> const& b : c.blocks)
    {
      if (b->races)
      {
        b->races->begin_epoch();
      }
    }
  }
}

void arrive_at_cluster(frame& f, lane_mask arriving)
{
  cluster& c = *f.in->in->in;
  each_lane(arriving, [&](unsigned l) { f.in->cluster_phase[l] = c.phase; });
  c.arrived += count(arriving);
  end_phase_if_complete(c);
}

/// The lanes among some for which the phase in which they arrived is not over.
lane_mask still_waiting(frame const& f, lane_mask among)
{
  lane_mask waiting = 0;
  each_lane(among, [&](unsigned l) { waiting |= f.in->in->in->phase == f.in->cluster_phase[l] ? only(l) : 0; });
  return waiting;
}

void leave(frame& f, instruction const& i, lane_mask leaving)
{
  f.alive &= ~leaving;
  f.ready &= ~leaving;
  if (is_called(f))
  {
    if (i.control == flow::exit)
    {
      fault({f, i, lowest_lane(leaving)}, "the interpreter does not support exits in functions that are called");
    }
    return;
  }
  block& b = *f.in->in;
  b.alive -= count(leaving);
  b.in->alive -= count(leaving);
  end_phase_if_complete(*b.in);
}

// --- Running.

bool run(frame& f, int turns);

void call_function(frame& f, instruction const& i, call_site const& call, function& callee, lane_mask mask)
{
  warp& w                = *f.in;
  unsigned const first   = lowest_lane(mask);
  std::size_t const base = f.base + f.code_of->frame_bytes;
  decode(callee);
  if (base + callee.frame_bytes > w.local_bytes)
  {
    fault({f, i, first}, "the stack is full");
  }
  if (call.arguments.size() != callee.parameters.size() || call.results.size() > callee.results.size())
  {
    fault({f, i, first}, "a call does not fit the function");
  }
  each_lane(mask, [&](unsigned l) {
    for (std::size_t k = 0; k < call.arguments.size(); ++k)
    {
      std::memcpy(w.local_of(l) + base + callee.parameters[k],
                  w.local_of(l) + f.base + call.arguments[k],
                  callee.text.parameters[k].size);
    }
  });

  aligned_bytes registers;
  registers.resize(callee.register_bytes);
  set_constants(registers.data(), callee);
  frame called;
  enter(called, w, callee, registers.data(), mask, static_cast<std::uint32_t>(base));
  if (!run(called, std::numeric_limits<int>::max()))
  {
    fault({f, i, first}, "the interpreter does not support functions that wait for other warps");
  }

  each_lane(mask, [&](unsigned l) {
    for (std::size_t k = 0; k < call.results.size(); ++k)
    {
      std::memcpy(w.local_of(l) + f.base + call.results[k],
                  w.local_of(l) + base + callee.results[k],
                  callee.text.results[k].size);
    }
  });
}

/// Lanes may call different functions by pointers; they do so one function after another.
void call(frame& f, instruction const& i, lane_mask mask)
{
  call_site const& site = f.code_of->calls[static_cast<std::size_t>(i.target)];
  program& all          = f.code_of->in;
  if (site.pointer == no_slot)
  {
    auto const found = all.functions.find(site.callee);
    if (found != all.functions.end())
    {
      call_function(f, i, site, *found->second, mask);
      return;
    }
    library_function const known = find_library_function(site.callee);
    if (known == nullptr)
    {
      fault({f, i, lowest_lane(mask)}, "a call of a function that is not in the program");
    }
    known(f, i, site, mask);
    return;
  }
  std::uint64_t const* const pointers = lanes<std::uint64_t>(f, site.pointer);
  while (mask != 0)
  {
    unsigned const first        = lowest_lane(mask);
    std::uint64_t const pointer = pointers[first];
    lane_mask alike             = 0;
    each_lane(mask, [&](unsigned l) { alike |= pointers[l] == pointer ? only(l) : 0; });
    auto const found = all.by_address.find(pointer);
    if (found == all.by_address.end())
    {
      fault({f, i, first}, "a call of what is no function", pointer);
    }
    call_function(f, i, site, *found->second, alike);
    mask &= ~alike;
  }
}

/// Lanes at the same instruction, which run together until one of them goes elsewhere or they come to where others are.
struct group
{
  std::uint32_t at;
  lane_mask lanes;
  std::uint32_t others_at; // the least far of the others
};

group least_far(frame const& f)
{
  constexpr std::uint32_t nowhere = ~std::uint32_t{0};
  group g{nowhere, 0, nowhere};
  each_lane(f.ready, [&](unsigned l) {
    std::uint32_t const at = f.next[l];
    if (at < g.at)
    {
      g = {at, only(l), g.at};
    }
    else if (at == g.at)
    {
      g.lanes |= only(l);
    }
    else
    {
      g.others_at = std::min(g.others_at, at);
    }
  });
  return g;
}

void branch_by_table(frame& f, instruction const& i, lane_mask active)
{
  std::vector<std::int32_t> const& table = f.code_of->branch_tables[static_cast<std::size_t>(i.target)];
  std::uint32_t const* const index       = lanes<std::uint32_t>(f, i.a);
  each_lane(active, [&](unsigned l) {
    if (index[l] >= table.size())
    {
      fault({f, i, l}, "a branch beyond its table", index[l]);
    }
    f.next[l] = static_cast<std::uint32_t>(table[index[l]]);
  });
}

/// Instructions that are neither plain nor branches. Whether the group stays together; if not, all lanes know where they are.
bool control(frame& f, instruction const& i, group& g, lane_mask active)
{
  if (active == 0)
  {
    ++g.at;
    return true;
  }
  lane_mask waiting = 0;
  switch (i.control)
  {
    case flow::warp_sync:
      if (is_complete(f, i, active))
      {
        note_meeting(f, i, active);
        break;
      }
      send(f, g.lanes & ~active, g.at + 1);
      come_to_warp_sync(f, i, g.at, active);
      return false;
    case flow::barrier:
      send(f, g.lanes & ~active, g.at + 1);
      come_to_barrier(f, i, g.at, active);
      return false;
    case flow::cluster_arrive:
      arrive_at_cluster(f, active);
      break;
    case flow::cluster_wait:
      waiting = still_waiting(f, active);
      if (waiting != 0)
      {
        send(f, g.lanes & ~waiting, g.at + 1);
        send(f, waiting, g.at);
        f.at_cluster |= waiting;
        f.ready &= ~waiting;
        return false;
      }
      break;
    case flow::branch_by_table:
      send(f, g.lanes & ~active, g.at + 1);
      branch_by_table(f, i, active);
      return false;
    case flow::call:
      call(f, i, active);
      break;
    default:
      leave(f, i, active);
      g.lanes &= ~active;
      if (g.lanes == 0)
      {
        return false;
      }
  }
  ++g.at;
  return true;
}

/// Runs a warp until all lanes have left or wait, or it has jumped backwards for its number of turns. Whether all have left.
bool run(frame& f, int turns)
{
  turn_ends                     = false;
  has_slept                     = false;
  instruction const* const code = f.code_of->code.data();
  while (f.ready != 0 || (f.alive != 0 && wake_at_warp_sync(f)))
  {
    group g       = least_far(f);
    bool together = true;
    while (together)
    {
      instruction const& i = code[g.at];
      lane_mask active     = g.lanes;
      if (i.guard != no_slot)
      {
        lane_mask const guard = mask_at(f, i.guard);
        active &= i.guard_negated ? ~guard : guard;
      }
      ++executed;
      if (i.control == flow::next)
      {
        if (active != 0)
        {
          i.execute(f, i, active);
        }
        ++g.at;
      }
      else if (i.control != flow::branch)
      {
        together = control(f, i, g, active);
      }
      else if (active == 0)
      {
        ++g.at;
      }
      else
      {
        auto const target    = static_cast<std::uint32_t>(i.target);
        bool const backwards = target <= g.at;
        together             = active == g.lanes;
        if (together)
        {
          g.at = target;
        }
        else
        {
          send(f, active, target);
          send(f, g.lanes & ~active, g.at + 1);
        }
        if (backwards && (--turns <= 0 || turn_ends))
        {
          has_slept = turn_ends;
          turn_ends = false;
          if (together)
          {
            send(f, g.lanes, g.at);
          }
          return false;
        }
      }
      if (together && g.at >= g.others_at)
      {
        send(f, g.lanes, g.at);
        together = false;
      }
    }
  }
  return f.alive == 0;
}

/// A launch of a kernel.
class grid
{
public:
  grid(function& kernel, launch_shape const& shape, std::vector<std::uint8_t> const& parameters)
      : kernel_(kernel)
      , shape_(shape)
      , parameters_(parameters)
      , options_(run_options::of_environment())
      , blocks_(std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2])
      , most_clusters_(std::max<std::size_t>(1, most_blocks_at_once / shape.cluster))
      , order_((shape.threads() + warp_size - 1) / warp_size)
  {
    static std::uint64_t launches = 0;
    ++launches;
    random_.seed(options_.seed * 77777 + launches);
    std::iota(order_.begin(), order_.end(), 0);
  }

  void run()
  {
    int rounds = 0;
    begin_cluster();
    while (!running_.empty())
    {
      bool progress = false;
      for (std::unique_ptr<cluster> const& c : running_)
      {
        progress = (!c->sleeps && run_round(*c)) || progress;
      }
      bool const ended = remove_ended();
      ++rounds;
      if (ended)
      {
        rounds = 0;
        if (running_.empty())
        {
          begin_cluster();
        }
      }
      else if (!progress || rounds >= patience)
      {
        rounds = 0;
        if (!begin_cluster() && !wake_all() && !progress)
        {
          report_deadlock();
        }
      }
    }
  }

private:
  /// False if there is none left, or no room.
  bool begin_cluster()
  {
    if (next_ == blocks_ || running_.size() == most_clusters_)
    {
      return false;
    }
    auto c   = std::make_unique<cluster>();
    c->alive = shape_.threads() * shape_.cluster;
    for (std::uint32_t rank = 0; rank < shape_.cluster; ++rank)
    {
      c->blocks.push_back(take_block());
    }
    for (std::uint32_t rank = 0; rank < shape_.cluster; ++rank)
    {
      begin_block(*c->blocks[rank], *c, rank);
    }
    running_.push_back(std::move(c));
    return true;
  }

  /// Whether anybody slept.
  bool wake_all()
  {
    bool any = false;
    for (std::unique_ptr<cluster> const& c : running_)
    {
      any       = any || c->sleeps;
      c->sleeps = false;
    }
    return any;
  }

  /// A block that has ended, or a new one.
  std::unique_ptr<block> take_block()
  {
    if (!idle_.empty())
    {
      std::unique_ptr<block> b = std::move(idle_.back());
      idle_.pop_back();
      return b;
    }
    auto b          = std::make_unique<block>();
    b->shape        = &shape_;
    b->parameters   = &parameters_;
    b->memory       = &device_memory::instance();
    b->shared_bytes = kernel_.shared_bytes + shape_.dynamic_shared_bytes;
    b->shared.resize(b->shared_bytes);
    b->warps.resize(order_.size());
    for (std::size_t index = 0; index < order_.size(); ++index)
    {
      warp& w       = b->warps[index];
      w.in          = b.get();
      w.index       = static_cast<std::uint32_t>(index);
      w.local_bytes = kernel_.frame_bytes + (kernel_.calls.empty() ? 0 : stack_bytes);
      w.local.resize(w.local_bytes * warp_size);
      w.registers.resize(kernel_.register_bytes);
      set_constants(w.registers.data(), kernel_);
    }
    return b;
  }

  void begin_block(block& b, cluster& c, std::uint32_t rank)
  {
    std::uint64_t const number = next_++;
    b.in                       = &c;
    b.rank                     = rank;
    b.index[0]                 = static_cast<std::uint32_t>(number % shape_.grid[0]);
    b.index[1]                 = static_cast<std::uint32_t>(number / shape_.grid[0] % shape_.grid[1]);
    b.index[2]                 = static_cast<std::uint32_t>(number / shape_.grid[0] / shape_.grid[1]);
    b.alive                    = shape_.threads();
    b.barriers                 = {};
    std::memset(b.shared.data(), garbage_in_shared, b.shared_bytes);
    if (options_.races)
    {
      b.races.emplace(b.shared_bytes);
    }
    for (warp& w : b.warps)
    {
      std::uint32_t const threads = shape_.threads() - w.first_thread();
      lane_mask const lanes_in    = threads < warp_size ? only(threads) - 1 : all_lanes;
      enter(w.kernel, w, kernel_, w.registers.data(), lanes_in, 0);
    }
  }

  /// Lets every warp run for a turn. Whether any could. Clusters whose turns all end by sleeping are left alone as long as others can begin; with a seed, which
  /// is to bring about more orders, none is.
  bool run_round(cluster& c)
  {
    bool progress = false;
    bool awake    = false;
    for (std::unique_ptr<block> const& b : c.blocks)
    {
      if (b->alive == 0)
      {
        continue;
      }
      if (options_.seed != 0)
      {
        std::shuffle(order_.begin(), order_.end(), random_);
      }
      std::uint64_t const before = executed;
      for (std::uint32_t const index : order_)
      {
        std::uint64_t const before_turn = executed;
        run_turn(b->warps[index].kernel);
        awake = awake || (executed != before_turn && !has_slept);
      }
      bool const released = release_barriers(*b);
      progress            = progress || released || executed != before;
      awake               = awake || released;
    }
    c.sleeps = progress && !awake && options_.seed == 0;
    return progress;
  }

  void run_turn(frame& f)
  {
    if (f.at_cluster != 0)
    {
      lane_mask const waiting = still_waiting(f, f.at_cluster);
      f.ready |= f.at_cluster & ~waiting;
      f.at_cluster = waiting;
    }
    if ((f.ready | f.at_warp_sync) != 0)
    {
      interpreter::run(f, turns());
    }
  }

  int turns()
  {
    if (options_.seed == 0)
    {
      return turn_length;
    }
    // Mostly short turns, in which warps overtake each other often.
    constexpr int short_turn = 50;
    bool const is_long       = random_() % 4 == 0;
    return 1 + static_cast<int>(random_() % (is_long ? turn_length : short_turn));
  }

  /// Whether there were any.
  bool remove_ended()
  {
    auto const ended =
      std::stable_partition(running_.begin(), running_.end(), [](auto const& c) { return !c->all_left(); });
    bool const any = ended != running_.end();
    std::for_each(ended, running_.end(), [&](auto const& c) {
      std::move(c->blocks.begin(), c->blocks.end(), std::back_inserter(idle_));
    });
    running_.erase(ended, running_.end());
    return any;
  }

  [[noreturn]] void report_deadlock() const
  {
    for (std::unique_ptr<cluster> const& c : running_)
    {
      for (std::unique_ptr<block> const& b : c->blocks)
      {
        for (warp const& w : b->warps)
        {
          if (w.kernel.alive != 0)
          {
            unsigned const lane = lowest_lane(w.kernel.alive);
            fault({w.kernel, kernel_.code[w.kernel.next[lane]], lane},
                  "deadlock: nobody can go on, and this thread waits here with so many others of its block",
                  b->alive - 1);
          }
        }
      }
    }
    stop("deadlock");
  }

  function const& kernel_;
  launch_shape const& shape_;
  std::vector<std::uint8_t> const& parameters_;
  run_options options_;
  std::uint64_t blocks_;
  std::uint64_t next_ = 0; // block to begin
  std::size_t most_clusters_;
  std::vector<std::uint32_t> order_; // of warps
  std::vector<std::unique_ptr<cluster>> running_;
  std::vector<std::unique_ptr<block>> idle_;
  std::mt19937_64 random_;
};

} // namespace

run_options run_options::of_environment()
{
  auto const number = [](char const* name) {
    char const* const text = std::getenv(name);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  };
  return {number("GPUSORT_INTERPRETER_RACES") != 0,
          number("GPUSORT_INTERPRETER_SEED"),
          number("GPUSORT_INTERPRETER_TRACE") != 0};
}

void aligned_bytes::release::operator()(std::uint8_t* memory) const
{
  std::free(memory);
}

void aligned_bytes::resize(std::size_t bytes)
{
  std::size_t const rounded = round_up(std::max<std::size_t>(bytes, 1), cache_line);
  memory_.reset(static_cast<std::uint8_t*>(std::aligned_alloc(cache_line, rounded)));
  if (memory_ == nullptr)
  {
    stop("the host has no memory left");
  }
  std::memset(memory_.get(), 0, rounded);
}

std::uint64_t executed_instructions()
{
  return executed;
}

void end_turn()
{
  turn_ends = true;
}

void run_kernel(function& kernel, launch_shape const& shape, std::vector<std::uint8_t> const& parameters)
{
  decode(kernel);
  grid(kernel, shape, parameters).run();
}

} // namespace gpusort::interpreter
