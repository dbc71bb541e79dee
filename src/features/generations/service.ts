import { hash } from 'node:crypto'
import type { Caller } from '../../core/caller.js'
import { GatewayError } from '../../core/errors.js'
import type { Miss } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'
import type { Generation } from '../../kernel/generation.js'
import type { Kernel, Trial } from '../../kernel/kernel.js'
import type { Maybe, Service } from '../../kernel/stages.js'
import { SOCKET_METHOD } from '../../kernel/upgrade.js'
import type { HttpRequest } from '../../transport/exchange.js'
import { IDENTITIES } from '../identity/service.js'
import { presentedKey } from '../keys/authenticate.js'
import { CALLERS } from '../keys/callers.js'
import { Measure, type MeasuredPair, NOTHING } from './measured.js'
import { Shares } from './shares.js'

/** Names the generation that is to serve a request. */
const PIN_HEADER = 'x-gateway-generation'

/** What is counted while a generation is tried. */
interface Trying {
  readonly trial: Trial
  readonly shares: Shares
  readonly fresh: Measure
  readonly stable: Measure
}

/** Who presents a key; `name` is the same for all requests that are counted together. */
interface Known {
  readonly name: string
  readonly caller?: Caller
}

/** All without a key count as one. */
const NO_ONE: Known = { name: '' }

/** Chooses between the generations of this process, and measures the one that is tried beside the one that serves. */
export class GenerationsService implements Service {
  readonly #kernel: Kernel
  #trying: Trying | undefined
  /** Called for each request that is compared. */
  onOutcome: (isFresh: boolean, hasFailed: boolean) => void = () => undefined

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    kernel.chooser = request => this.#choose(request)
  }

  /** What was tried has taken over, or something else has: nothing of it is counted on. */
  adopt(): void {
    this.#current()
  }

  /** Since the present trial began. */
  get measured(): MeasuredPair {
    const trying = this.#current()
    return trying === undefined
      ? { fresh: NOTHING, stable: NOTHING }
      : { fresh: trying.fresh.measured, stable: trying.stable.measured }
  }

  /** Where a call is counted; undefined: it is not, because nothing is tried, or because it has named its generation. */
  measureOf(call: Call): { readonly measure: Measure; readonly isFresh: boolean } | undefined {
    const trying = this.#current()
    if (trying === undefined || call.request.headers[PIN_HEADER] !== undefined) return undefined
    const isFresh = call.generation === trying.trial.generation
    if (!isFresh && call.generation !== this.#kernel.generation) return undefined
    return { measure: isFresh ? trying.fresh : trying.stable, isFresh }
  }

  /** Throws where a request names a generation that it does not get. Its caller is known. */
  check({ request, caller, generation }: Call): void {
    const wanted = request.headers[PIN_HEADER]
    // What older generations said of the right to name one does not count.
    if (wanted === undefined || generation !== this.#kernel.generation) return
    if (caller?.generations !== 'pin') {
      throw new GatewayError('forbidden', `This key may not name a generation (${PIN_HEADER}).`, {
        cause: 'the key has no `generations: pin`',
      })
    }
    if (String(generation.number) === wanted) return
    const { trial, kept } = this.#kernel
    const ready = [trial?.generation, generation, ...kept].flatMap(one => one?.number ?? []).join(', ')
    const message = `The generation that ${PIN_HEADER} names is not kept; ready are: ${ready}.`
    throw new GatewayError('bad_request', message, { cause: 'reload.keep says how many are kept' })
  }

  #current(): Trying | undefined {
    const { trial } = this.#kernel
    if (trial === this.#trying?.trial) return this.#trying
    this.#trying = trial && { trial, shares: new Shares(trial.share), fresh: new Measure(), stable: new Measure() }
    return this.#trying
  }

  #choose(request: HttpRequest): Maybe<Generation> {
    const wanted = request.headers[PIN_HEADER]
    const known =
      wanted === undefined && this.#kernel.trial === undefined ? NO_ONE : this.#knownBy(request, wanted !== undefined)
    return known instanceof Promise ? known.then(one => this.#chosen(one, wanted)) : this.#chosen(known, wanted)
  }

  #chosen({ name, caller }: Known, wanted: string | string[] | undefined): Generation {
    const { generation, kept, trial } = this.#kernel
    if (wanted !== undefined) {
      if (caller?.generations !== 'pin') return generation
      return (
        [...kept, ...(trial === undefined ? [] : [trial.generation])].find(one => String(one.number) === wanted) ??
        generation
      )
    }
    const trying = this.#current()
    return trying?.shares.takes(name) === true ? trying.trial.generation : generation
  }

  /** Whose request it is, by the plan that serves. Never throws: the request will be refused in its turn. */
  #knownBy(request: HttpRequest, isPinned: boolean): Maybe<Known> {
    const { plan } = this.#kernel.generation
    const { target, headers } = request
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    const query = mark < 0 ? undefined : new URLSearchParams(target.slice(mark + 1))
    const method = headers.upgrade === undefined ? request.method : SOCKET_METHOD
    const match = plan.match(method, path, headers)
    let presented: string
    try {
      presented = presentedKey(request, query, (match.route ?? (match as Miss)).caller)
    } catch {
      return NO_ONE
    }
    // A token is one caller while it holds.
    const unknown = (): Known => ({ name: `#${hash('sha256', presented)}` })
    const knownAs = (caller: Caller): Known => ({ name: caller.name, caller })
    const now = Date.now()
    const find = (): Maybe<Known> => {
      const found = this.#kernel.need(CALLERS).find(plan, presented, now)
      if (found instanceof Promise) return found.then(one => ('refused' in one ? unknown() : knownAs(one)), unknown)
      return 'refused' in found ? unknown() : knownAs(found)
    }
    if (plan.identity === undefined) return find()
    const identities = this.#kernel.need(IDENTITIES)
    const identified = identities.known(plan, presented, now)
    if (identified !== undefined) return knownAs(identified.caller)
    if (!isPinned) return find()
    const place = 'header'
    const other = async (one: Known): Promise<Known> =>
      one.caller !== undefined
        ? one
        : identities.find(plan, presented, place, now).then(
            ({ caller }) => knownAs(caller),
            () => one,
          )
    const found = find()
    return found instanceof Promise ? found.then(other) : other(found)
  }
}
