import { type MeasuredPair, NOTHING, sumOf } from '../../features/generations/measured.js'
import type { SimulatorPlace } from '../embedded.js'
import type { Running } from '../load.js'
import { messageOf } from '../problems.js'
import { settingsOf, slicesOf } from '../reading/slices.js'
import type { Prepared, Target } from '../swap.js'
import type { Member } from './crew.js'
import { NoAnswer } from './link.js'
import { COMMIT, DROP, ENTRIES, MEASURED, PREPARE, PREPARE_TIMEOUT_MS, STEP_TIMEOUT_MS, TRY } from './messages.js'
import { withStartSettings } from './start-settings.js'

interface Places {
  /** Workers that serve. */
  readonly members: () => readonly Member[]
  /** Prepares what workers share, and says where it is. */
  readonly simulatorFor: (running: Running) => Promise<SimulatorPlace | undefined>
  /** A worker did not change over: it must not serve any longer. */
  readonly onStuck: (member: Member, error: unknown) => void
}

/** A plan that gets a share of the requests in all workers. */
interface Tried {
  readonly running: Running
  readonly number: number
  readonly share: number
  /** What each process said last, by its id; those that have ended, too. */
  readonly measured: Map<number, MeasuredPair>
}

/**
 * Brings a plan to all workers in two phases: all of them prepare it, or none of them serves it. A worker that dies meanwhile
 * is left out: its successor gets what holds then.
 */
export class Rollout implements Target {
  readonly #places: Places
  /** What the gateway began with. */
  readonly #first: Running
  /** What holds now. */
  #running: Running
  #number = 1
  #tried: Tried | undefined
  readonly #last = new WeakMap<Member, Promise<void>>()

  constructor(running: Running, places: Places) {
    this.#first = running
    this.#running = running
    this.#places = places
  }

  async prepare(next: Running, number: number): Promise<Prepared> {
    const members = this.#places.members()
    const settled = await Promise.allSettled(
      members.map(member => this.#inTurn(member, () => this.#deliver(member, next, number))),
    )
    const failed = settled.flatMap((outcome, at) => {
      const member = members[at]
      const isThere = member !== undefined && this.#places.members().includes(member)
      return outcome.status === 'rejected' && isThere ? [{ member, reason: outcome.reason as unknown }] : []
    })
    const silent = failed.filter(({ reason }) => reason instanceof NoAnswer)
    // If none of them answers, it is the plan, or all of the machine, that is slow.
    const isStuck = settled.some(({ status }) => status === 'fulfilled')
    if (isStuck) for (const { member, reason } of silent) this.#places.onStuck(member, reason)
    const faults = failed
      .filter(one => !isStuck || !silent.includes(one))
      .map(({ member, reason }) => `worker ${member.number}: ${messageOf(reason)}`)
    if (faults.length === 0) {
      return {
        try: share => this.#try({ running: next, number, share, measured: new Map() }),
        commit: () => this.#commit(next, number),
        drop: () => this.#drop(number),
      }
    }
    this.#drop(number)
    throw new Error(`not all workers can serve it: ${faults.join('; ')}`)
  }

  async measured(): Promise<MeasuredPair> {
    const tried = this.#tried
    if (tried === undefined) return { fresh: NOTHING, stable: NOTHING }
    const members = this.#places.members().filter(({ ready }) => ready.has(tried.number))
    await Promise.allSettled(
      members.map(async ({ pid, link }) => void tried.measured.set(pid, await link.ask(MEASURED, null))),
    )
    return sumOf([...tried.measured.values()])
  }

  /** Gives a new worker what holds. `start` makes it serve; it may be out of date by then. */
  async greet(member: Member, start: (number: number) => Promise<void>): Promise<void> {
    const [{ plan, config }, number] = [this.#running, this.#number]
    await this.#deliver(member, { plan, config: withStartSettings(config, this.#first.config) }, number)
    await start(number)
    member.ready.clear()
    member.generation = number
    await this.#catchUp(member)
  }

  async #try(tried: Tried): Promise<void> {
    this.#tried = tried
    await this.#all(member => this.#catchUp(member))
  }

  async #commit(next: Running, number: number): Promise<void> {
    this.#running = next
    this.#number = number
    this.#tried = undefined
    await this.#all(member => this.#catchUp(member))
  }

  #drop(number: number): void {
    if (this.#tried?.number === number) this.#tried = undefined
    for (const { link, ready } of this.#places.members()) {
      ready.delete(number)
      link.tell(DROP, { number })
    }
  }

  /** Those that have begun to serve meanwhile, too. */
  async #all(change: (member: Member) => Promise<void>): Promise<void> {
    const known = new Set<Member>()
    const next = (): readonly Member[] => this.#places.members().filter(member => !known.has(member))
    for (let members = next(); members.length > 0; members = next()) {
      for (const member of members) known.add(member)
      await Promise.all(members.map(member => change(member).catch(error => this.#places.onStuck(member, error))))
    }
  }

  async #catchUp(member: Member): Promise<void> {
    await this.#inTurn(member, () => this.#bring(member))
  }

  /** What is sent to a worker for one plan must not come between what is sent for another. */
  async #inTurn(member: Member, job: () => Promise<void>): Promise<void> {
    const before = this.#last.get(member) ?? Promise.resolve()
    const done = before.then(job)
    this.#last.set(
      member,
      done.catch(() => undefined),
    )
    await done
  }

  /** Brings a worker to what holds, and to what is tried. */
  async #bring(member: Member): Promise<void> {
    while (member.generation !== this.#number) {
      const number = this.#number
      if (!member.ready.has(number)) await this.#deliver(member, this.#running, number)
      await member.link.ask(COMMIT, { number }, STEP_TIMEOUT_MS)
      member.ready.clear()
      member.generation = number
      member.tries = 0
    }
    const tried = this.#tried
    if (tried === undefined || member.tries === tried.number) return
    const { number, share, running } = tried
    if (!member.ready.has(number)) await this.#deliver(member, running, number)
    await member.link.ask(TRY, { number, share }, STEP_TIMEOUT_MS)
    member.tries = number
    if (this.#tried !== tried || member.generation !== this.#number) await this.#bring(member)
  }

  /** The worker could serve it when this resolves. */
  async #deliver({ link, ready }: Member, running: Running, generation: number): Promise<void> {
    const simulator = await this.#places.simulatorFor(running)
    for (const slice of slicesOf(running.config)) await link.ask(ENTRIES, slice, STEP_TIMEOUT_MS)
    const { digest } = running.plan
    const preparation = { settings: settingsOf(running.config), digest, generation, simulator }
    const { fault } = await link.ask(PREPARE, preparation, PREPARE_TIMEOUT_MS)
    if (fault !== undefined) throw new Error(fault)
    ready.add(generation)
  }
}
