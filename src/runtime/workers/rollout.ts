import type { SimulatorPlace } from '../embedded.js'
import type { Running } from '../load.js'
import { messageOf } from '../problems.js'
import { settingsOf, slicesOf } from '../reading/slices.js'
import type { Prepared, Target } from '../swap.js'
import type { Member } from './crew.js'
import { COMMIT, DROP, ENTRIES, PREPARE, PREPARE_TIMEOUT_MS, STEP_TIMEOUT_MS } from './messages.js'
import { withStartSettings } from './start-settings.js'

interface Places {
  /** Workers that serve. */
  readonly members: () => readonly Member[]
  /** Prepares what workers share, and says where it is. */
  readonly simulatorFor: (running: Running) => Promise<SimulatorPlace | undefined>
  /** A worker did not change over: it must not serve any longer. */
  readonly onStuck: (member: Member, error: unknown) => void
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

  constructor(running: Running, places: Places) {
    this.#first = running
    this.#running = running
    this.#places = places
  }

  async prepare(next: Running, number: number): Promise<Prepared> {
    const members = this.#places.members()
    const settled = await Promise.allSettled(members.map(member => this.#deliver(member, next, number)))
    const faults = settled.flatMap((outcome, at) => {
      const member = members[at]
      const isThere = member !== undefined && this.#places.members().includes(member)
      return outcome.status === 'rejected' && isThere ? [`worker ${member.number}: ${messageOf(outcome.reason)}`] : []
    })
    if (faults.length === 0) return { commit: () => this.#commit(members, next, number), drop: () => drop(members) }
    drop(members)
    throw new Error(`not all workers can serve it: ${faults.join('; ')}`)
  }

  /** Gives a new worker what holds. `start` makes it serve; it may be out of date by then. */
  async greet(member: Member, start: (number: number) => Promise<void>): Promise<void> {
    const [{ plan, config }, number] = [this.#running, this.#number]
    await this.#deliver(member, { plan, config: withStartSettings(config, this.#first.config) }, number)
    await start(number)
    member.generation = number
    await this.#catchUp(member)
  }

  async #commit(members: readonly Member[], next: Running, number: number): Promise<void> {
    this.#running = next
    this.#number = number
    await Promise.all(members.map(member => this.#swap(member, number)))
    // Those that have begun to serve meanwhile.
    const late = this.#places.members().filter(member => !members.includes(member))
    await Promise.all(late.map(member => this.#catchUp(member).catch(error => this.#places.onStuck(member, error))))
  }

  async #swap(member: Member, number: number): Promise<void> {
    try {
      await member.link.ask(COMMIT, null, STEP_TIMEOUT_MS)
      member.generation = number
    } catch (error) {
      this.#places.onStuck(member, error)
    }
  }

  async #catchUp(member: Member): Promise<void> {
    while (member.generation !== this.#number) {
      const number = this.#number
      await this.#deliver(member, this.#running, number)
      await member.link.ask(COMMIT, null, STEP_TIMEOUT_MS)
      member.generation = number
    }
  }

  /** The worker could serve it when this resolves. */
  async #deliver({ link }: Member, running: Running, generation: number): Promise<void> {
    const simulator = await this.#places.simulatorFor(running)
    for (const slice of slicesOf(running.config)) await link.ask(ENTRIES, slice, STEP_TIMEOUT_MS)
    const { digest } = running.plan
    const preparation = { settings: settingsOf(running.config), digest, generation, simulator }
    const { fault } = await link.ask(PREPARE, preparation, PREPARE_TIMEOUT_MS)
    if (fault !== undefined) throw new Error(fault)
  }
}

function drop(members: readonly Member[]): void {
  for (const { link } of members) link.tell(DROP, null)
}
