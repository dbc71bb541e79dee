import type { Mirror } from '../../core/strategy.js'
import { InnerExchange, type InnerRequest, type Receiver, type Serve } from '../../kernel/inner.js'
import type { HttpRequest } from '../../transport/exchange.js'

/** Bytes of an answer after which its copy is given up. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

/** What became of the copies of a model's requests, in this process. */
export interface MirrorStanding {
  /** The model whose requests are copied. */
  readonly of: string
  readonly to: string
  readonly inFlight: number
  readonly sent: number
  /** Not sent because as many as may be were under way. */
  readonly dropped: number
}

type Standing = { -readonly [K in keyof MirrorStanding]: MirrorStanding[K] }

/** The copies of this process: how many are under way, and how many were. One entry for each mirror of the plan in service. */
export class Copies {
  readonly #standings = new Map<string, Standing>()
  /** Called for each copy that is sent, or dropped because too many are under way. */
  onCopy: (mirror: Mirror, outcome: 'sent' | 'dropped') => void = () => undefined

  /** Takes a place for a copy; undefined where there is none. */
  begin(mirror: Mirror): Place | undefined {
    const standing = this.#of(mirror)
    if (standing.inFlight >= mirror.inFlight) {
      standing.dropped++
      this.onCopy(mirror, 'dropped')
      return undefined
    }
    standing.inFlight++
    standing.sent++
    this.onCopy(mirror, 'sent')
    return { leave: () => void standing.inFlight-- }
  }

  snapshot(): readonly MirrorStanding[] {
    return [...this.#standings.values()].map(one => ({ ...one }))
  }

  /** Knows these, and forgets the others once none of their copies is under way. */
  keep(mirrors: readonly Mirror[]): void {
    const kept = new Set(mirrors.map(one => this.#of(one)))
    for (const [name, standing] of this.#standings) {
      if (standing.inFlight === 0 && !kept.has(standing)) this.#standings.delete(name)
    }
  }

  #of({ of, to }: Mirror): Standing {
    const name = JSON.stringify([of, to])
    const known = this.#standings.get(name)
    if (known !== undefined) return known
    const made = { of, to, inFlight: 0, sent: 0, dropped: 0 }
    this.#standings.set(name, made)
    return made
  }
}

/** Of a copy under way. */
interface Place {
  leave(): void
}

/** Serves a copy of a request, and reads its answer to its end or to the bound. */
export function sendCopy(request: HttpRequest, copy: InnerRequest, place: Place, serve: Serve): void {
  const drained = new Drained(place)
  const exchange = new InnerExchange(request, copy, drained)
  drained.onTooLarge = () => exchange.destroy()
  serve(exchange)
}

/** Takes an answer that no one reads. */
class Drained implements Receiver {
  readonly #place: Place
  #left = MAX_ANSWER_BYTES
  onTooLarge: () => void = nothing

  constructor(place: Place) {
    this.#place = place
  }

  readonly head = nothing

  data(bytes: Buffer): boolean {
    this.#left -= bytes.length
    if (this.#left < 0) this.onTooLarge()
    return true
  }

  end(): void {
    this.#place.leave()
  }

  broken(): void {
    this.#place.leave()
  }
}

function nothing(): void {}
