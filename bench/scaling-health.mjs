// An upstream that dies, seen by many gateways in virtual time: the real circuits and their stage, and the real sharing over a
// store (`features/health`). Each request may be asked of two upstreams; `first` dies.
import { DEFAULTS } from '../dist/core/defaults.generated.js'
import { Circuits } from '../dist/features/health/circuits.js'
import { SecretTurns } from '../dist/features/health/secrets.js'
import { healthStage } from '../dist/features/health/stage.js'
import { StoreSharing } from '../dist/features/health/store-sharing.js'
import { Slots } from '../dist/kernel/slot.js'
import { MemoryStore } from '../dist/stores/memory.js'
import { inVirtualTime, VirtualClock } from './virtual-clock.mjs'

/** To the store and back, and how long an upstream takes, milliseconds. */
const STORE_MS = 2
const ANSWER_MS = 20
/** How a dead upstream fails: it refuses connections, or nothing answers until the time for a connection is over. */
const DEATHS = { 'refuses connections': 1, 'answers nothing': DEFAULTS.timeouts.connect }
/** Of the gateways that are busy among quiet ones, and their requests a second, and those of the quiet ones. */
const [BUSY_EVERY, BUSY_RATE, QUIET_RATE] = [20, 50, 0.2]

const CONNECT = { phase: 'connect', task: undefined, status: undefined, error: undefined, begun: false }
const OK = { ...CONNECT, phase: 'ok', status: 200, begun: true }
const exchange = name => ({ upstream: { name, keeper: name }, model: 'm', health: DEFAULTS.healthRule })
const [FIRST, SECOND] = [exchange('first'), exchange('second')]

class Attempt extends Slots {
  isSent = true

  constructor(call, target) {
    super()
    this.call = call
    this.exchange = target
  }
}

class Gateway {
  circuits
  #stage
  #sharing

  constructor(clock, store) {
    this.circuits = new Circuits(clock.now)
    this.#stage = healthStage(this.circuits, new SecretTurns(this.circuits), clock.now)
    this.#sharing = store && new StoreSharing(store, this.circuits)
    this.circuits.onChange = change => this.#sharing?.changed(change)
  }

  get knows() {
    return this.circuits.openOf(FIRST).length > 0
  }

  /** One request: the time at which it ends is given by `fate`, which is asked for the upstream that is asked. */
  ask(clock, fate) {
    const call = new Slots()
    const [target] = this.#stage.narrow(call, [FIRST, SECOND])
    const attempt = new Attempt(call, target)
    this.#stage.beforeAttempt(attempt)
    const { after, isGood } = fate(target === FIRST)
    clock.after(after, () => {
      this.#stage.afterAttempt(attempt, isGood ? OK : CONNECT)
      this.#stage.settle(call)
    })
    return target === FIRST
  }

  close() {
    return this.#sharing?.close()
  }
}

/** The upstream, dead from one moment to another, and what is asked of it meanwhile. */
class Upstream {
  met = 0
  constructor(clock, failMs, from, to) {
    Object.assign(this, { clock, failMs, from, to })
  }

  get isDead() {
    return this.clock.elapsed >= this.from && this.clock.elapsed < this.to
  }

  fate = isFirst => {
    if (!isFirst || !this.isDead) return { after: ANSWER_MS, isGood: true }
    this.met++
    return { after: this.failMs, isGood: false }
  }
}

/** The store as all gateways see it; counts their calls. */
function countedStore(clock, counts) {
  const store = new MemoryStore()
  const call = async work => {
    counts.all++
    const second = Math.floor(clock.elapsed / 1000)
    counts.by.set(second, (counts.by.get(second) ?? 0) + 1)
    await clock.sleep(STORE_MS)
    return work()
  }
  return {
    get: (...place) => call(() => store.get(...place)),
    create: draft => call(() => store.create(draft)),
    replace: (record, change) => call(() => store.replace(record, change)),
  }
}

/** All gateways have as much to do, and the upstream dies after a second. */
export async function deadUpstream(gateways, perGateway, row) {
  for (const [name, failMs] of Object.entries(DEATHS)) {
    const clock = new VirtualClock()
    await inVirtualTime(clock, async () => {
      const upstream = new Upstream(clock, failMs, 1000, Number.POSITIVE_INFINITY)
      const counts = { all: 0, by: new Map() }
      const store = countedStore(clock, counts)
      const all = Array.from({ length: gateways }, () => new Gateway(clock, store))
      const noticed = new Noticed(all, clock)
      await clock.pass(1000 + failMs + 1000, at => {
        // Before, nothing is learned.
        if (at < 900) return
        for (const one of all) for (let n = 0; n < perGateway / 1000; n++) one.ask(clock, upstream.fate)
        if (upstream.isDead) noticed.look(at - upstream.from)
      })
      row(gateways, `dead upstream, ${name}`, {
        ...noticed.shown(),
        'requests that met it': perThousand(upstream.met, gateways, perGateway),
        'store calls in the busiest second': Math.max(...counts.by.values()),
      })
      await closed(all, clock)
    })
  }
}

const perThousand = (met, gateways, perGateway) =>
  `${met.toLocaleString('en')} (${Math.round(met / gateways)} of each gateway, ${((met / gateways / perGateway) * 1000).toFixed(0)} ms of its traffic)`

/** Few gateways are busy, and the others learn of it by the store; beside the same without a store. */
export async function quietGateways(gateways, row) {
  for (const isShared of [true, false]) {
    const clock = new VirtualClock()
    await inVirtualTime(clock, async () => {
      const [from, to] = [15_000, 75_000]
      const upstream = new Upstream(clock, 1, from, to)
      const counts = { all: 0, by: new Map() }
      const store = isShared ? countedStore(clock, counts) : undefined
      const all = Array.from({ length: gateways }, () => new Gateway(clock, store))
      const quiet = all.filter((_, index) => index % BUSY_EVERY !== 0)
      const noticed = new Noticed(quiet, clock)
      for (const [index, one] of all.entries())
        traffic(one, index % BUSY_EVERY === 0 ? BUSY_RATE : QUIET_RATE, clock, upstream)
      let backAt
      await clock.pass(to + 120_000, at => {
        if (at % 50 === 0 && upstream.isDead) noticed.look(at - from)
        if (at % 50 === 0 && at >= to && backAt === undefined && all.every(one => !one.knows)) backAt = at - to
      })
      row(gateways, isShared ? 'quiet gateways, one store' : 'quiet gateways, each for itself', {
        ...noticed.shown(),
        'requests that met it in a minute': upstream.met.toLocaleString('en'),
        'asked by all again': backAt === undefined ? 'not within 2 minutes' : `after ${(backAt / 1000).toFixed(0)} s`,
        ...(isShared && {
          'store calls a second': (counts.all / (clock.elapsed / 1000)).toFixed(1),
          'in the busiest': Math.max(...counts.by.values()),
        }),
      })
      await closed(all, clock)
    })
  }
}

/** Requests that come by chance, so many a second on average. */
function traffic(gateway, perSecond, clock, upstream) {
  const next = () => {
    clock.after((-Math.log(1 - Math.random()) / perSecond) * 1000, () => {
      gateway.ask(clock, upstream.fate)
      next()
    })
  }
  next()
}

/** How many gateways know. */
class Noticed {
  #left
  #count
  /** The moment at which a share of them knew, milliseconds. */
  #at = new Map()

  constructor(gateways) {
    this.#left = gateways
    this.#count = gateways.length
  }

  look(at) {
    if (this.#left.length === 0) return
    this.#left = this.#left.filter(one => !one.knows)
    for (const share of [0.5, 0.95, 1])
      if (1 - this.#left.length / this.#count >= share && !this.#at.has(share)) this.#at.set(share, at)
  }

  shown() {
    const at = share => (this.#at.has(share) ? `${this.#at.get(share).toLocaleString('en')} ms` : 'never')
    return { 'half know after': at(0.5), '95 %': at(0.95), all: at(1) }
  }
}

async function closed(gateways, clock) {
  const ended = Promise.all(gateways.map(one => one.close()))
  await clock.pass(20)
  await ended
}
