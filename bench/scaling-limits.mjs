// Rates and budgets of many gateways on one store, in virtual time: the real code of leases (`features/limits`) and the store's
// real accounts, all requests with one key.
import { Book } from '../dist/features/limits/book.js'
import { claimOf } from '../dist/features/limits/reservation.js'
import { MemoryAccounts } from '../dist/stores/memory-accounts.js'
import { VirtualClock } from './virtual-clock.mjs'

/** How long a request takes, milliseconds. */
const REQUEST_MS = 20
/** One way to the store and back, milliseconds: in the same region, and from the far one. */
const STORE_MS = { near: 2, far: 80 }
/** Every fifth gateway is in the far region. */
const FAR_EVERY = 5
/** Of the store calls, the busiest so long a time is shown. */
const PEAK_MS = 100
/** After this leases that are not renewed are over, with a margin. */
const LEASE_MS = 75_000
const USD = 1_000_000
/** What a request costs, millionths of a USD. */
const COST = 100
/** What it may cost at most, which is reserved. */
const WORST_COST = 400
/** Part of the demand that a rate allows. */
const RATE_PART = 0.6
/** A second in which so much more or less than the rate passes is as it should be. */
const IS_EXACT = 0.01
const NEVER = { from: Number.POSITIVE_INFINITY, to: Number.POSITIVE_INFINITY }

const within = (at, { from, to }) => at >= from && at < to
const percent = share => `${(share * 100).toFixed(2)} %`

/**
 * One run. `perGateway`: requests a second. `away`: when the store answers no one; `cutOff`: when it does not answer the far
 * region. `gone`: when the far region is away with all its gateways, whose requests the others get. `boundAt`: the scopes of a
 * gateway at a moment.
 */
async function simulate(gateways, perGateway, seconds, job) {
  const { scopesAt, amounts, used, away = NEVER, cutOff = NEVER, gone = NEVER, later = 3000 } = job
  const clock = new VirtualClock()
  const accounts = new MemoryAccounts(() => {})
  const counts = { calls: 0, asked: 0, admitted: 0, waited: 0 }
  const [admitted, calls] = [tally(1000), tally(PEAK_MS)]
  const isFar = index => index % FAR_EVERY === FAR_EVERY - 1
  const storeOf = far => {
    const call = async work => {
      counts.calls++
      calls.add(clock.elapsed)
      await clock.sleep(far ? STORE_MS.far : STORE_MS.near)
      const at = clock.elapsed
      if (within(at, away) || (far && (within(at, cutOff) || within(at, gone)))) throw new Error('the store is away')
      return work()
    }
    return {
      commit: commit => call(() => accounts.commit(commit)),
      read: (names, now) => call(() => accounts.read(names, now)),
      release: () => Promise.resolve(),
    }
  }
  const books = Array.from(
    { length: gateways },
    (_, index) => new Book(storeOf(isFar(index)), { clock, isShared: true, isDurable: false, onFault: () => {} }),
  )
  const begun = (book, taken, hasWaited) => {
    if (taken.isOpen !== true) return
    counts.admitted++
    if (hasWaited) counts.waited++
    admitted.add(clock.elapsed)
    clock.after(REQUEST_MS, () => book.settle(taken, used))
  }
  let due = 0
  await clock.pass(seconds * 1000, at => {
    due += perGateway / 1000
    const isLess = within(at, gone)
    for (; due >= 1; due--) {
      for (let index = 0; index < gateways; index++) {
        // Who is away sends what it gets to the next one.
        const book = books[isLess && isFar(index) ? (index + 1 + (at % (FAR_EVERY - 1))) % gateways : index]
        counts.asked++
        const taken = book.reserve([claimOf(scopesAt(index, at), amounts)])
        if (taken instanceof Promise) void taken.then(one => begun(book, one, true))
        else begun(book, taken, false)
      }
    }
  })
  const held = () => heldBy(accounts, scopesAt(0, 0), clock.now())
  const heldAtEnd = await held()
  await clock.pass(later)
  return { counts, admitted, calls, seconds, heldAtEnd, heldLater: await held() }
}

/** Counts what happens, by steps of time. */
function tally(stepMs) {
  const counts = new Map()
  const of = step => counts.get(step) ?? 0
  return {
    add: at => counts.set(Math.floor(at / stepMs), of(Math.floor(at / stepMs)) + 1),
    of,
    most: (from, to) => {
      let most = 0
      for (let step = Math.floor(from / stepMs); step < to / stepMs; step++) most = Math.max(most, of(step))
      return most
    },
  }
}

/** What leases hold of a bound without a window. */
async function heldBy(accounts, [{ name, limits }], now) {
  const [{ unit, window }] = limits.bounds
  const [tally] = await accounts.read([`key:${name} ${unit} ${window}`], now)
  return tally?.held ?? 0
}

const scopes = bound => [{ type: 'key', name: 'everyone', limits: { bounds: [bound] } }]

function rateJob(gateways, perGateway) {
  const amount = Math.round(gateways * perGateway * RATE_PART)
  const one = scopes({ unit: 'requests', amount, window: 'second' })
  return { bound: amount, scopesAt: () => one, amounts: { requests: 1 }, used: { requests: 1 } }
}

/** Spent after so many seconds. */
function budgetJob(gateways, perGateway, seconds) {
  const amount = Math.round(gateways * perGateway * seconds * COST)
  const one = scopes({ unit: 'budget', amount, window: 'total' })
  return { bound: amount, scopesAt: () => one, amounts: { budget: WORST_COST }, used: { budget: COST } }
}

/** Nothing fails: the error of a rate, the overshoot of a budget, and what both cost the store. */
export async function steady(gateways, perGateway, seconds, row) {
  const rate = rateJob(gateways, perGateway)
  const { admitted, ...run } = await simulate(gateways, perGateway, seconds, rate)
  const errors = Array.from({ length: seconds }, (_, second) => admitted.of(second) / rate.bound - 1)
  row(gateways, 'rate', {
    'over it, at most': percent(Math.max(...errors)),
    'below it, at most': percent(Math.max(0, ...errors.map(one => -one))),
    ...storeCalls(run),
  })
  const budget = budgetJob(gateways, perGateway, seconds / 2)
  const spending = await simulate(gateways, perGateway, seconds, budget)
  const spent = spending.counts.admitted * COST
  row(gateways, 'budget', {
    USD: (budget.bound / USD).toFixed(2),
    'spent beyond it, USD': (Math.max(0, spent - budget.bound) / USD).toFixed(4),
    'left unspent': percent(Math.max(0, 1 - spent / budget.bound)),
    ...storeCalls(spending),
  })
}

/** The store fails over: it answers no one from 2 s to 7 s. */
export async function failOver(gateways, perGateway, row) {
  const [seconds, away] = [12, { from: 2000, to: 7000 }]
  const rate = rateJob(gateways, perGateway)
  const run = await simulate(gateways, perGateway, seconds, { ...rate, away })
  row(gateways, 'fail-over: rate', { ...whileAway(run, rate.bound, away), ...burst(run, away) })
  const budget = budgetJob(gateways, perGateway, 2 * seconds)
  const spending = await simulate(gateways, perGateway, seconds, { ...budget, away })
  const demand = gateways * perGateway
  let lost = 0
  for (let second = 2; second < seconds; second++) lost += demand - spending.admitted.of(second)
  row(gateways, 'fail-over: budget', {
    'refused, of the requests meanwhile': percent(lost / (((away.to - away.from) / 1000) * demand)),
    ...burst(spending, away),
  })
}

/** The far region has no store for a second; then it is away as a whole, and the others get its requests. */
export async function regionAway(gateways, perGateway, row) {
  const rate = rateJob(gateways, perGateway)
  const cutOff = { from: 2000, to: 3000 }
  const apart = await simulate(gateways, perGateway, 6, { ...rate, cutOff })
  row(gateways, 'region cut off: rate', whileAway(apart, rate.bound, cutOff))
  const gone = { from: 2000, to: Number.POSITIVE_INFINITY }
  const left = await simulate(gateways, perGateway, 6, { ...rate, gone })
  const after = [3, 4, 5].map(second => left.admitted.of(second) / rate.bound - 1)
  row(gateways, 'region away: rate', {
    'over it, in the second in which it goes': percent(Math.max(0, left.admitted.of(2) / rate.bound - 1)),
    'below it then': percent(Math.max(0, 1 - left.admitted.of(2) / rate.bound)),
    'error afterwards, at most': percent(Math.max(...after.map(Math.abs))),
  })
  const budget = budgetJob(gateways, perGateway, 60)
  const spending = await simulate(gateways, perGateway, 6, { ...budget, gone, later: LEASE_MS })
  row(gateways, 'region away: budget', {
    'in leases of all, 4 s later': percent(spending.heldAtEnd / budget.bound),
    'when a minute has passed': percent(spending.heldLater / budget.bound),
  })
}

/**
 * A reload that halves a rate reaches the gateways one after another within `waveMs`. Two requests of one client, a second
 * apart, may meet gateways of different generations.
 */
export async function reloadWave(gateways, perGateway, waveMs, row) {
  const seconds = Math.ceil(waveMs / 1000) + 4
  const [before, after] = [RATE_PART, RATE_PART / 2].map(part => Math.round(gateways * perGateway * part))
  const [first, second] = [before, after].map(amount => scopes({ unit: 'requests', amount, window: 'second' }))
  // A mix of the numbers, so that neighbours do not change over together.
  const isNew = (index, at) => at >= 2000 + (((index * 7919) % gateways) / gateways) * waveMs
  const scopesAt = (index, at) => (isNew(index, at) ? second : first)
  const run = await simulate(gateways, perGateway, seconds, { ...rateJob(gateways, perGateway), scopesAt })
  const over = at => run.admitted.of(at) / after - 1
  let [pairs, differ, back] = [0, 0, 0]
  for (let at = 1000; at < 2000 + waveMs; at += 10) {
    for (let index = 0; index < gateways; index++) {
      const other = (index * 31 + at) % gateways
      const [now, then] = [isNew(index, at), isNew(other, at + 1000)]
      pairs++
      if (now !== then) differ++
      if (now && !then) back++
    }
  }
  const middle = Math.floor((2000 + waveMs / 2) / 1000)
  row(gateways, 'reload wave', {
    'over the new rate half-way': percent(over(middle)),
    'a second after the last': percent(over(Math.ceil((2000 + waveMs) / 1000) + 1)),
    'pairs of requests that see both generations': percent(differ / pairs),
    'the older one last': percent(back / pairs),
  })
}

function whileAway(run, bound, { from, to }) {
  const error = second => run.admitted.of(second) / bound - 1
  const rough = []
  for (let second = from / 1000; second < to / 1000; second++) rough.push(error(second))
  let back = to / 1000
  while (back < run.seconds && Math.abs(error(back)) > IS_EXACT) back++
  return {
    'over it meanwhile': percent(Math.max(...rough)),
    'exact again': back < run.seconds ? `from second ${back - to / 1000 + 1} on` : 'not within the run',
  }
}

/** The store's calls when it comes back, beside what is usual. */
function burst({ calls }, { from, to }) {
  const usual = calls.most(1000, from - 500)
  const [meanwhile, after] = [calls.most(from + 500, to), calls.most(to, to + 2000)]
  return {
    [`store calls in the busiest ${PEAK_MS} ms`]: `${usual} before, ${meanwhile} meanwhile, ${after} when it is back`,
  }
}

function storeCalls({ counts: { calls, asked, waited, admitted }, seconds }) {
  return {
    'store calls a second': Math.round(calls / seconds),
    'a request': (calls / asked).toFixed(4),
    'waited for the store': percent(waited / Math.max(1, admitted)),
  }
}
