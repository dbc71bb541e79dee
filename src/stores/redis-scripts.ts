import { createHash } from 'node:crypto'

/** A Lua script: all its keys are in one slot. */
export interface Script {
  readonly lua: string
  readonly sha: string
}

export function script(lua: string): Script {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') }
}

// A record is a hash: c created, e expires, d due ('' never), v version, f fence, b value. Numbers are texts: the
// server's own way to write large ones loses digits. Every script gets its keys declared, all of one slot.

/** KEYS record order due expiry; ARGV now, owner, key, name, created, expires, due, value, version. */
export const CREATE = script(`
local old = redis.call('HMGET', KEYS[1], 'e', 'c')
if old[1] and tonumber(old[1]) > tonumber(ARGV[1]) then return 0 end
-- Only where there is something to remove: after a first write the server asks no more whether memory is left.
if old[2] then
  redis.call('ZREM', KEYS[2], ARGV[2] .. ' ' .. string.format('%016.0f', old[2]) .. ' ' .. ARGV[3])
  redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'c', ARGV[5], 'e', ARGV[6], 'd', ARGV[7], 'v', ARGV[9], 'f', '0', 'b', ARGV[8])
redis.call('ZADD', KEYS[2], 0, ARGV[2] .. ' ' .. string.format('%016.0f', ARGV[5]) .. ' ' .. ARGV[3])
redis.call('ZADD', KEYS[4], ARGV[6], ARGV[4])
local member = ARGV[2] .. ' ' .. ARGV[3]
if ARGV[7] == '' then redis.call('ZREM', KEYS[3], member) else redis.call('ZADD', KEYS[3], ARGV[7], member) end
return 1
`)

/** KEYS record order due expiry; ARGV now, owner, key, name, version, expires, due, value. */
export const REPLACE = script(`
local old = redis.call('HMGET', KEYS[1], 'e', 'v')
if not old[1] or tonumber(old[1]) <= tonumber(ARGV[1]) or old[2] ~= ARGV[5] then return 0 end
local version = string.format('%.0f', tonumber(ARGV[5]) + 1)
redis.call('HSET', KEYS[1], 'e', ARGV[6], 'd', ARGV[7], 'v', version, 'b', ARGV[8])
redis.call('ZADD', KEYS[4], ARGV[6], ARGV[4])
local member = ARGV[2] .. ' ' .. ARGV[3]
if ARGV[7] == '' then redis.call('ZREM', KEYS[3], member) else redis.call('ZADD', KEYS[3], ARGV[7], member) end
return 1
`)

/** KEYS record order due expiry; ARGV now, owner, key, name, version ('' any). */
export const DELETE = script(`
local old = redis.call('HMGET', KEYS[1], 'e', 'v', 'c')
if not old[1] or tonumber(old[1]) <= tonumber(ARGV[1]) then return 0 end
if ARGV[5] ~= '' and old[2] ~= ARGV[5] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[2] .. ' ' .. string.format('%016.0f', old[3]) .. ' ' .. ARGV[3])
redis.call('ZREM', KEYS[3], ARGV[2] .. ' ' .. ARGV[3])
redis.call('ZREM', KEYS[4], ARGV[4])
return 1
`)

/** Takes a record out that has expired. KEYS record order due expiry; ARGV now, owner, key, name. */
export const SWEEP = script(`
local old = redis.call('HMGET', KEYS[1], 'e', 'c')
if old[1] and tonumber(old[1]) > tonumber(ARGV[1]) then
  redis.call('ZADD', KEYS[4], old[1], ARGV[4])
  return 0
end
redis.call('ZREM', KEYS[3], ARGV[2] .. ' ' .. ARGV[3])
redis.call('ZREM', KEYS[4], ARGV[4])
if not old[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[2] .. ' ' .. string.format('%016.0f', old[2]) .. ' ' .. ARGV[3])
return 1
`)

/** Takes a member out of an index whose record is gone (evicted). KEYS record index; ARGV member. */
export const FORGET = script(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])
`)

/** KEYS due, record; ARGV now, until, member. Null where another one was faster, or there is nothing to claim. */
export const CLAIM = script(`
local due = redis.call('ZSCORE', KEYS[1], ARGV[3])
if not due or tonumber(due) > tonumber(ARGV[1]) then return false end
local old = redis.call('HMGET', KEYS[2], 'e', 'v', 'f')
if not old[1] or not old[2] or not old[3] or tonumber(old[1]) <= tonumber(ARGV[1]) then
  redis.call('ZREM', KEYS[1], ARGV[3])
  return false
end
local version = string.format('%.0f', tonumber(old[2]) + 1)
local fence = string.format('%.0f', tonumber(old[3]) + 1)
redis.call('HSET', KEYS[2], 'd', ARGV[2], 'v', version, 'f', fence)
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
return redis.call('HMGET', KEYS[2], 'c', 'e', 'd', 'v', 'f', 'b')
`)

/** Names a blob, or with an empty id takes its name away. KEYS blob; ARGV id, size, expires, when the server lets go. */
export const NAME_BLOB = script(`
local old = redis.call('HMGET', KEYS[1], 'i', 's', 'e')
redis.call('DEL', KEYS[1])
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], 'i', ARGV[1], 's', ARGV[2], 'e', ARGV[3])
  redis.call('PEXPIREAT', KEYS[1], ARGV[4])
end
return old
`)
