import { checkBackground } from '../../core/admission.js'
import { GatewayError } from '../../core/errors.js'
import { FairShares } from '../../core/fair-shares.js'
import { isObject, type JsonObject, parseJson } from '../../core/json.js'
import type { HttpRequest } from '../../transport/exchange.js'
import { setValue } from '../../wire/json-edit.js'
import { inForeground } from '../../wire/kept-members.js'
import type { HeldBody } from '../body.js'
import { documentOfBody, type Waiting } from '../body-document.js'
import type { Failure } from '../failure.js'
import { InnerExchange, type Serve } from '../inner.js'
import type { Conversations } from './conversations.js'
import { blankResponse } from './echo.js'
import { EventShares } from './event-shares.js'
import { stored } from './faults.js'
import { Following, type RunReader } from './following.js'
import type { ResponseTurn } from './response-turn.js'
import { Run } from './run.js'
import { isLost, isUnfinished, type OwnResponse } from './stored.js'

/** Most responses that run in the background of one process at once: 65 of one key, where no other key has any. */
const MAX_RUNNING = 72
/** Most whose events are kept when they have ended. */
const MAX_ENDED = 32
/** How long those are kept, milliseconds. */
const ENDED_RETENTION_MS = 300_000
/** How often a run shows that it is alive, milliseconds. */
const BEAT_INTERVAL_MS = 30_000

/** The request that begins a run, or reads one. */
interface Asking extends RunReader, Waiting {
  readonly request: RunReader['request'] & HttpRequest
  readonly query: URLSearchParams | undefined
  readonly stream: boolean
  /** Name of the caller's key. */
  readonly key: string
  answer(status: number, body: object): void
}

/** Responses that are made while no client waits: each is a request of its own, which its client reads by polling. */
export class Background {
  readonly #conversations: Conversations
  readonly #runs = new Map<string, Run>()
  readonly #places = new FairShares(MAX_RUNNING)
  readonly #shares = new EventShares()
  #beat: NodeJS.Timeout | undefined

  constructor(conversations: Conversations) {
    this.#conversations = conversations
  }

  /**
   * Begins a run and answers the client: with the response as it is now, or with its events as they come. `relayed`: the
   * upstream speaks the protocol itself; it is to keep nothing, since the response is kept here, by an id of ours.
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
    const run = new Run(turn.owner, kept, this.#shares, ended => this.ended(ended))
    this.add(run)
    this.#beat ??= setInterval(() => this.beat(), BEAT_INTERVAL_MS).unref()
    const { method, target } = call.request
    const asked = { method, target, body: inner, inside: { responseId: turn.id } }
    const request = new InnerExchange(call.request, asked, run)
    run.begin(request)
    serve(request)
    if (call.stream) new Following(call, run, 0).start()
    else call.answer(200, run.response)
  }

  /** The response as it is kept before anything has come of it. */
  private async draft(call: Asking, body: HeldBody, turn: ResponseTurn): Promise<OwnResponse> {
    const document = await documentOfBody(call, body, { exact: true })
    await turn.expand(document)
    turn.checkKept()
    const response = { ...blankResponse(turn.id, Date.now(), document, 'queued'), background: true }
    const kept: OwnResponse = { ...turn.draft(response), background: true, beat: Date.now() }
    await stored(this.#conversations.remember(turn.owner, kept))
    return kept
  }

  /** The response as it is now, if this process runs it; else as it was kept, or failed where nobody runs it any more. */
  latest(owner: string, found: OwnResponse): OwnResponse {
    const run = this.#runs.get(addressOf({ owner, id: found.id }))
    if (run !== undefined) return { ...found, response: run.response }
    return isLost(found, Date.now()) ? { ...found, response: lost(found.response) } : found
  }

  /** Answers with the events of a run, those first that came before. Throws `invalid_parameter` where there are none. */
  stream(call: Asking, { id, background }: OwnResponse): void {
    const owner = call.key
    const run = this.#runs.get(addressOf({ owner, id }))
    if (!background) throw refused('Only responses that run in the background can be streamed again.', 'stream')
    const after = call.query?.get('starting_after') ?? '-1'
    if (!/^(-1|\d{1,9})$/.test(after)) throw refused("'starting_after' must be a number.", 'starting_after')
    const first = Number(after) + 1
    if (run?.has(first) !== true) throw refused('The events of this response are no longer kept.', 'stream')
    new Following(call, run, first).start()
  }

  /** Ends a run. A response that has ended stays as it is. */
  async cancel(owner: string, found: OwnResponse): Promise<OwnResponse> {
    if (!found.background) return found
    this.#runs.get(addressOf({ owner, id: found.id }))?.cancel()
    const cancelled = await this.#conversations.update(owner, found.id, known =>
      isUnfinished(known) ? { ...known, response: { ...known.response, status: 'cancelled' } } : undefined,
    )
    return cancelled ?? found
  }

  /** Given back when the run has ended. */
  private takePlace(owner: string): void {
    if (this.#places.take(owner)) return
    throw new GatewayError('unavailable', 'Too many responses run in the background. Try again soon.', {
      retryAfter: 5000,
      limit: 'background',
    })
  }

  private ended(run: Run): void {
    this.#places.release(run.owner)
    const { kept } = run
    const { response, bytes, items } = kept
    const change = (known: OwnResponse): OwnResponse | undefined =>
      isUnfinished(known) ? { ...known, response, bytes, ...(items !== undefined && { items }) } : undefined
    this.#conversations
      .update(run.owner, run.id, change, kept)
      .catch(() => undefined)
      .finally(() => this.retire(run))
  }

  /** Its events can be read for a while yet, unless its key has more such runs than others and there are too many. */
  private retire(run: Run): void {
    setTimeout(() => this.delete(run), ENDED_RETENTION_MS).unref()
    const ended = [...this.#runs.values()].filter(one => one.ended)
    if (ended.length > MAX_ENDED) this.delete(oldestOfMost(ended))
  }

  /** The others have smaller shares now. */
  private add(run: Run): void {
    this.#runs.set(addressOf(run), run)
    this.#shares.add(run.owner)
    for (const one of this.#runs.values()) one.trim()
  }

  private delete(run: Run): void {
    if (this.#runs.delete(addressOf(run))) this.#shares.delete(run.owner)
  }

  /** Shows other processes that the runs are alive, and learns of those that were cancelled there. */
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
        .catch(() => undefined)
    }
  }
}

/** Whether an upstream refuses a request because it runs nothing in the background. */
export function refusesBackground({ condition, answer }: Failure): boolean {
  if (answer === undefined || !REFUSALS.has(condition)) return false
  const body = parseJson(answer.body.toString('utf8'))
  const error = isObject(body) && isObject(body.error) ? body.error : undefined
  if (typeof error?.param === 'string' && error.param !== '') return error.param === 'background'
  return typeof error?.message === 'string' && /\bbackground\b/i.test(error.message)
}

/** Statuses by which upstreams say that they do not know a parameter. */
const REFUSALS = new Set<unknown>([400, 422, 501])

function lost(response: JsonObject): JsonObject {
  const error = { code: 'server_error', message: 'The gateway stopped while this response was running.' }
  return { ...response, status: 'failed', error }
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError('invalid_parameter', message, { param })
}

/** Of the owner with the most runs, among equals the first one, the oldest. `runs`: at least one. */
function oldestOfMost(runs: readonly Run[]): Run {
  const counts = new Map<string, number>()
  for (const { owner } of runs) counts.set(owner, (counts.get(owner) ?? 0) + 1)
  const countOf = ({ owner }: Run): number => counts.get(owner) ?? 0
  return runs.reduce((found, run) => (countOf(run) > countOf(found) ? run : found))
}

function addressOf({ owner, id }: { readonly owner: string; readonly id: string }): string {
  return `${owner} ${id}`
}
