// Slots for registers. A function of PTX names each value once, so that it has thousands of registers; a warp's slots have to
// stay in a cache.
#include "instruction.h"

#include <algorithm>
#include <cstring>

namespace gpusort::interpreter
{
namespace
{

constexpr int untouched = -1;

/// The instructions from the first that needs a register to the last.
struct lifetime
{
  int first = untouched;
  int last  = untouched;

  void extend(int at)
  {
    first = first == untouched ? at : std::min(first, at);
    last  = std::max(last, at);
  }
};

/// One bit a register for each block.
class register_sets
{
public:
  register_sets(std::size_t blocks, std::size_t registers)
      : words_((registers + 63) / 64)
      , bits_(blocks * words_)
  {}

  bool holds(std::size_t block, int r) const
  {
    return (bits_[place(block, r)] >> (r % 64) & 1) != 0;
  }
  void insert(std::size_t block, int r)
  {
    bits_[place(block, r)] |= std::uint64_t{1} << (r % 64);
  }
  std::size_t words() const
  {
    return words_;
  }
  std::uint64_t& word(std::size_t block, std::size_t w)
  {
    return bits_[block * words_ + w];
  }

private:
  std::size_t place(std::size_t block, int r) const
  {
    return block * words_ + static_cast<std::size_t>(r) / 64;
  }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

class slot_assignment
{
public:
  slot_assignment(function& f, std::vector<virtual_register> const& registers)
      : function_(f)
      , registers_(registers)
      , lifetimes_(registers.size())
      , slots_(registers.size(), no_slot)
  {}

  void run()
  {
    find_blocks();
    find_lifetimes();
    place_variables();
    place_constants();
    rewrite();
  }

private:
  static int bytes_of(virtual_register const& r)
  {
    // A mask takes as much as the smallest other register, so that all stay aligned.
    return r.width == 1 ? 64 : r.width * static_cast<int>(warp_size) / 8;
  }

  template <class Visit>
  static void each_slot(instruction& i, function& f, Visit visit)
  {
    visit(i.guard);
    visit(i.to);
    visit(i.predicate_to);
    visit(i.a);
    visit(i.b);
    visit(i.c);
    visit(i.d);
    std::for_each(i.elements.begin(), i.elements.end(), visit);
    if (i.control == flow::call)
    {
      visit(f.calls[i.target].pointer);
    }
  }

  /// First what an instruction reads, then what it writes. A guarded instruction leaves what other lanes have, as if it read it.
  template <class Read, class Write>
  void each_register(instruction const& i, Read read, Write write) const
  {
    auto const reads = [&](int r) {
      if (r >= 0 && !registers_[r].is_constant)
      {
        read(r);
      }
    };
    auto const writes = [&](int r) {
      if (r >= 0 && i.guard >= 0)
      {
        read(r);
      }
      if (r >= 0)
      {
        write(r);
      }
    };
    for (int const r :
         {i.guard, i.a, i.b, i.c, i.d, i.control == flow::call ? function_.calls[i.target].pointer : no_slot})
    {
      reads(r);
    }
    if (!i.writes_elements)
    {
      std::for_each(i.elements.begin(), i.elements.end(), reads);
    }
    writes(i.to);
    writes(i.predicate_to);
    if (i.writes_elements)
    {
      std::for_each(i.elements.begin(), i.elements.end(), writes);
    }
  }

  void find_blocks()
  {
    std::vector<instruction> const& code = function_.code;
    std::vector<bool> begins(code.size() + 1);
    begins[0] = true;
    for (std::size_t k = 0; k < code.size(); ++k)
    {
      for (int const target : targets(code[k]))
      {
        begins[target] = true;
      }
      begins[k + 1] = begins[k + 1] || may_leave(code[k]);
    }
    block_of_.resize(code.size());
    for (std::size_t k = 0; k < code.size(); ++k)
    {
      if (begins[k])
      {
        block_begin_.push_back(static_cast<int>(k));
      }
      block_of_[k] = static_cast<int>(block_begin_.size()) - 1;
    }
    block_begin_.push_back(static_cast<int>(code.size()));
  }

  static bool may_leave(instruction const& i)
  {
    return i.control == flow::branch || i.control == flow::branch_by_table || i.control == flow::leave
        || i.control == flow::exit;
  }

  std::vector<int> targets(instruction const& i) const
  {
    if (i.control == flow::branch)
    {
      return {i.target};
    }
    return i.control == flow::branch_by_table ? function_.branch_tables[i.target] : std::vector<int>{};
  }

  std::vector<int> successors(std::size_t block) const
  {
    instruction const& last = function_.code[block_begin_[block + 1] - 1];
    std::vector<int> result;
    for (int const target : targets(last))
    {
      result.push_back(block_of_[target]);
    }
    bool const goes_on = last.guard >= 0 || !may_leave(last);
    if (goes_on && block + 2 < block_begin_.size())
    {
      result.push_back(static_cast<int>(block) + 1);
    }
    return result;
  }

  /// Data flow backwards over the blocks, until nothing changes.
  void find_lifetimes()
  {
    std::size_t const blocks = block_begin_.size() - 1;
    register_sets needed(blocks, registers_.size()); // before a block, from earlier
    register_sets written(blocks, registers_.size()); // by a block
    for (std::size_t block = 0; block < blocks; ++block)
    {
      for (int k = block_begin_[block]; k < block_begin_[block + 1]; ++k)
      {
        auto const read = [&](int r) {
          lifetimes_[r].extend(k);
          if (!written.holds(block, r))
          {
            needed.insert(block, r);
          }
        };
        auto const write = [&](int r) {
          lifetimes_[r].extend(k);
          written.insert(block, r);
        };
        each_register(function_.code[k], read, write);
      }
    }

    std::vector<std::vector<int>> after(blocks);
    for (std::size_t block = 0; block < blocks; ++block)
    {
      after[block] = successors(block);
    }
    register_sets needed_after(blocks, registers_.size());
    bool changed = true;
    while (changed)
    {
      changed = false;
      for (std::size_t block = blocks; block-- > 0;)
      {
        for (std::size_t w = 0; w < needed.words(); ++w)
        {
          std::uint64_t behind = 0;
          for (int const next : after[block])
          {
            behind |= needed.word(next, w);
          }
          std::uint64_t const before = needed.word(block, w) | (behind & ~written.word(block, w));
          changed                    = changed || before != needed.word(block, w);
          needed.word(block, w)      = before;
          needed_after.word(block, w) |= behind;
        }
      }
    }

    for (std::size_t block = 0; block < blocks; ++block)
    {
      extend(needed, block, block_begin_[block]);
      extend(needed_after, block, block_begin_[block + 1] - 1);
    }
  }

  void extend(register_sets& sets, std::size_t block, int at)
  {
    for (std::size_t w = 0; w < sets.words(); ++w)
    {
      for (std::uint64_t bits = sets.word(block, w); bits != 0; bits &= bits - 1)
      {
        lifetimes_[w * 64 + static_cast<std::size_t>(__builtin_ctzll(bits))].extend(at);
      }
    }
  }

  /// Linear scan: in the order in which registers begin to be needed, each takes a slot that is free again.
  void place_variables()
  {
    std::vector<int> order;
    for (std::size_t r = 0; r < registers_.size(); ++r)
    {
      if (!registers_[r].is_constant && lifetimes_[r].first != untouched)
      {
        order.push_back(static_cast<int>(r));
      }
    }
    std::sort(order.begin(), order.end(), [&](int x, int y) { return lifetimes_[x].first < lifetimes_[y].first; });

    // Slots pass between registers of one width only: lanes that are elsewhere may still need theirs, and the bits of a lane are
    // in the same place in both.
    std::map<int, std::vector<slot>> free_slots;
    std::multimap<int, int> in_use; // registers, by the instruction that needs them last
    for (int const r : order)
    {
      while (!in_use.empty() && in_use.begin()->first < lifetimes_[r].first)
      {
        int const ended = in_use.begin()->second;
        free_slots[registers_[ended].width].push_back(slots_[ended]);
        in_use.erase(in_use.begin());
      }
      std::vector<slot>& candidates = free_slots[registers_[r].width];
      if (candidates.empty())
      {
        slots_[r] = top_;
        top_ += bytes_of(registers_[r]);
      }
      else
      {
        slots_[r] = candidates.back();
        candidates.pop_back();
      }
      in_use.insert({lifetimes_[r].last, r});
    }
  }

  void place_constants()
  {
    function_.constants_at = static_cast<std::uint32_t>(top_);
    for (std::size_t k = 0; k < registers_.size(); ++k)
    {
      virtual_register const& r = registers_[k];
      if (!r.is_constant)
      {
        continue;
      }
      slots_[k] = top_;
      top_ += bytes_of(r);
      function_.constants.resize(static_cast<std::size_t>(top_) - function_.constants_at);
      std::uint8_t* const lanes = function_.constants.data() + (slots_[k] - static_cast<slot>(function_.constants_at));
      if (r.width == 1)
      {
        std::memset(lanes, r.bits != 0 ? 0xFF : 0, sizeof(lane_mask));
      }
      else
      {
        std::size_t const bytes = static_cast<std::size_t>(r.width) / 8;
        for (unsigned lane = 0; lane < warp_size; ++lane)
        {
          std::memcpy(lanes + lane * bytes, &r.bits, bytes);
        }
      }
      if (r.special >= 0)
      {
        function_.specials.push_back({slots_[k], static_cast<special_register>(r.special)});
      }
    }
  }

  void rewrite()
  {
    for (instruction& i : function_.code)
    {
      each_slot(i, function_, [&](slot& r) {
        if (r >= 0)
        {
          r = slots_[r];
        }
      });
    }
    function_.register_bytes = static_cast<std::uint32_t>(round_up(static_cast<std::size_t>(top_), 64));
  }

  function& function_;
  std::vector<virtual_register> const& registers_;
  std::vector<lifetime> lifetimes_;
  std::vector<slot> slots_;
  std::vector<int> block_begin_; // and the end of the last
  std::vector<int> block_of_;
  slot top_ = 0;
};

} // namespace

void assign_slots(function& f, std::vector<virtual_register> const& registers)
{
  slot_assignment(f, registers).run();
}

} // namespace gpusort::interpreter
