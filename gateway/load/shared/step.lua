-- One step of one gateway on the counts of one model. Everything in it happens at one instant, in this order: gateways
-- that went silent are forgotten; the caller adopts leases, publishes its views, gives leases back, and takes new ones.
--
-- KEYS  1 gateways: sorted set, incarnation -> Redis time (ms) until which it counts
--       2 counts: hash, "s" and "b" (the pools' totals), "s URL" and "b URL" (their replicas') -> leases; absent is 0
--       3 switch: hash, of mode `switch`: "high" and "since" (ms); "alone" and "alone_since", by the leases alone
--       4 leases of the caller: hash, lease -> "s URL" or "b URL"
--       5, 6 the caller's views of the pools s and b: sorted set, ready replica -> its digest; a replica is its URL, after
--       the number of requests that it has from outside and a space where there are any
--       7 waiting: hash, "s", "b" or "sb" (where the first in a gateway's queue may go), a space, and an incarnation ->
--       Redis time (ms) since when it waits, time until which that counts, 1 where a place was left to it
-- ARGV  1 incarnation   2 "hello", "step", "beat" or "audit"   3 ms until a silent caller is forgotten
--       4 bound: the limit of pool s (mode spill) or of both (mode switch)   5 mark: low is below it; -1 without switch
--       6 dwell (ms)   7, 8 max_inflight of a replica of s and of b   9, 10 requests from outside on s and on b
--       11 ms after it last asked for which a place is left to who waits
--       then six lists, each after its length:
--       incarnations to forget; leases to adopt (lease, field); view of s; view of b (replica, digest; length -1: as it was);
--       leases to give back; leases to ask for (lease, test, table, affinity, ms for which it has waited in a queue or -1
--       for one that overtakes who waits, number of tried, tried fields...)
--
-- A table has a letter for each of sixteen cases: where to go (s, b), or anything else for a refusal. The case is 8 * (over
-- by leases alone) + 4 * (over) + 2 * (a replica of s has room) + (a replica of b has room). Tables are made of the policy,
-- so policies are written once, in Python. The tests of over are "s": pool s is at its bound, "w": the switch is high,
-- "-": never.
--
-- Who came first goes first, at whichever gateway: a pool that has no more places than there are older requests in the
-- queues of other gateways has no room for one. Who was left a place and finds none for itself all the same (it has tried
-- that replica, or its gateway knows others) is not waited for until it asks again.
--
-- All reading comes before writing counts and leases, and what can fail for want of memory comes first in that: a step is
-- whole or not at all. Keys of other incarnations have the names of the caller's but for the end: they are in its slot.
--
-- Returns {"unknown"} to a caller that is not among the gateways (it was forgotten, and nothing is done), else
-- {"ok", high, total of s, total of b, gateways (but 0 on steps), {case, URL, case, URL...}, on beats {field, count, ...},
-- on audits {lease, ...} of the caller}.
local GATEWAYS, COUNTS, SWITCH, LEASES = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local VIEW, WAITING = {s = KEYS[5], b = KEYS[6]}, KEYS[7]
local ME, WHAT, EXPIRY = ARGV[1], ARGV[2], tonumber(ARGV[3])
local BOUND, MARK, DWELL = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local CAP = {s = tonumber(ARGV[7]), b = tonumber(ARGV[8])}
local OUTSIDE = {s = tonumber(ARGV[9]), b = tonumber(ARGV[10])}
local PATIENCE = tonumber(ARGV[11])
local KEPT = 3600000 -- ms: what no gateway has touched for so long is of no use to any
local AHEAD = 20 -- times the expiry: a time so far ahead is none that this clock gave, which was set back since
local EXACT, MIX, WORD = 64, 0x9E3779B1, 4294967296 -- as in gateway/routing/balance.py
local CHUNK = 4000 -- arguments of one call: Lua's stack has room for 8000
local call, floor, sub = redis.call, math.floor, string.sub

local function names(key, name)
  return sub(key, 1, #key - #ME) .. name
end
if WHAT == 'hello' then
  -- What someone else has put in a key's place would fail every step.
  local function kept(key, kind)
    local found = call('TYPE', key).ok
    if found ~= kind and found ~= 'none' then call('DEL', key) end
  end
  for key, kind in pairs({[GATEWAYS] = 'zset', [COUNTS] = 'hash', [SWITCH] = 'hash', [WAITING] = 'hash'}) do
    kept(key, kind)
  end
  for _, name in ipairs(call('ZRANGE', GATEWAYS, 0, -1)) do kept(names(LEASES, name), 'hash') end
end

local clock = call('TIME')
local now = clock[1] * 1000 + floor(clock[2] / 1000)
local mine, forgotten = call('ZSCORE', GATEWAYS, ME), nil
if not mine and WHAT ~= 'hello' then return {'unknown'} end
local function expired()
  return call('ZRANGEBYSCORE', GATEWAYS, '-inf', '(' .. now)
end
forgotten = expired()
if WHAT ~= 'step' or #forgotten > 0 then
  -- Where nobody was heard, it was Redis that was away, or all that is around it: no more of that than a third of the
  -- expiry is held against anyone. Silence so tells the dead from the living only while some are heard.
  local last = call('ZREVRANGE', GATEWAYS, 0, 0, 'WITHSCORES')[2]
  if last and last - now > AHEAD * EXPIRY then
    for _, name in ipairs(call('ZRANGEBYSCORE', GATEWAYS, now + AHEAD * EXPIRY, '+inf')) do
      call('ZADD', GATEWAYS, now + AHEAD * EXPIRY, name)
    end
  end
  local away = last and floor(now - last + EXPIRY - EXPIRY / 3) or 0
  if away > 0 then
    for _, name in ipairs(call('ZRANGE', GATEWAYS, 0, -1)) do call('ZINCRBY', GATEWAYS, away, name) end
    mine, forgotten = mine and mine + away, expired()
  end
end
if WHAT == 'hello' then
  call('ZADD', GATEWAYS, now + EXPIRY, ME)
  call('PEXPIRE', GATEWAYS, KEPT)
  return {'ok'}
end
if tonumber(mine) < now then return {'unknown'} end

local at = 11
local function take()
  at = at + 1
  return ARGV[at]
end
local function list()
  local items = {}
  for i = 1, tonumber(take()) do items[i] = take() end
  return items
end
local function chunks(items, visit)
  for first = 1, #items, CHUNK do visit(first, math.min(first + CHUNK - 1, #items)) end
end
local function write(command, key, items)
  chunks(items, function(first, last) call(command, key, unpack(items, first, last)) end)
end

-- Counts, as they will be.
local counts, changed = {}, {}
local function know(fields)
  local missing = {}
  for _, field in ipairs(fields) do
    if not counts[field] then missing[#missing + 1] = field end
  end
  chunks(missing, function(first, last)
    local found = call('HMGET', COUNTS, unpack(missing, first, last))
    for i = first, last do counts[missing[i]] = tonumber(found[i - first + 1] or 0) or 0 end
  end)
end
local function count(field)
  if not counts[field] then counts[field] = tonumber(call('HGET', COUNTS, field) or 0) or 0 end
  return counts[field]
end
local function add(field, n)
  local pool = sub(field, 1, 1)
  counts[pool], counts[field] = math.max(count(pool) + n, 0), math.max(count(field) + n, 0)
  changed[pool], changed[field] = true, true
end

know({'s', 'b'})
local idle = counts.s + counts.b == 0

-- The switch, as `arrive` and `settle` in gateway/routing/threshold.py have it: with what comes from outside, and without.
local machines, switched = {}, false
if MARK >= 0 then
  local found = call('HMGET', SWITCH, 'high', 'since', 'alone', 'alone_since')
  machines[1] = {high = found[1] == '1', since = tonumber(found[2] or ''), outside = OUTSIDE.s + OUTSIDE.b}
  machines[2] = {high = found[3] == '1', since = tonumber(found[4] or ''), outside = 0}
end
local function settle()
  for _, machine in ipairs(machines) do
    if machine.high and BOUND > 0 then
      switched = true
      if count('s') + count('b') + machine.outside >= MARK then
        machine.since = nil
      else
        machine.since = math.min(machine.since or now, now)
        if now - machine.since >= DWELL then machine.high, machine.since = false, nil end
      end
    end
  end
end
local function arrive()
  settle()
  for _, machine in ipairs(machines) do
    if not machine.high and BOUND > 0 and count('s') + count('b') + machine.outside >= BOUND then
      machine.high, machine.since, switched = true, nil, true
    end
  end
end

-- Who is forgotten, and what the caller has besides.
for _, name in ipairs(list()) do forgotten[#forgotten + 1] = name end
local dropped = {}
for _, name in ipairs(forgotten) do
  if not dropped[name] then
    dropped[name] = true
    for _, field in ipairs(call('HVALS', names(LEASES, name))) do add(field, -1) end
  end
end
local put, gone = {}, {}
local adopted = list()
for i = 1, #adopted, 2 do
  if not put[adopted[i]] and call('HEXISTS', LEASES, adopted[i]) == 0 then
    put[adopted[i]] = adopted[i + 1]
    add(adopted[i + 1], 1)
  end
end

for _, pool in ipairs({'s', 'b'}) do
  local length = tonumber(take())
  if length >= 0 then
    local view = {}
    for i = 1, length, 2 do
      view[i + 1], view[i] = take(), take()
    end
    call('DEL', VIEW[pool])
    write('ZADD', VIEW[pool], view)
    call('PEXPIRE', VIEW[pool], KEPT)
  end
end

local returned = list()
chunks(returned, function(first, last)
  local found = call('HMGET', LEASES, unpack(returned, first, last))
  for i = first, last do
    local lease, field = returned[i], found[i - first + 1] or put[returned[i]]
    if field and not gone[lease] then
      gone[lease], put[lease] = true, nil
      add(field, -1)
    end
  end
end)
settle()

-- Choosing a replica, as `Pool.pick` in gateway/pools/pool.py does with gateway/routing/balance.py.
local function mixed(x)
  x = x % WORD
  return (floor(x / 65536) * MIX % WORD * 65536 + x % 65536 * MIX) % WORD
end
local function ring(pool, flat)
  local fields, digests, outside = {}, {}, {}
  for i = 1, #flat, 2 do
    local at, url = (i + 1) / 2, flat[i]
    local space = string.find(url, ' ', 1, true)
    outside[at] = space and tonumber(sub(url, 1, space - 1)) or 0
    fields[at], digests[at] = pool .. ' ' .. (space and sub(url, space + 1) or url), tonumber(flat[i + 1])
  end
  know(fields)
  return {pool = pool, fields = fields, digests = digests, outside = outside}
end
local rings, sizes = {}, {}
local function everybody(pool)
  rings[pool] = rings[pool] or ring(pool, call('ZRANGE', VIEW[pool], 0, -1, 'WITHSCORES'))
  return rings[pool]
end
local function size(pool)
  sizes[pool] = sizes[pool] or call('ZCARD', VIEW[pool])
  return sizes[pool]
end
local function neighbours(pool, place)
  local flat = call('ZRANGEBYSCORE', VIEW[pool], mixed(place), '+inf', 'WITHSCORES', 'LIMIT', 0, EXACT)
  if #flat < 2 * EXACT then
    for _, item in ipairs(call('ZRANGE', VIEW[pool], 0, EXACT - #flat / 2 - 1, 'WITHSCORES')) do
      flat[#flat + 1] = item
    end
  end
  return ring(pool, flat)
end
local function least(among, affinity, tried)
  local best, fewest, score
  for i, field in ipairs(among.fields) do
    local n = counts[field] + among.outside[i]
    if not (best and n > fewest) and not tried[field] and counts[field] < CAP[among.pool] then
      local rank = mixed(bit.bxor(among.digests[i], affinity))
      if not best or n < fewest or rank > score then best, fewest, score = field, n, rank end
    end
  end
  return best, fewest
end
local function pick(pool, affinity, tried)
  if size(pool) > EXACT then
    local total = count(pool) + OUTSIDE[pool]
    local fair = math.min(math.ceil(total / size(pool)), CAP[pool] + OUTSIDE[pool] - 1)
    for _, place in ipairs({affinity, affinity + total + 1}) do
      local best, fewest = least(neighbours(pool, place), affinity, tried)
      if best and fewest <= fair then return best end
    end
  end
  local best = least(everybody(pool), affinity, tried)
  return best
end
local function room(pool, tried)
  if size(pool) == 0 then return 0 end
  if not next(tried) and count(pool) < CAP[pool] * size(pool) then return 1 end
  for _, field in ipairs(everybody(pool).fields) do
    if not tried[field] and counts[field] < CAP[pool] then return 1 end
  end
  return 0
end

-- Who waits at other gateways, and here.
local waiting, waits, waited = nil, {}, {}
local function queues()
  if waiting then return waiting end
  waiting = {}
  local flat = call('HGETALL', WAITING)
  for i = 1, #flat, 2 do
    local lane, name = string.match(flat[i], '^(%a+) (.*)$')
    local since, ends, left = string.match(flat[i + 1], '^(%d+) (%d+) (%d)$')
    since, ends = tonumber(since), tonumber(ends)
    if ends > now and ends <= now + PATIENCE and not dropped[name] then
      waiting[flat[i]] = {key = flat[i], lane = lane, name = name, since = since, ends = ends, left = left == '1'}
    end
  end
  return waiting
end
local function owed(pool, since)
  local older = {}
  for _, other in pairs(queues()) do
    if other.name ~= ME and other.since < since and string.find(other.lane, pool, 1, true) then
      older[#older + 1] = other
    end
  end
  if #older == 0 then return false end
  local places = math.max(CAP[pool] * size(pool) - count(pool), 1)
  if places > #older then return false end
  table.sort(older, function(one, two) return one.since < two.since or one.since == two.since and one.key < two.key end)
  for i = 1, places do
    older[i].left, waits[older[i].key] = true, older[i]
  end
  return true
end
local function queued(letters, since, placed, yields)
  local lane = (string.find(letters, 's', 1, true) and 's' or '') .. (string.find(letters, 'b', 1, true) and 'b' or '')
  local key = lane .. ' ' .. ME
  local known = queues()[key]
  if placed or known and known.left and not yields then
    waiting[key], waits[key], waited[#waited + 1] = nil, nil, known and key
  else
    waiting[key] = {key = key, lane = lane, name = ME, since = since, ends = now + PATIENCE, left = false}
    waits[key] = waiting[key]
  end
end

local answers = {}
for _ = 1, tonumber(take()) do
  local lease, test, letters, affinity, wait, tried = take(), take(), take(), tonumber(take()), tonumber(take()), {}
  for _ = 1, tonumber(take()) do tried[take()] = true end
  local over, alone = false, false
  if test == 's' then
    over, alone = count('s') + OUTSIDE.s >= BOUND, count('s') >= BOUND
  elseif test == 'w' then
    arrive()
    over, alone = machines[1].high, machines[2].high
  end
  local case = (alone and 8 or 0) + (over and 4 or 0) + 2 * room('s', tried) + room('b', tried)
  local pool, url, yields = sub(letters, case + 1, case + 1), '', false
  if VIEW[pool] and wait >= 0 and owed(pool, now - wait) then
    case, yields = case - case % 4, true
    pool = sub(letters, case + 1, case + 1)
  end
  if VIEW[pool] then
    local field = pick(pool, affinity, tried)
    put[lease], url = field, sub(field, 3)
    add(field, 1)
    settle()
  end
  if wait > 0 then queued(letters, now - wait, url ~= '', yields) end
  answers[#answers + 1] = case
  answers[#answers + 1] = url
end

local leases, there, zero, back, queue = {}, {}, {}, {}, {}
for lease, field in pairs(put) do
  leases[#leases + 1], leases[#leases + 2] = lease, field
end
for field in pairs(changed) do
  if counts[field] > 0 then
    there[#there + 1], there[#there + 2] = field, counts[field]
  else
    zero[#zero + 1] = field
  end
end
for key, one in pairs(waits) do
  queue[#queue + 1], queue[#queue + 2] = key, one.since .. ' ' .. one.ends .. ' ' .. (one.left and 1 or 0)
end
for lease in pairs(gone) do back[#back + 1] = lease end
write('HSET', LEASES, leases)
write('HSET', COUNTS, there)
write('HSET', WAITING, queue)
if #queue > 0 then call('PEXPIRE', WAITING, PATIENCE) end
if switched then
  local one, two = machines[1], machines[2]
  call('HSET', SWITCH, 'high', one.high and '1' or '0', 'since', one.since or '', 'alone', two.high and '1' or '0',
    'alone_since', two.since or '')
end
-- A key that begins now may never see a heartbeat.
if idle and #leases > 0 then
  for i = 2, 4 do call('PEXPIRE', KEYS[i], KEPT) end
end
if WHAT ~= 'step' and not dropped[ME] then call('ZADD', GATEWAYS, now + EXPIRY, ME) end
write('HDEL', COUNTS, zero)
write('HDEL', LEASES, back)
write('HDEL', WAITING, waited)
for name in pairs(dropped) do
  call('ZREM', GATEWAYS, name)
  call('DEL', names(LEASES, name), names(VIEW.s, name), names(VIEW.b, name))
  call('HDEL', WAITING, 's ' .. name, 'b ' .. name, 'sb ' .. name)
end

local reply = {'ok', MARK >= 0 and machines[1].high and 1 or 0, count('s'), count('b'), 0, answers}
if WHAT == 'step' then return reply end

-- The counts are the leases: where keys were lost, or what they say makes no sense, they are made anew.
local living, held = call('ZRANGE', GATEWAYS, 0, -1), 0
local known = {}
for _, name in ipairs(living) do
  held = held + call('HLEN', names(LEASES, name))
  -- One that has come back may be here under older names too, until its beat has them forgotten.
  local gateway = string.match(name, '^(.*)%.%d+$') or name
  if not known[gateway] then known[gateway], reply[5] = true, reply[5] + 1 end
end
local found, sums, sound = call('HGETALL', COUNTS), {s = count('s'), b = count('b')}, held == count('s') + count('b')
for i = 1, #found, 2 do
  local pool, n = sub(found[i], 1, 1), string.match(found[i + 1], '^%d+$')
  if not (sums[pool] and n) then
    sound = false
  elseif #found[i] > 1 then
    sums[pool] = sums[pool] - n
  end
end
if not sound or sums.s ~= 0 or sums.b ~= 0 then
  counts, changed = {s = 0, b = 0}, {}
  for _, name in ipairs(living) do
    for _, field in ipairs(call('HVALS', names(LEASES, name))) do
      counts[field] = counts[field] or 0
      add(field, 1)
    end
  end
  local all, stale = {}, {}
  for field, n in pairs(counts) do
    if n > 0 then all[#all + 1], all[#all + 2] = field, n end
  end
  for _, field in ipairs(call('HKEYS', COUNTS)) do
    if (counts[field] or 0) == 0 then stale[#stale + 1] = field end
  end
  write('HSET', COUNTS, all)
  write('HDEL', COUNTS, stale)
  reply[3], reply[4], found = counts.s, counts.b, call('HGETALL', COUNTS)
end
for i = 1, 6 do call('PEXPIRE', KEYS[i], KEPT) end
reply[7] = found
if WHAT == 'audit' then reply[8] = call('HKEYS', LEASES) end
return reply
