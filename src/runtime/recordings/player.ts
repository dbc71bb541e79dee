import type { Json } from '../../core/json.js'
import type { RecordingsConfig } from '../../core/recording.js'
import { differences, memberAt } from './differences.js'
import type { PlayedExchange } from './exchange.js'

/** Most recordings that are compared with a request that none fits. */
const MAX_COMPARED = 2000
/** Most differences, and most paths, that a miss names. */
const MAX_NAMED = 5

interface Asked {
  readonly method: string
  readonly path: string
  readonly body: Json | undefined
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
  find(asked: Asked): PlayedExchange | { readonly miss: string } {
    const candidates = this.#byEnd.get(endOf(asked))?.filter(({ path }) => isSamePath(path, asked.path)) ?? []
    if (candidates.length === 0) return { miss: this.#noPath(asked) }
    const fitting = candidates.filter(one => this.#differences(one, asked).length === 0)
    const next = fitting.find(one => !this.#played.has(one)) ?? fitting.at(-1)
    if (next === undefined) return { miss: this.#nearest(candidates, asked) }
    this.#played.add(next)
    return next
  }

  #differences(recorded: PlayedExchange, asked: Asked): readonly string[] {
    if (this.#match === 'strict') return differences(recorded.body, asked.body)
    return this.#match.flatMap(path => differences(memberAt(recorded.body, path), memberAt(asked.body, path), path))
  }

  #nearest(candidates: readonly PlayedExchange[], asked: Asked): string {
    let nearest: { readonly file: string; readonly found: readonly string[] } | undefined
    for (const candidate of candidates.slice(0, MAX_COMPARED)) {
      const found = this.#differences(candidate, asked)
      if (nearest === undefined || found.length < nearest.found.length) nearest = { file: candidate.file, found }
    }
    const { file = '', found = [] } = nearest ?? {}
    const more = found.length > MAX_NAMED ? ` and ${found.length - MAX_NAMED} more` : ''
    return `No recording fits ${asked.method} ${asked.path}. The nearest is ${file}, with other ${found.slice(0, MAX_NAMED).join('; ')}${more}`
  }

  #noPath({ method, path }: Asked): string {
    const paths = [...this.#paths].slice(0, MAX_NAMED).join(', ')
    const more = this.#paths.size > MAX_NAMED ? ` and ${this.#paths.size - MAX_NAMED} more` : ''
    return `No recording is of ${method} ${path}. There are: ${paths}${more}`
  }
}

/** Method and the last segment of the path: what a prefix of the address does not change. */
function endOf({ method, path }: Pick<Asked, 'method' | 'path'>): string {
  return `${method} ${path.slice(path.lastIndexOf('/') + 1)}`
}

/** Whether one is the other, behind a prefix: `/proxy/v1/embeddings` and `/v1/embeddings`. */
function isSamePath(recorded: string, asked: string): boolean {
  return recorded === asked || recorded.endsWith(asked) || asked.endsWith(recorded)
}
