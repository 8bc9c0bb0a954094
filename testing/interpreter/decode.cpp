// Statements to instructions.
#include "device_memory.h"
#include "instruction.h"
#include "report.h"
#include "semantics.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <unordered_map>

namespace gpusort::interpreter
{
namespace
{

using names = std::vector<std::string_view>;

void require(bool condition, char const* what)
{
  if (!condition)
  {
    throw not_supported(what);
  }
}

/// `@!guard opcode.modifiers.type operands`, taken apart.
struct written_instruction
{
  std::string_view guard; // empty if there is none
  bool guard_negated = false;
  std::string_view opcode;
  names modifiers; // the type among them
  names operands;
  type of = type::none;

  explicit written_instruction(std::string_view text)
  {
    if (text.front() == '@')
    {
      guard_negated           = text.substr(1, 1) == "!";
      std::size_t const begin = guard_negated ? 2 : 1;
      std::size_t end         = begin;
      while (end < text.size() && is_name_character(text[end]))
      {
        ++end;
      }
      guard = text.substr(begin, end - begin);
      text  = trimmed(text.substr(end));
    }
    std::size_t end = 0;
    while (end < text.size() && (is_name_character(text[end]) || text[end] == '.' || text[end] == ':'))
    {
      ++end;
    }
    modifiers = split(text.substr(0, end), '.');
    operands  = split(text.substr(end), ',');
    require(!modifiers.empty(), "nothing");
    opcode = modifiers.front();
    modifiers.erase(modifiers.begin());
    of = modifiers.empty() ? type::none : parse_type(modifiers.back());
  }

  bool has(std::string_view modifier) const
  {
    return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
  }
  /// By the first modifier that `find` knows, wherever it stands: old code has `vote.ballot.sync`, new code the reverse.
  template <class Find>
  handler handler_by_modifier(Find find) const
  {
    for (std::string_view const modifier : modifiers)
    {
      if (handler const found = find(modifier))
      {
        return found;
      }
    }
    return nullptr;
  }
  std::string_view operand(std::size_t k) const
  {
    require(k < operands.size(), "an operand is missing");
    return operands[k];
  }
};

/// `name+8` or `name+-8`.
struct symbol_and_offset
{
  std::string_view symbol;
  std::int64_t offset = 0;

  explicit symbol_and_offset(std::string_view text)
      : symbol(text)
  {
    std::size_t const plus = text.find('+');
    if (plus != std::string_view::npos)
    {
      std::uint64_t bits = 0;
      require(parse_number(trimmed(text.substr(plus + 1)), 64, bits), "an offset that is no number");
      offset = static_cast<std::int64_t>(bits);
      symbol = trimmed(text.substr(0, plus));
    }
  }
};

std::optional<special_register> find_special(std::string_view name)
{
  static std::unordered_map<std::string_view, special_register> const all = {
    {"%tid.x", special_register::thread_x},
    {"%tid.y", special_register::thread_y},
    {"%tid.z", special_register::thread_z},
    {"%ntid.x", special_register::block_size_x},
    {"%ntid.y", special_register::block_size_y},
    {"%ntid.z", special_register::block_size_z},
    {"%ctaid.x", special_register::block_x},
    {"%ctaid.y", special_register::block_y},
    {"%ctaid.z", special_register::block_z},
    {"%nctaid.x", special_register::grid_size_x},
    {"%nctaid.y", special_register::grid_size_y},
    {"%nctaid.z", special_register::grid_size_z},
    {"%laneid", special_register::lane},
    {"%warpid", special_register::warp},
    {"%lanemask_lt", special_register::lanes_below},
    {"%lanemask_le", special_register::lanes_up_to},
    {"%lanemask_gt", special_register::lanes_above},
    {"%lanemask_ge", special_register::lanes_from},
    {"%lanemask_eq", special_register::lane_alone},
    {"%cluster_ctarank", special_register::rank_in_cluster},
    {"%cluster_ctaid.x", special_register::rank_in_cluster},
    {"%cluster_ctaid.y", special_register::zero},
    {"%cluster_ctaid.z", special_register::zero},
    {"%cluster_nctarank", special_register::cluster_size},
    {"%cluster_nctaid.x", special_register::cluster_size},
    {"%cluster_nctaid.y", special_register::one},
    {"%cluster_nctaid.z", special_register::one},
    {"%clusterid.x", special_register::cluster},
    {"%nclusterid.x", special_register::clusters},
    {"%smid", special_register::multiprocessor},
    {"%dynamic_smem_size", special_register::dynamic_shared_bytes},
    {"%total_smem_size", special_register::shared_bytes},
  };
  auto const found = all.find(name);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

class decoder
{
public:
  explicit decoder(function& f)
      : f_(f)
  {}

  void run()
  {
    body whole{f_.text};
    body_ = &whole;
    open_scope();
    place_parameters();
    read_body();
    instruction end; // who comes to the end of the text leaves
    end.control = flow::leave;
    add(end, "the end of the function");
    place_after_shared();
    assign_slots(f_, registers_);
    f_.decoded = true;
  }

private:
  struct register_range // %r0, %r1 ...
  {
    int first;
    int count;
  };

  struct scope
  {
    std::map<std::string_view, int> registers;
    std::map<std::string_view, register_range> ranges; // by the name without number
    std::map<std::string_view, std::uint32_t> variables; // offsets in the frame
  };

  /// A body that is being read: the function's, or that of one that it calls, whose code takes the place of the call. So barriers may
  /// stand in functions.
  struct body
  {
    explicit body(function_text const& of, body const* called_by = nullptr)
        : text(of)
        , caller(called_by)
    {}

    function_text const& text;
    body const* caller;
    std::vector<scope> scopes;
    std::string_view label; // the last
    std::map<std::string_view, std::int32_t> labels;
    std::map<std::string_view, names> tables;
    std::vector<std::pair<std::size_t, std::string_view>> branches; // instructions and the labels they jump to
    std::vector<std::pair<std::size_t, std::string_view>> table_branches;
  };

  static constexpr std::string_view end_of_body = "the end of the body"; // a label

  // --- Names.

  void open_scope()
  {
    body_->scopes.emplace_back();
  }

  /// Variables of frames are aligned to 16 bytes, and so is each frame.
  std::uint32_t place_in_frame(std::size_t bytes)
  {
    std::uint32_t const offset = f_.frame_bytes;
    f_.frame_bytes             = static_cast<std::uint32_t>(round_up(offset + bytes, 16));
    return offset;
  }

  void place_parameters()
  {
    if (f_.text.is_kernel)
    {
      return; // which are in the memory of the launch
    }
    auto const place = [&](std::vector<parameter> const& all, std::vector<std::uint32_t>& offsets) {
      for (parameter const& p : all)
      {
        offsets.push_back(place_in_frame(p.size));
        body_->scopes.back().variables[p.name] = offsets.back();
      }
    };
    place(f_.text.results, f_.results);
    place(f_.text.parameters, f_.parameters);
  }

  int new_register(virtual_register const& r)
  {
    registers_.push_back(r);
    return static_cast<int>(registers_.size()) - 1;
  }

  /// ` .b32 %r<10>, %other`
  void declare_registers(std::string_view text)
  {
    std::size_t const name_at   = text.find_first_of(" \t", text.find('.'));
    std::string_view const kind = trimmed(text.substr(0, name_at)).substr(1);
    virtual_register r;
    r.width = kind == "pred" ? 1 : std::max(16, static_cast<int>(size_of_type(kind)) * 8);
    for (std::string_view const name : split(text.substr(name_at), ','))
    {
      std::size_t const bracket = name.find('<');
      if (bracket == std::string_view::npos)
      {
        body_->scopes.back().registers[name] = new_register(r);
        continue;
      }
      int count = 0;
      std::from_chars(name.data() + bracket + 1, name.data() + name.size(), count);
      body_->scopes.back().ranges[name.substr(0, bracket)] = {static_cast<int>(registers_.size()), count};
      registers_.resize(registers_.size() + static_cast<std::size_t>(count), r);
    }
  }

  /// Its number, or no_slot.
  int find_register(std::string_view name) const
  {
    std::size_t const digits    = name.find_last_not_of("0123456789") + 1;
    std::string_view const base = name.substr(0, digits);
    int number                  = -1;
    std::from_chars(name.data() + digits, name.data() + name.size(), number);
    for (auto s = body_->scopes.rbegin(); s != body_->scopes.rend(); ++s)
    {
      auto const alone = s->registers.find(name);
      if (alone != s->registers.end())
      {
        return alone->second;
      }
      auto const range = s->ranges.find(base);
      if (range != s->ranges.end() && number >= 0 && number < range->second.count)
      {
        return range->second.first + number;
      }
    }
    return no_slot;
  }

  std::optional<std::uint32_t> find_in_frame(std::string_view name) const
  {
    for (auto s = body_->scopes.rbegin(); s != body_->scopes.rend(); ++s)
    {
      auto const found = s->variables.find(name);
      if (found != s->variables.end())
      {
        return found->second;
      }
    }
    return std::nullopt;
  }

  std::optional<std::size_t> find_kernel_parameter(std::string_view name) const
  {
    auto const& all  = f_.text.parameters;
    auto const found = std::find_if(all.begin(), all.end(), [&](parameter const& p) { return p.name == name; });
    return !f_.text.is_kernel || found == all.end() ? std::nullopt : std::optional(found->offset);
  }

  void place_in_shared(declaration const& variable)
  {
    std::size_t const offset = round_up(f_.shared_bytes, variable.alignment);
    shared_[variable.name]   = offset;
    f_.shared_bytes          = static_cast<std::uint32_t>(offset + variable.size);
  }

  /// What the name of a variable or function stands for. Shared memory without a size begins where the rest ends, which is known in
  /// the end: `after_shared` says so.
  struct symbol_value
  {
    std::uint64_t address;
    bool after_shared = false;
  };

  std::optional<symbol_value> find_symbol(std::string_view name)
  {
    auto const& shared = f_.in.ptx.shared_variables;
    auto const of_module =
      std::find_if(shared.begin(), shared.end(), [&](declaration const& d) { return d.name == name; });
    if (of_module != shared.end() && of_module->size == declaration::unsized)
    {
      return symbol_value{0, true};
    }
    if (of_module != shared.end() && shared_.count(name) == 0)
    {
      place_in_shared(*of_module);
    }
    auto const own = shared_.find(name);
    if (own != shared_.end())
    {
      return symbol_value{own->second};
    }
    auto const variable = f_.in.variables.find(name);
    if (variable != f_.in.variables.end())
    {
      return symbol_value{reinterpret_cast<std::uint64_t>(variable->second)};
    }
    auto const function = f_.in.functions.find(name);
    if (function != f_.in.functions.end())
    {
      return symbol_value{reinterpret_cast<std::uint64_t>(function->second.get())};
    }
    return std::nullopt;
  }

  // --- Operands.

  int constant(int width, std::uint64_t bits)
  {
    bits                       = width == 1 ? bits != 0 : width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
    auto const [found, is_new] = constants_.try_emplace({width, bits}, 0);
    if (is_new)
    {
      virtual_register r;
      r.width       = width;
      r.is_constant = true;
      r.bits        = bits;
      found->second = new_register(r);
    }
    return found->second;
  }

  int special(special_register which)
  {
    auto const [found, is_new] = specials_.try_emplace(which, 0);
    if (is_new)
    {
      virtual_register r;
      r.is_constant = true;
      r.special     = static_cast<int>(which);
      found->second = new_register(r);
    }
    return found->second;
  }

  int width_of(int r) const
  {
    return registers_[static_cast<std::size_t>(r)].width;
  }

  int destination(std::string_view text, int width) const
  {
    if (text == "_")
    {
      return no_slot;
    }
    int const r = find_register(text);
    require(r != no_slot, "a destination that is no register");
    require(width_of(r) == width, "a destination of another width");
    return r;
  }

  int source(std::string_view text, int width)
  {
    int const r = find_register(text);
    if (r != no_slot)
    {
      require(width_of(r) == width, "a source of another width");
      return r;
    }
    std::uint64_t bits = 0;
    if (parse_number(text, width, bits))
    {
      return constant(width, bits);
    }
    if (auto const which = find_special(text))
    {
      require(width == 32, "a special register of another width");
      return special(*which);
    }
    if (text == "WARP_SZ")
    {
      return constant(width, warp_size);
    }
    symbol_and_offset const named(text);
    auto const symbol = find_symbol(named.symbol);
    require(symbol.has_value(), "an unknown operand");
    if (symbol->after_shared)
    {
      virtual_register r_after;
      r_after.width       = width;
      r_after.is_constant = true;
      r_after.bits        = static_cast<std::uint64_t>(named.offset);
      int const number    = new_register(r_after);
      constants_after_shared_.push_back(number);
      return number;
    }
    return constant(width, symbol->address + static_cast<std::uint64_t>(named.offset));
  }

  /// `!p` or `p`
  int predicate_source(instruction& i, std::string_view text)
  {
    i.source_negated = text.front() == '!';
    return source(i.source_negated ? text.substr(1) : text, 1);
  }

  /// `d|p` or `d`
  void two_destinations(instruction& i, std::string_view text, int width) const
  {
    names const parts = split(text, '|');
    i.to              = destination(parts[0], width);
    i.predicate_to    = parts.size() > 1 ? destination(parts[1], 1) : no_slot;
  }

  /// `[register+8]`, `[symbol]` or `[number]`; the space that it is in, unless the instruction says another.
  space address(instruction& i, std::string_view text, space in)
  {
    require(text.front() == '[' && text.back() == ']', "an address without brackets");
    symbol_and_offset const named(inside(text));
    i.immediate = named.offset;
    i.a         = find_register(named.symbol);
    if (i.a != no_slot)
    {
      i.wide_address = width_of(i.a) == 64;
      return in == space::kernel_parameter ? space::pointed_to : in;
    }
    if (in == space::kernel_parameter)
    {
      if (auto const offset = find_in_frame(named.symbol))
      {
        i.immediate += *offset;
        return space::of_frame;
      }
      auto const offset = find_kernel_parameter(named.symbol);
      require(offset.has_value(), "an unknown parameter");
      i.immediate += static_cast<std::int64_t>(*offset);
      return in;
    }
    std::uint64_t bits = 0;
    if (!parse_number(named.symbol, 64, bits))
    {
      auto const symbol = find_symbol(named.symbol);
      require(symbol.has_value(), "an unknown symbol");
      bits = symbol->address;
      if (symbol->after_shared)
      {
        addresses_after_shared_.push_back(f_.code.size());
      }
    }
    i.immediate += static_cast<std::int64_t>(bits);
    return in;
  }

  // --- Statements.

  void add(instruction const& i, std::string_view text)
  {
    f_.code.push_back(i);
    f_.code_text.push_back(text);
  }

  void read(statement const& s)
  {
    switch (s.kind)
    {
      case statement_kind::open_scope:
        open_scope();
        break;
      case statement_kind::close_scope:
        body_->scopes.pop_back();
        break;
      case statement_kind::label:
        body_->label          = s.text;
        body_->labels[s.text] = static_cast<std::int32_t>(f_.code.size());
        break;
      case statement_kind::branch_targets:
        body_->tables[body_->label] = split(s.text, ',');
        break;
      case statement_kind::registers:
        declare_registers(s.text);
        break;
      case statement_kind::shared_variable:
        place_in_shared(parse_declaration(s.text));
        break;
      case statement_kind::frame_variable:
      {
        declaration const variable                    = parse_declaration(s.text);
        body_->scopes.back().variables[variable.name] = place_in_frame(variable.size);
        break;
      }
      case statement_kind::instruction:
        read_instruction(s);
        break;
    }
  }

  void read_instruction(statement const& s)
  {
    written_instruction const written(s.text);
    instruction i;
    i.line = s.line;
    try
    {
      decode_instruction(i, written);
      bool const needs_handler = i.control == flow::next || i.control == flow::warp_sync;
      require(i.execute != nullptr || !needs_handler, "no handler");
    }
    catch (not_supported const&)
    {
      // Much that is compiled is never executed.
      i         = instruction{};
      i.line    = s.line;
      i.execute = unsupported();
    }
    if (!written.guard.empty())
    {
      i.guard         = destination(written.guard, 1);
      i.guard_negated = written.guard_negated;
    }
    add(i, s.text);
  }

  void read_body()
  {
    for (statement const& s : statements_of(body_->text))
    {
      read(s);
    }
    body_->labels[end_of_body] = static_cast<std::int32_t>(f_.code.size());
    for (auto const& [at, label] : body_->branches)
    {
      f_.code[at].target = label_at(label);
    }
    for (auto const& [at, label] : body_->table_branches)
    {
      std::vector<std::int32_t> targets;
      for (std::string_view const target : body_->tables[label])
      {
        targets.push_back(label_at(target));
      }
      f_.code[at].target = static_cast<std::int32_t>(f_.branch_tables.size());
      f_.branch_tables.push_back(std::move(targets));
    }
  }

  /// What begins after the shared memory of known size.
  void place_after_shared()
  {
    if (!constants_after_shared_.empty() || !addresses_after_shared_.empty())
    {
      f_.shared_bytes = static_cast<std::uint32_t>(round_up(f_.shared_bytes, 16));
    }
    for (int const r : constants_after_shared_)
    {
      registers_[static_cast<std::size_t>(r)].bits += f_.shared_bytes;
    }
    for (std::size_t const at : addresses_after_shared_)
    {
      f_.code[at].immediate += f_.shared_bytes;
    }
  }

  std::int32_t label_at(std::string_view name) const
  {
    auto const found = body_->labels.find(name);
    if (found == body_->labels.end())
    {
      stop("a jump to " + std::string(name) + ", which is nowhere in " + std::string(body_->text.name));
    }
    return found->second;
  }

  // --- Instructions, by families.

  using family = void (decoder::*)(instruction&, written_instruction const&);

  void decode_instruction(instruction& i, written_instruction const& w)
  {
    static std::unordered_map<std::string_view, family> const families = {
      {"bra", &decoder::branch},
      {"brx", &decoder::branch_by_table},
      {"ret", &decoder::leave},
      {"exit", &decoder::leave},
      {"call", &decoder::call},
      {"trap", &decoder::trap_here},
      {"mov", &decoder::move},
      {"cvta", &decoder::convert_address},
      {"ld", &decoder::load_or_store},
      {"ldu", &decoder::load_or_store},
      {"st", &decoder::load_or_store},
      {"atom", &decoder::atomic_access},
      {"red", &decoder::atomic_access},
      {"setp", &decoder::compare},
      {"cvt", &decoder::convert},
      {"vote", &decoder::vote_of_warp},
      {"shfl", &decoder::shuffle_warp},
      {"match", &decoder::match_in_warp},
      {"redux", &decoder::reduce_warp},
      {"elect", &decoder::elect_in_warp},
      {"activemask", &decoder::ask_active_mask},
      {"bar", &decoder::barrier},
      {"barrier", &decoder::barrier},
      {"mapa", &decoder::map_address},
      {"isspacep", &decoder::ask_space},
    };
    // Hints, and what orders memory: nothing is out of order here.
    static names const idle = {
      "membar",
      "fence",
      "griddepcontrol",
      "prefetch",
      "prefetchu",
      "discard",
      "applypriority",
      "setmaxnreg",
      "pmevent",
      "brkpt"};

    auto const found = families.find(w.opcode);
    if (found != families.end())
    {
      (this->*found->second)(i, w);
    }
    else if (std::find(idle.begin(), idle.end(), w.opcode) != idle.end())
    {
      i.execute = do_nothing();
    }
    else if (w.opcode == "nanosleep")
    {
      i.execute = sleep_a_turn();
    }
    else
    {
      simple(i, w);
    }
  }

  /// A destination and sources, as the table in semantics_arithmetic.cpp has them.
  void simple(instruction& i, written_instruction const& w)
  {
    std::string name(w.opcode);
    for (std::size_t k = 0; k + 1 < w.modifiers.size(); ++k)
    {
      std::string_view const modifier = w.modifiers[k];
      bool const is_hint = modifier == "rn" || modifier == "approx" || modifier == "full" || modifier == "ftz";
      name += is_hint ? "" : "." + std::string(modifier);
    }
    simple_operation const* const operation = find_simple_operation(name);
    require(operation != nullptr, "an unknown instruction");
    int const own       = register_width(w.of);
    auto const width_of = [=](operand_width width) {
      return width == operand_width::own   ? own
           : width == operand_width::twice ? 2 * own
           : width == operand_width::word  ? 32
                                           : 1;
    };
    i.execute            = operation->handler_of(w.of);
    i.to                 = destination(w.operand(0), width_of(operation->to));
    slot* const places[] = {&i.a, &i.b, &i.c, &i.d};
    require(w.operands.size() == operation->from.size() + 1, "too many operands");
    for (std::size_t k = 0; k < operation->from.size(); ++k)
    {
      *places[k] = source(w.operand(k + 1), width_of(operation->from[k]));
    }
  }

  void branch(instruction& i, written_instruction const& w)
  {
    i.control = flow::branch;
    body_->branches.push_back({f_.code.size(), w.operand(0)});
  }

  void branch_by_table(instruction& i, written_instruction const& w)
  {
    i.control = flow::branch_by_table;
    i.a       = source(w.operand(0), 32);
    body_->table_branches.push_back({f_.code.size(), w.operand(1)});
  }

  void leave(instruction& i, written_instruction const& w)
  {
    if (w.opcode == "ret" && body_->caller != nullptr)
    {
      i.control = flow::branch;
      body_->branches.push_back({f_.code.size(), end_of_body});
      return;
    }
    i.control = w.opcode == "ret" ? flow::leave : flow::exit;
  }

  void trap_here(instruction& i, written_instruction const&)
  {
    i.execute = trap();
  }

  /// `call (result), function, (arguments), prototype`, of which all but the function may be missing.
  void call(instruction& i, written_instruction const& w)
  {
    auto const offsets = [&](std::string_view list) {
      std::vector<std::uint32_t> result;
      for (std::string_view const name : split(inside(list), ','))
      {
        auto const offset = find_in_frame(name);
        require(offset.has_value(), "an argument that is no parameter");
        result.push_back(*offset);
      }
      return result;
    };
    call_site site;
    std::size_t k = 0;
    if (w.operand(k).front() == '(')
    {
      site.results = offsets(w.operand(k));
      ++k;
    }
    site.pointer = find_register(w.operand(k));
    site.callee  = w.operand(k);
    ++k;
    if (k < w.operands.size() && w.operand(k).front() == '(')
    {
      site.arguments = offsets(w.operand(k));
    }
    auto const callee = f_.in.functions.find(site.callee);
    if (callee != f_.in.functions.end() && !is_being_read(callee->second->text))
    {
      put_in_place(i, site, callee->second->text);
      return;
    }
    i.control = flow::call;
    i.target  = static_cast<std::int32_t>(f_.calls.size());
    f_.calls.push_back(std::move(site));
  }

  bool is_being_read(function_text const& text) const
  {
    for (body const* b = body_; b != nullptr; b = b->caller)
    {
      if (&b->text == &text)
      {
        return true;
      }
    }
    return false;
  }

  /// Reads the body of a function where it is called; `i` becomes what brings its result to the caller.
  void put_in_place(instruction& i, call_site const& site, function_text const& callee)
  {
    body inner(callee, body_);
    body* const outer = body_;
    body_             = &inner;
    open_scope();
    auto const place = [&](parameter const& p) {
      return inner.scopes.back().variables[p.name] = place_in_frame(p.size);
    };
    require(site.arguments.size() == callee.parameters.size(), "too many arguments or too few");
    for (std::size_t k = 0; k < callee.parameters.size(); ++k)
    {
      parameter const& p = callee.parameters[k];
      instruction move;
      move.line = i.line;
      copy(move, {site.arguments[k], place(p), static_cast<std::uint32_t>(p.size)});
      add(move, callee.name);
    }
    i.execute = do_nothing();
    if (!site.results.empty() && !callee.results.empty())
    {
      parameter const& p = callee.results.front();
      copy(i, {place(p), site.results.front(), static_cast<std::uint32_t>(p.size)});
    }
    else
    {
      for (parameter const& p : callee.results)
      {
        place(p);
      }
    }
    read_body();
    body_ = outer;
  }

  void copy(instruction& i, frame_copy const& what)
  {
    i.execute = copy_in_frame();
    i.target  = static_cast<std::int32_t>(f_.copies.size());
    f_.copies.push_back(what);
  }

  void move(instruction& i, written_instruction const& w)
  {
    int const width             = register_width(w.of);
    std::string_view const to   = w.operand(0);
    std::string_view const from = w.operand(1);
    if (to.front() == '{' || from.front() == '{')
    {
      move_vector(i, width, to, from);
      return;
    }
    i.to = destination(to, width);
    if (from == "%clock" || from == "%clock64" || from == "%clock_hi")
    {
      i.execute = read_clock(clock::cycles, width);
      return;
    }
    if (from == "%globaltimer" || from == "%globaltimer_lo")
    {
      i.execute = read_clock(clock::nanoseconds, width);
      return;
    }
    if (auto const which = find_special(from); which && width == 64)
    {
      i.a       = special(*which);
      i.execute = conversion(type::u64, 64, type::u32, 32, rounding::none);
      return;
    }
    if (find_register(from) == no_slot)
    {
      symbol_and_offset const named(from);
      auto const in_frame  = find_in_frame(named.symbol);
      auto const parameter = find_kernel_parameter(named.symbol);
      if (in_frame || parameter)
      {
        require(width == 64, "an address in a register of another width");
        i.immediate = named.offset + static_cast<std::int64_t>(in_frame ? *in_frame : *parameter);
        i.execute   = in_frame ? address_in_frame() : address_of_kernel_parameter();
        return;
      }
    }
    i.a       = source(from, width);
    i.execute = move_of_width(width);
  }

  /// `{a, b}` on one side.
  void move_vector(instruction& i, int width, std::string_view to, std::string_view from)
  {
    i.writes_elements = to.front() == '{';
    names const parts = split(inside(i.writes_elements ? to : from), ',');
    require(parts.size() == 2 || parts.size() == 4, "a vector of another size");
    int const part_width = width / static_cast<int>(parts.size());
    for (std::size_t k = 0; k < parts.size(); ++k)
    {
      i.elements[k] = i.writes_elements ? destination(parts[k], part_width) : source(parts[k], part_width);
    }
    if (i.writes_elements)
    {
      i.a       = source(from, width);
      i.execute = unpack_of_widths(part_width, width);
    }
    else
    {
      i.to      = destination(to, width);
      i.execute = pack_of_widths(part_width, width);
    }
  }

  /// Addresses of all spaces but shared memory are generic ones.
  void convert_address(instruction& i, written_instruction const& w)
  {
    bool const shared = space_of(w) == space::shared;
    i.to              = destination(w.operand(0), 64);
    i.a               = source(w.operand(1), 64);
    i.execute         = !shared ? move_of_width(64) : w.has("to") ? generic_to_shared() : shared_to_generic();
  }

  static space space_of(written_instruction const& w)
  {
    static std::unordered_map<std::string_view, space> const all = {
      {"global", space::global},
      {"const", space::global},
      {"shared", space::shared},
      {"shared::cta", space::shared},
      {"shared::cluster", space::shared},
      {"local", space::local},
      {"param", space::kernel_parameter},
      {"param::entry", space::kernel_parameter},
      {"param::func", space::kernel_parameter},
    };
    for (std::string_view const modifier : w.modifiers)
    {
      auto const found = all.find(modifier);
      if (found != all.end())
      {
        return found->second;
      }
    }
    return space::generic;
  }

  void load_or_store(instruction& i, written_instruction const& w)
  {
    bool const loads            = w.opcode != "st";
    std::string_view const data = w.operand(loads ? 0 : 1);
    names const parts           = data.front() == '{' ? split(inside(data), ',') : names{data};
    int width                   = 0;
    require(parts.size() <= i.elements.size(), "a vector of another size");
    for (std::string_view const part : parts)
    {
      int const r = find_register(part);
      width       = r == no_slot ? width : width_of(r);
    }
    width             = width == 0 ? register_width(w.of) : width;
    i.count           = static_cast<std::uint8_t>(parts.size());
    i.writes_elements = loads;
    for (std::size_t k = 0; k < parts.size(); ++k)
    {
      i.elements[k] = loads ? destination(parts[k], width) : source(parts[k], width);
    }
    space const in = address(i, w.operand(loads ? 1 : 0), space_of(w));
    i.execute      = loads ? load(in, w.of, width) : store(in, w.of, width);
  }

  /// `red` is an atomic whose old value nobody wants.
  void atomic_access(instruction& i, written_instruction const& w)
  {
    int const width     = register_width(w.of);
    bool const has_old  = w.opcode == "atom";
    std::size_t const k = has_old ? 1 : 0;
    i.to                = has_old ? destination(w.operand(0), width) : no_slot;
    space const in      = address(i, w.operand(k), space_of(w));
    i.b                 = source(w.operand(k + 1), width);
    if (w.has("cas"))
    {
      i.c = source(w.operand(k + 2), width);
    }
    i.execute = w.handler_by_modifier([&](std::string_view operation) { return atomic(in, operation, w.of); });
  }

  /// `setp.relation.and.type p|q, a, b, c`
  void compare(instruction& i, written_instruction const& w)
  {
    int const width = register_width(w.of);
    two_destinations(i, w.operand(0), 1);
    i.a = source(w.operand(1), width);
    i.b = source(w.operand(2), width);
    combination const with =
      w.has("and")   ? combination::conjunction
      : w.has("or")  ? combination::disjunction
      : w.has("xor") ? combination::exclusive
                     : combination::none;
    if (with != combination::none)
    {
      i.c = predicate_source(i, w.operand(3));
    }
    i.execute = w.handler_by_modifier([&](std::string_view relation) { return comparison(relation, with, w.of); });
  }

  /// `cvt.rounding.to.from d, a`
  void convert(instruction& i, written_instruction const& w)
  {
    require(w.modifiers.size() >= 2, "a conversion without types");
    type const to     = parse_type(w.modifiers[w.modifiers.size() - 2]);
    bool const in_int = is_float(w.of) && !is_float(to);
    // What is converted to an integer is saturated anyway.
    require(!w.has("sat") || in_int, "saturation");
    require(!w.has("rm") && !w.has("rp"), "this rounding");
    rounding const how =
      w.has("rni")                  ? rounding::nearest
      : w.has("rzi") || w.has("rz") ? rounding::towards_zero
      : w.has("rmi")                ? rounding::down
      : w.has("rpi")                ? rounding::up
                                    : rounding::none;
    int const to_register   = find_register(w.operand(0));
    int const from_register = find_register(w.operand(1));
    require(to_register != no_slot, "a destination that is no register");
    int const from_width = from_register == no_slot ? register_width(w.of) : width_of(from_register);
    i.to                 = to_register;
    i.a                  = source(w.operand(1), from_width);
    i.execute            = conversion(to, width_of(to_register), w.of, from_width, how);
  }

  void vote_of_warp(instruction& i, written_instruction const& w)
  {
    require(w.has("sync"), "a vote without mask");
    i.control = flow::warp_sync;
    i.to      = destination(w.operand(0), w.has("ballot") ? 32 : 1);
    i.a       = predicate_source(i, w.operand(1));
    i.d       = source(w.operand(2), 32);
    i.execute = w.handler_by_modifier(vote);
  }

  void shuffle_warp(instruction& i, written_instruction const& w)
  {
    i.control = flow::warp_sync;
    two_destinations(i, w.operand(0), 32);
    i.a       = source(w.operand(1), 32);
    i.b       = source(w.operand(2), 32);
    i.c       = source(w.operand(3), 32);
    i.d       = source(w.operand(4), 32);
    i.execute = w.handler_by_modifier(shuffle);
  }

  void match_in_warp(instruction& i, written_instruction const& w)
  {
    i.control = flow::warp_sync;
    two_destinations(i, w.operand(0), 32);
    i.a       = source(w.operand(1), register_width(w.of));
    i.d       = source(w.operand(2), 32);
    i.execute = w.handler_by_modifier([&](std::string_view mode) { return match(mode, w.of); });
  }

  void reduce_warp(instruction& i, written_instruction const& w)
  {
    i.control = flow::warp_sync;
    i.to      = destination(w.operand(0), 32);
    i.a       = source(w.operand(1), 32);
    i.d       = source(w.operand(2), 32);
    i.execute = w.handler_by_modifier([&](std::string_view operation) { return reduction(operation, w.of); });
  }

  void elect_in_warp(instruction& i, written_instruction const& w)
  {
    i.control = flow::warp_sync;
    two_destinations(i, w.operand(0), 32);
    i.d       = source(w.operand(1), 32);
    i.execute = elect();
  }

  void ask_active_mask(instruction& i, written_instruction const& w)
  {
    i.to      = destination(w.operand(0), 32);
    i.execute = active_mask();
  }

  /// Of a warp, of a cluster, or of a block; `bar.red.popc.u32 d, barrier, threads, p` with a result.
  void barrier(instruction& i, written_instruction const& w)
  {
    if (w.has("warp"))
    {
      i.control = flow::warp_sync;
      i.d       = source(w.operand(0), 32);
      i.execute = do_nothing();
      return;
    }
    if (w.has("cluster"))
    {
      i.control = w.has("arrive") ? flow::cluster_arrive : flow::cluster_wait;
      return;
    }
    require(!w.has("arrive"), "a barrier that does not wait");
    i.control     = flow::barrier;
    std::size_t k = 0;
    std::size_t n = w.operands.size();
    if (w.has("red"))
    {
      i.result = w.has("popc") ? barrier_result::count : w.has("or") ? barrier_result::any : barrier_result::all;
      i.to     = destination(w.operand(k++), i.result == barrier_result::count ? 32 : 1);
      i.c      = predicate_source(i, w.operand(--n));
    }
    i.a = source(w.operand(k++), 32);
    i.b = k < n ? source(w.operand(k), 32) : no_slot;
  }

  void map_address(instruction& i, written_instruction const& w)
  {
    int const width = register_width(w.of);
    i.to            = destination(w.operand(0), width);
    i.a             = source(w.operand(1), width);
    i.b             = source(w.operand(2), 32);
    i.execute       = map_to_block_of_cluster(width);
  }

  void ask_space(instruction& i, written_instruction const& w)
  {
    i.to      = destination(w.operand(0), 1);
    i.a       = source(w.operand(1), 64);
    i.execute = is_in_space(space_of(w));
  }

  function& f_;
  std::vector<virtual_register> registers_;
  body* body_ = nullptr;
  std::map<std::pair<int, std::uint64_t>, int> constants_;
  std::map<special_register, int> specials_;
  std::map<std::string_view, std::size_t> shared_;
  std::vector<int> constants_after_shared_;
  std::vector<std::size_t> addresses_after_shared_;
};

void set_initial_values(program& p, device_variable const& variable)
{
  std::size_t const bytes = size_of_type(variable.type);
  std::uint8_t* memory    = p.variables.at(variable.name);
  for (std::string_view value : variable.initial_values)
  {
    std::uint64_t bits = 0;
    if (!parse_number(value, static_cast<int>(bytes) * 8, bits))
    {
      constexpr std::string_view generic = "generic(";
      if (value.substr(0, generic.size()) == generic)
      {
        value = value.substr(generic.size(), value.size() - generic.size() - 1);
      }
      symbol_and_offset const named(value);
      auto const other    = p.variables.find(named.symbol);
      auto const function = p.functions.find(named.symbol);
      if (other == p.variables.end() && function == p.functions.end())
      {
        stop("a variable is initialised by " + std::string(value) + ", which is unknown");
      }
      bits = other != p.variables.end() ? reinterpret_cast<std::uint64_t>(other->second)
                                        : reinterpret_cast<std::uint64_t>(function->second.get());
      bits += static_cast<std::uint64_t>(named.offset);
    }
    std::memcpy(memory, &bits, bytes);
    memory += bytes;
  }
}

} // namespace

program::program(std::string text)
    : ptx(std::move(text))
{
  for (function_text const& f : ptx.functions)
  {
    auto const added = functions.emplace(f.name, std::make_unique<function>(*this, f)).first;
    by_address[reinterpret_cast<std::uint64_t>(added->second.get())] = added->second.get();
  }
  device_memory& memory = device_memory::instance();
  for (device_variable const& variable : ptx.variables)
  {
    std::uint8_t* const place = memory.allocate(variable.size);
    std::memset(place, 0, variable.size);
    memory.mark_written(place, variable.size);
    variables[variable.name] = place;
  }
  for (device_variable const& variable : ptx.variables)
  {
    set_initial_values(*this, variable);
  }
}

void decode(function& f)
{
  if (!f.decoded)
  {
    try
    {
      decoder(f).run();
    }
    catch (not_supported const& problem)
    {
      stop(std::string(f.text.name) + " cannot be read: " + problem.what());
    }
  }
}

} // namespace gpusort::interpreter
