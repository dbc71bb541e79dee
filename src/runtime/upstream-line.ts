import type { Environment } from '../config/variables.js'
import type { Config } from '../core/config.js'
import { isObject, type Json, parseJson } from '../core/json.js'
import type { Plan, Upstream } from '../core/plan.js'
import { Generation } from '../kernel/generation.js'
import { NoResponseError, send } from '../kernel/http-call.js'
import { cleanedText } from '../kernel/translate/words.js'
import { Pools } from '../net/pools.js'
import { Embedded } from './embedded.js'
import { placesOf } from './places.js'

/** Time for one answer, and for a connection, milliseconds. */
const ANSWER_MS = 120_000
const CONNECT_MS = 10_000
/** Largest answer, bytes. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

export interface LineAnswer {
  readonly status: number
  readonly text: string
  /** Absent: the answer is no JSON. */
  readonly body: Json | undefined
}

interface Outside {
  readonly env: Environment
  readonly embedded: Embedded
}

/** Requests to one upstream outside any route: with its credential, by its proxy, to its paths. */
export class UpstreamLine {
  readonly #upstream: Upstream
  readonly #config: Config['upstreams'][string]
  readonly #embedded: Embedded
  readonly #pools: Pools
  readonly #generation: Generation

  private constructor(upstream: Upstream, config: Config['upstreams'][string], plan: Plan, { env, embedded }: Outside) {
    this.#upstream = upstream
    this.#config = config
    this.#embedded = embedded
    this.#pools = new Pools(plan.transport)
    this.#generation = new Generation(plan, 1, this.#pools, placesOf(embedded, env))
  }

  /** Undefined where the plan has no such upstream, or it is off. `env`: where credentials of clouds are looked for. */
  static async open(plan: Plan, config: Config, name: string, env: Environment): Promise<UpstreamLine | undefined> {
    const [upstream, declared] = [plan.upstreams.get(name), config.upstreams[name]]
    if (upstream === undefined || declared === undefined || upstream.off !== undefined) return undefined
    const embedded = new Embedded()
    await embedded.prepare(plan)
    return new UpstreamLine(upstream, declared, plan, { env, embedded })
  }

  /** Whether it is declared that the upstream speaks it. */
  speaks(protocol: string): boolean {
    return this.#config.speaks[protocol] !== undefined
  }

  /** Sends a request to the path that is declared for the protocol, or to this one. */
  async ask(protocol: string, otherwise: string, model: string, body: Json): Promise<LineAnswer> {
    const { pool, headers } = this.#generation.reach(this.#upstream)
    const { base, speaks, credential } = this.#config
    const prefix = base.startsWith('embedded:') ? '' : new URL(base).pathname.replace(/\/$/, '')
    const isStream = isObject(body) && body.stream === true
    const declared = (isStream ? speaks[protocol]?.stream : undefined) ?? speaks[protocol]?.call
    const path = prefix + (declared?.target ?? otherwise).replaceAll('{model}', encodeURIComponent(model))
    const place = credential?.place
    const secret =
      place?.in === 'query'
        ? `${path.includes('?') ? '&' : '?'}${place.name}=${encodeURIComponent(credential?.secret?.reveal() ?? '')}`
        : ''
    const bytes = Buffer.from(JSON.stringify(body))
    const sent = [...headers, 'content-type', 'application/json']
    const request = { method: 'POST', path: path + secret, headers: sent, body: bytes }
    const options = {
      key: 'probe',
      queue: CONNECT_MS,
      connect: CONNECT_MS,
      answer: ANSWER_MS,
      maxBytes: MAX_ANSWER_BYTES,
    }
    const answer = await send(pool, request, options).catch((cause: unknown) => {
      if (!(cause instanceof NoResponseError) || cause.condition !== 'reset') throw cause
      // A connection that the server was just closing, as some do after each stream: the next one is new.
      return send(pool, request, options)
    })
    const text = answer.body.toString('utf8')
    return { status: answer.status, text, body: parseJson(text) }
  }

  /** What the upstream said, without its credential, its address and what looks like a credential. */
  cleaned(text: string): string {
    return cleanedText(text, this.#generation, this.#upstream)
  }

  async close(): Promise<void> {
    await this.#pools.destroy()
    await this.#embedded.close()
  }
}
