import type { Json } from '../../core/json.js'
import { MASKED, type RecordingsConfig } from '../../core/recording.js'
import { differences, memberAt } from './differences.js'
import { type PlayedExchange, SOCKET_METHOD } from './exchange.js'

/** Most recordings that are compared with a request that none fits. */
const MAX_COMPARED = 2000
/** Most differences, and most paths, that a miss names. */
const MAX_NAMED = 5

interface Asked {
  readonly method: string
  readonly path: string
  /** Of a handshake its query. */
  readonly body: Json | undefined
}

/** Why nothing is played. */
interface Miss {
  readonly miss: string
}

/** One of several recordings, and what of it is compared. */
interface Compared {
  readonly exchange: PlayedExchange
  readonly value: Json | undefined
}

/** The recordings of one upstream. Of those that fit alike each is played once, in order; the last of them again and again. */
export class Player {
  readonly timing: RecordingsConfig['timing']
  readonly #match: RecordingsConfig['match']
  readonly #byEnd = new Map<string, PlayedExchange[]>()
  readonly #played = new Set<PlayedExchange>()
  readonly #paths: ReadonlySet<string>

  constructor(exchanges: readonly PlayedExchange[], { match, timing }: RecordingsConfig) {
    this.timing = timing
    this.#match = match
    this.#paths = new Set(exchanges.map(({ method, path }) => `${method} ${path}`))
    for (const exchange of exchanges) {
      const end = endOf(exchange)
      const others = this.#byEnd.get(end)
      if (others === undefined) this.#byEnd.set(end, [exchange])
      else others.push(exchange)
    }
  }

  /** The exchange to play, or why there is none: the nearest recording, and what differs. */
  find(asked: Asked): PlayedExchange | Miss {
    const fitting = this.fitting(asked)
    if ('miss' in fitting) return fitting
    const next = this.next(fitting)
    this.#played.add(next)
    return next
  }

  /** All that fit, at least one. */
  fitting(asked: Asked): readonly PlayedExchange[] | Miss {
    const { method, path, body } = asked
    const candidates = this.#byEnd.get(endOf(asked))?.filter(one => isSamePath(one.path, path)) ?? []
    if (candidates.length === 0) return { miss: this.#noPath(asked) }
    const compared = candidates.map(exchange => {
      const isKnown = exchange.session === undefined || exchange.body !== undefined
      return { exchange, value: isKnown ? exchange.body : MASKED }
    })
    const whole = method === SOCKET_METHOD ? 'the query' : 'the body'
    return this.choose(compared, body, `${method} ${path}`, whole)
  }

  /** Those whose value is as asked; if there is none, the nearest one and what differs. `whole` is what the value is. */
  choose(
    compared: readonly Compared[],
    asked: Json | undefined,
    what: string,
    whole: string,
  ): readonly PlayedExchange[] | Miss {
    const fitting = compared.filter(({ value }) => this.#differences(value, asked, whole).length === 0)
    if (fitting.length > 0) return fitting.map(({ exchange }) => exchange)
    let nearest: { readonly file: string; readonly found: readonly string[] } | undefined
    for (const { exchange, value } of compared.slice(0, MAX_COMPARED)) {
      const found = this.#differences(value, asked, whole)
      if (nearest === undefined || found.length < nearest.found.length) nearest = { file: exchange.file, found }
    }
    const { file = '', found = [] } = nearest ?? {}
    const more = found.length > MAX_NAMED ? ` and ${found.length - MAX_NAMED} more` : ''
    const others = found.slice(0, MAX_NAMED).join('; ')
    return { miss: `No recording fits ${what}. The nearest is ${file}, with other ${others}${more}` }
  }

  /** Of those that fit alike the one that comes next. */
  next(fitting: readonly PlayedExchange[]): PlayedExchange {
    const next = fitting.find(one => !this.#played.has(one)) ?? fitting.at(-1)
    if (next === undefined) throw new Error('no recording fits')
    return next
  }

  isPlayed(exchange: PlayedExchange): boolean {
    return this.#played.has(exchange)
  }

  /** It does not come again before all others that fit alike. */
  note(exchange: PlayedExchange): void {
    this.#played.add(exchange)
  }

  #differences(recorded: Json | undefined, asked: Json | undefined, whole: string): readonly string[] {
    if (recorded === MASKED) return []
    if (this.#match === 'strict') return differences(recorded, asked, '', whole)
    return this.#match.flatMap(path => differences(memberAt(recorded, path), memberAt(asked, path), path))
  }

  #noPath({ method, path }: Asked): string {
    const paths = [...this.#paths].slice(0, MAX_NAMED).join(', ')
    const more = this.#paths.size > MAX_NAMED ? ` and ${this.#paths.size - MAX_NAMED} more` : ''
    return `No recording is of ${method} ${path}. There are: ${paths}${more}`
  }
}

/** Method and the last segment of the path: what a prefix of the address does not change. Of some sessions no path is known. */
function endOf({ method, path }: Pick<Asked, 'method' | 'path'>): string {
  return method === SOCKET_METHOD ? method : `${method} ${path.slice(path.lastIndexOf('/') + 1)}`
}

/** Whether one is the other, behind a prefix: `/proxy/v1/embeddings` and `/v1/embeddings`. */
function isSamePath(recorded: string, asked: string): boolean {
  return recorded === asked || recorded.endsWith(asked) || asked.endsWith(recorded)
}
