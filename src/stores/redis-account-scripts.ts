import { script } from './redis-scripts.js'

// An account is a hash (s spent, h held, x expires, and `=LEASE` what that lease holds) and the ends of its leases. A day of
// the ledger is a stream, whose identifiers are the sequence numbers. Everything is read before the first write: a foreign
// value under a key ends the script before it has changed anything. The server expires accounts and writers an hour after
// their end, because clocks differ.

const ACCOUNTS = `
local function text(n) return string.format('%.0f', n) end
local now = tonumber(ARGV[1])
local accounts = {}

local function load(key, ends)
  if accounts[key] then return accounts[key] end
  local old = redis.call('HMGET', key, 's', 'h', 'x')
  local gone = redis.call('ZRANGEBYSCORE', ends, '-inf', ARGV[1])
  local a = { key = key, ends = ends, spent = 0, held = 0, expires = 0, gone = {} }
  if old[1] and old[2] and old[3] and tonumber(old[3]) > now then
    a.spent, a.held, a.expires = tonumber(old[1]), tonumber(old[2]), tonumber(old[3])
    for _, lease in ipairs(gone) do
      a.gone[lease] = true
      a.held = a.held - tonumber(redis.call('HGET', key, '=' .. lease) or 0)
    end
  else
    a.isNew = true
  end
  accounts[key] = a
  return a
end
`

/**
 * KEYS writer, days, then account and ends of each lease, then the streams of days.
 * ARGV now, number, when the server forgets the writer, count of leases; of each, with spaces between: lease, expires, bound,
 * spend, hold, until; count of days; their names; of each entry: index of its day, value.
 * Answers spent, held and the lease's amount, of each lease.
 */
export const COMMIT = script(`${ACCOUNTS}
local last = redis.call('GET', KEYS[1])
local isRepeated = last and tonumber(last) >= tonumber(ARGV[2])
local leases = tonumber(ARGV[4])
for i = 1, leases do load(KEYS[1 + 2 * i], KEYS[2 + 2 * i]) end
local answers = {}
local function answer(a, held)
  answers[#answers + 1] = text(a.spent)
  answers[#answers + 1] = text(a.held)
  answers[#answers + 1] = text(held)
end

if isRepeated then
  for i = 1, leases do
    local a, lease = accounts[KEYS[1 + 2 * i]], string.match(ARGV[4 + i], '^%S+')
    local held = not a.isNew and not a.gone[lease] and redis.call('HGET', a.key, '=' .. lease)
    answer(a, tonumber(held or 0))
  end
  return answers
end

local at = 5 + leases
local days = tonumber(ARGV[at])
local sequences = {}
for day = 1, days do
  local newest = redis.call('XREVRANGE', KEYS[2 + 2 * leases + day], '+', '-', 'COUNT', 1)[1]
  sequences[day] = newest and tonumber(string.match(newest[1], '^%d+')) or 0
end
redis.call('SISMEMBER', KEYS[2], '')

redis.call('SET', KEYS[1], ARGV[2])
redis.call('PEXPIREAT', KEYS[1], ARGV[3])
for _, a in pairs(accounts) do
  if a.isNew then
    redis.call('DEL', a.key, a.ends)
  else
    for lease in pairs(a.gone) do
      redis.call('HDEL', a.key, '=' .. lease)
      redis.call('ZREM', a.ends, lease)
    end
  end
end
for i = 1, leases do
  local a = accounts[KEYS[1 + 2 * i]]
  local lease, ends, bound, spend, hold, lasts = string.match(ARGV[4 + i], '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
  local before = tonumber(redis.call('HGET', a.key, '=' .. lease) or 0)
  local left = math.max(0, before - tonumber(spend))
  a.spent = a.spent + tonumber(spend)
  a.held = a.held + left - before
  local held = math.min(tonumber(hold), left + math.max(0, tonumber(bound) - a.spent - a.held))
  a.held = a.held + held - left
  if a.expires < tonumber(ends) then a.expires, a.isLonger = tonumber(ends), true end
  if held > 0 then
    -- The ends may be a new key, which does not expire yet.
    if before == 0 then a.isLonger = true end
    redis.call('HSET', a.key, '=' .. lease, text(held))
    redis.call('ZADD', a.ends, lasts, lease)
  elseif before > 0 then
    redis.call('HDEL', a.key, '=' .. lease)
    redis.call('ZREM', a.ends, lease)
  end
  answer(a, held)
end
for _, a in pairs(accounts) do
  redis.call('HSET', a.key, 's', text(a.spent), 'h', text(a.held), 'x', text(a.expires))
  if a.isLonger then
    redis.call('PEXPIREAT', a.key, text(a.expires + 3600000))
    redis.call('PEXPIREAT', a.ends, text(a.expires + 3600000))
  end
end
for day = 1, days do redis.call('SADD', KEYS[2], ARGV[at + day]) end
for i = at + days + 1, #ARGV, 2 do
  local day = tonumber(ARGV[i])
  sequences[day] = sequences[day] + 1
  redis.call('XADD', KEYS[2 + 2 * leases + day], text(sequences[day]) .. '-0', 'b', ARGV[i + 1])
end
return answers
`)

/** Without a trace. KEYS account and ends of each; ARGV now. Answers spent and held, of each. */
export const READ_ACCOUNTS = script(`${ACCOUNTS}
local answers = {}
for i = 1, #KEYS, 2 do
  local a = load(KEYS[i], KEYS[i + 1])
  answers[i] = text(a.spent)
  answers[i + 1] = text(a.held)
end
return answers
`)

/** KEYS stream, days; ARGV day. */
export const DROP_DAY = script(`
redis.call('UNLINK', KEYS[1])
return redis.call('SREM', KEYS[2], ARGV[1])
`)
