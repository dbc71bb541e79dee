import { GatewayError } from '../../core/errors.js'
import type { Call } from '../../kernel/call.js'
import type { Generation } from '../../kernel/generation.js'
import type { Kernel, Trial } from '../../kernel/kernel.js'
import type { Maybe, Service } from '../../kernel/stages.js'
import type { HttpRequest } from '../../transport/exchange.js'
import { type Known, knownBy, NO_ONE } from './known.js'
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
    const isAsked = wanted !== undefined || this.#kernel.trial !== undefined
    const known = isAsked ? knownBy(this.#kernel, request, wanted !== undefined) : NO_ONE
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
}
