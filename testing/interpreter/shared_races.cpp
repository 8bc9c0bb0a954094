#include "shared_races.h"

namespace gpusort::interpreter
{

race shared_races::note(shared_access const& access)
{
  race found;
  for (std::uint32_t i = 0; i < access.bytes; ++i)
  {
    byte_history& byte = bytes_[access.offset + i];
    if (found.what == nullptr)
    {
      found = against_write(byte, access);
    }
    if (found.what == nullptr)
    {
      found = against_reads(byte, access);
    }
    remember(byte, access);
  }
  return found;
}

race shared_races::against_write(byte_history const& byte, shared_access const& access) const
{
  last_access const& write = byte.write;
  bool const both_atomic   = is_atomic(access.kind) && byte.atomic;
  if (write.epoch != epoch_ || both_atomic || access.kind == access_kind::rewrite)
  {
    return {};
  }
  bool const reads = access.kind == access_kind::read;
  if (write.warp != access.warp)
  {
    return {reads ? "race: read after write of another warp" : "race: write after write of another warp", write.line};
  }
  if (write.lane == access.lane || write.warp_epoch != access.warp_epoch)
  {
    return {};
  }
  if (write.line != access.line)
  {
    return {reads ? "race: read after write of another lane" : "race: write after write of another lane", write.line};
  }
  return reads ? race{} : race{"race: lanes write to the same place", write.line};
}

race shared_races::against_reads(byte_history const& byte, shared_access const& access) const
{
  last_access const& read = byte.read;
  if (access.kind == access_kind::read || read.epoch != epoch_)
  {
    return {};
  }
  if (read.warp != access.warp || byte.who == readers::many_warps)
  {
    return {"race: write after read of another warp", read.line};
  }
  bool const of_another_lane = read.lane != access.lane || byte.who == readers::one_warp;
  if (of_another_lane && read.warp_epoch == access.warp_epoch && read.line != access.line)
  {
    return {"race: write after read of another lane", read.line};
  }
  return {};
}

void shared_races::remember(byte_history& byte, shared_access const& access) const
{
  last_access const now{epoch_, access.warp_epoch, access.line, access.warp, access.lane};
  if (access.kind != access_kind::read)
  {
    byte.write  = now;
    byte.atomic = is_atomic(access.kind);
    return;
  }
  last_access const& before = byte.read;
  if (before.epoch != epoch_)
  {
    byte.who = readers::one_lane;
  }
  else if (before.warp != access.warp)
  {
    byte.who = readers::many_warps;
  }
  else if (before.warp_epoch != access.warp_epoch && byte.who != readers::many_warps)
  {
    byte.who = readers::one_lane; // the others have met this one since
  }
  else if (before.lane != access.lane && byte.who == readers::one_lane)
  {
    byte.who = readers::one_warp;
  }
  byte.read = now;
}

} // namespace gpusort::interpreter
