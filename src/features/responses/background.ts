import { setTimeout as delay } from 'node:timers/promises'
import { checkBackground } from '../../core/admission.js'
import { GatewayError } from '../../core/errors.js'
import { FairShares } from '../../core/fair-shares.js'
import { isObject, type JsonObject, parseJson } from '../../core/json.js'
import { type Peers, topic } from '../../core/peers.js'
import type { TraceContext } from '../../core/trace.js'
import type { HeldBody } from '../../kernel/body.js'
import { documentOfBody, type Waiting } from '../../kernel/body-document.js'
import type { Failure } from '../../kernel/failure.js'
import type { Generation } from '../../kernel/generation.js'
import { InnerExchange, type Serve } from '../../kernel/inner.js'
import { stored } from '../../kernel/stored.js'
import type { HttpRequest } from '../../transport/exchange.js'
import { setValue } from '../../wire/json-edit.js'
import { inForeground } from '../../wire/kept-members.js'
import type { Conversations } from './conversations.js'
import { blankResponse } from './echo.js'
import { EventShares } from './event-shares.js'
import { Following, type RunReader } from './following.js'
import { withHistory } from './inside.js'
import { RemoteReaders } from './remote-readers.js'
import { RemoteRun } from './remote-run.js'
import type { ResponseTurn } from './response-turn.js'
import { Run } from './run.js'
import { isLost, isUnfinished, type OwnResponse } from './stored.js'

/** Most background responses of one process at once: 65 of one key, if no other key has any. */
const MAX_RUNNING = 72
/** Most ended runs whose events are kept. */
const MAX_ENDED = 32
/** How long these are kept, milliseconds. */
const ENDED_RETENTION_MS = 300_000
/** How long the end of a run that could not be stored is tried again, and the pauses between, milliseconds. */
const MAX_RETRY_MS = 600_000
const PAUSE_MS = { first: 100, longest: 5000 }
/** How often a run writes that it is alive, milliseconds. */
const BEAT_INTERVAL_MS = 30_000

/** A worker that does not run a response has been asked to cancel it. */
const CANCELLED = topic<{ readonly owner: string; readonly id: string }>('responses: cancelled')

/** The request that begins a run, or reads one. */
interface Asking extends RunReader, Waiting {
  readonly trace: TraceContext
  readonly generation: Generation
  readonly request: RunReader['request'] & HttpRequest
  readonly query: URLSearchParams | undefined
  readonly stream: boolean
  /** Name of the caller's key. */
  readonly key: string
  answer(status: number, body: object): void
}

/** Responses that are made while no client waits: each is a request of its own, and its client polls. */
export class Background {
  readonly #conversations: Conversations
  readonly #peers: Peers
  readonly #runs = new Map<string, Run>()
  /** Those that have ended and are stored, each with the timer that deletes it. */
  readonly #retained = new Map<Run, NodeJS.Timeout>()
  readonly #places = new FairShares(MAX_RUNNING)
  readonly #shares = new EventShares()
  #beat: NodeJS.Timeout | undefined

  constructor(conversations: Conversations, peers: Peers) {
    this.#conversations = conversations
    this.#peers = peers
    new RemoteReaders(peers, (owner, id) => this.#runs.get(addressOf({ owner, id })))
    peers.on(CANCELLED, address => this.#runs.get(addressOf(address))?.cancel())
  }

  /**
   * Begins a run and answers the client: with the response in its present state, or with its events as a stream. `relayed`: the
   * upstream speaks the protocol itself; it must store nothing, since the response is stored here, under an id of ours.
   */
  async start(call: Asking, body: HeldBody, turn: ResponseTurn, serve: Serve, relayed = false): Promise<void> {
    checkBackground(turn.options.store)
    const streamed = inForeground(body.bytes)
    const inner = relayed ? setValue(streamed, ['store'], 'false', 'always') : streamed
    this.takePlace(turn.owner)
    const kept = await this.draft(call, body, turn).catch((error: unknown) => {
      this.#places.release(turn.owner)
      throw error
    })
    const run = new Run(turn.owner, kept, this.#shares, (ended, last) => this.ended(ended, last))
    this.add(run)
    this.#beat ??= setInterval(() => this.beat(), BEAT_INTERVAL_MS).unref()
    const { method, target } = call.request
    const { trace, generation } = call
    const inside = { isCounted: true, slots: withHistory(turn.history, turn.id), trace, generation } as const
    const asked = { method, target, body: inner, inside }
    const request = new InnerExchange(call.request, asked, run)
    run.begin(request)
    serve(request)
    if (call.stream) new Following(call, run, 0).start()
    else call.answer(200, run.response)
  }

  /** The stored response before the run begins. */
  private async draft(call: Asking, body: HeldBody, turn: ResponseTurn): Promise<OwnResponse> {
    const document = await documentOfBody(call, body, { exact: true })
    await turn.expand(document)
    turn.checkKept()
    const response = { ...blankResponse(turn.id, Date.now(), document, 'queued'), background: true }
    const kept: OwnResponse = { ...turn.draft(response), background: true, beat: Date.now() }
    await stored(this.#conversations.remember(turn.owner, kept))
    return kept
  }

  /** The response's present state if this process runs it; else the stored one, or a failed one if no process runs it. */
  latest(owner: string, found: OwnResponse): OwnResponse {
    const run = this.#runs.get(addressOf({ owner, id: found.id }))
    if (run !== undefined) return { ...found, response: run.response }
    return isLost(found, Date.now()) ? { ...found, response: lost(found.response) } : found
  }

  /** Answers with the events of a run of any worker, earlier ones first. Rejects with `invalid_parameter` if they are not kept. */
  async stream(call: Asking, { id, background, response }: OwnResponse): Promise<void> {
    const owner = call.key
    if (!background) throw refused('Only responses that run in the background can be streamed again.', 'stream')
    const after = call.query?.get('starting_after') ?? '-1'
    if (!/^(-1|\d{1,9})$/.test(after)) throw refused("'starting_after' must be a number.", 'starting_after')
    const first = Number(after) + 1
    const own = this.#runs.get(addressOf({ owner, id }))
    const run = own ?? (await RemoteRun.find(this.#peers, response, { owner, id, first }))
    if (run === undefined || (own !== undefined && !own.has(first)))
      throw refused('The events of this response are no longer kept.', 'stream')
    new Following(call, run, first).start()
  }

  /** Ends a run. A response that has ended does not change. */
  async cancel(owner: string, found: OwnResponse): Promise<OwnResponse> {
    if (!found.background) return found
    const run = this.#runs.get(addressOf({ owner, id: found.id }))
    if (run === undefined) this.#peers.tell(CANCELLED, { owner, id: found.id })
    else run.cancel()
    const cancelled = await this.#conversations.update(owner, found.id, known =>
      isUnfinished(known) ? { ...known, response: { ...known.response, status: 'cancelled' } } : undefined,
    )
    return cancelled ?? found
  }

  /** Counts a run of this owner, until it has ended. */
  private takePlace(owner: string): void {
    if (this.#places.take(owner)) return
    throw new GatewayError('unavailable', 'Too many responses run in the background. Try again soon.', {
      retryAfter: 5000,
      limit: 'background',
    })
  }

  private ended(run: Run, kept: OwnResponse): void {
    const { response, bytes, items } = kept
    const change = (known: OwnResponse): OwnResponse | undefined =>
      isUnfinished(known) ? { ...known, response, bytes, ...(items !== undefined && { items }) } : undefined
    void this.write(run, () => this.#conversations.update(run.owner, run.id, change, kept))
  }

  /** Stores how a run has ended, also where the store is away for a while; the run has its place until then. */
  private async write(run: Run, attempt: () => Promise<unknown>): Promise<void> {
    const isWritten = (): Promise<boolean> =>
      attempt().then(
        () => true,
        () => false,
      )
    const until = Date.now() + MAX_RETRY_MS
    for (let pause = PAUSE_MS.first; !(await isWritten()); pause = Math.min(2 * pause, PAUSE_MS.longest)) {
      if (Date.now() + pause > until) break
      await delay(pause, undefined, { ref: false })
    }
    this.#places.release(run.owner)
    this.retire(run)
  }

  /** Keeps an ended run's events for a while; if there are too many, drops the oldest run of the key that has most. */
  private retire(run: Run): void {
    this.#retained.set(run, setTimeout(() => this.delete(run), ENDED_RETENTION_MS).unref())
    if (this.#retained.size > MAX_ENDED) this.delete(oldestOfMost([...this.#retained.keys()]))
  }

  /** Adds a run, which makes the shares of the others smaller. */
  private add(run: Run): void {
    this.#runs.set(addressOf(run), run)
    this.#shares.add(run.owner)
    for (const one of this.#runs.values()) one.trim()
  }

  private delete(run: Run): void {
    this.#runs.delete(addressOf(run))
    this.#shares.delete(run.owner)
    clearTimeout(this.#retained.get(run))
    this.#retained.delete(run)
    run.drop()
  }

  /** Writes that the runs are alive, and reads which ones another process has cancelled or deleted. */
  private beat(): void {
    const running = [...this.#runs.values()].filter(run => !run.ended)
    if (running.length === 0) {
      clearInterval(this.#beat)
      this.#beat = undefined
    }
    for (const run of running) {
      this.#conversations
        .update(run.owner, run.id, known => {
          if (known.response.status !== 'cancelled') return { ...known, beat: Date.now() }
          run.cancel()
          return undefined
        })
        .then(
          kept => kept ?? run.cancel(),
          () => undefined,
        )
    }
  }
}

/** Whether an upstream refused a request because it runs nothing in the background. */
export function refusesBackground({ condition, answer }: Failure): boolean {
  if (answer === undefined || !REFUSALS.has(condition)) return false
  const body = parseJson(answer.body.toString('utf8'))
  const error = isObject(body) && isObject(body.error) ? body.error : undefined
  if (typeof error?.param === 'string' && error.param !== '') return error.param === 'background'
  return typeof error?.message === 'string' && /\bbackground\b/i.test(error.message)
}

/** Statuses by which upstreams refuse unknown parameters. */
const REFUSALS = new Set<unknown>([400, 422, 501])

function lost(response: JsonObject): JsonObject {
  const error = { code: 'server_error', message: 'The gateway stopped while this response was running.' }
  return { ...response, status: 'failed', error }
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError('invalid_parameter', message, { param })
}

/** The oldest run of the owner with the most runs. `runs`: at least one. */
function oldestOfMost(runs: readonly Run[]): Run {
  const counts = new Map<string, number>()
  for (const { owner } of runs) counts.set(owner, (counts.get(owner) ?? 0) + 1)
  const countOf = ({ owner }: Run): number => counts.get(owner) ?? 0
  return runs.reduce((found, run) => (countOf(run) > countOf(found) ? run : found))
}

function addressOf({ owner, id }: { readonly owner: string; readonly id: string }): string {
  return `${owner} ${id}`
}
