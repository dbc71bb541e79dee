import { madeBuffers } from '../../core/dead-buffers.js'
import { GatewayError } from '../../core/errors.js'
import type { TaskTarget } from '../../core/plan.js'
import { retryAfter } from '../../core/retry-after.js'
import type { TaskVariant } from '../../core/task-kind.js'
import type { Call } from '../../kernel/call.js'
import type { Dispatcher } from '../../kernel/http-call.js'
import type { UpstreamHeaders } from '../../kernel/response-headers.js'
import { classify, errorOfStatus, noConnection } from '../../kernel/upstream-errors.js'
import type { Work } from '../../kernel/watchdog.js'
import type { UpstreamController, UpstreamHandler, UpstreamRequest } from '../../net/pools.js'

/** What a client wants of the content, and the headers it gets with it. */
export interface ContentRequest {
  readonly tag: string
  readonly cached: string
  /** HEAD: no body. */
  readonly head: boolean
  /** The `Range` header for the upstream, or empty. */
  readonly headers: readonly string[]
}

/** Why a try failed before anything was sent to the client. */
interface ContentFailure {
  readonly error: GatewayError
  /** Another try may help. */
  readonly again: boolean
  /** A redirect's target. */
  readonly location?: string
}

/** A source of content. */
export interface ContentSource {
  readonly dispatcher: Dispatcher
  readonly path: string
  readonly headers: string[]
  /** Another server than the upstream, with a connection of its own. */
  readonly elsewhere: boolean
  /** Without the upstream's credential a refusal says nothing about it. */
  readonly hasCredential: boolean
  /** Base of a redirect's relative location. */
  readonly base: string
}

/** What is shown as it is: all but drawings, which may hold scripts. Players of some browsers show nothing of it under a policy. */
const SHOWN = /^(?:image(?!\/svg)|audio|video)\//

/** A browser that opens content of this type runs nothing of it in the gateway's own name. */
export function inertHeaders(type: string): readonly string[] {
  const policy = SHOWN.test(type) ? [] : ['content-security-policy', "default-src 'none'; sandbox"]
  return ['x-content-type-options', 'nosniff', ...policy]
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Headers that describe the content: they are passed on. */
const PASSED = ['content-length', 'content-range', 'last-modified', 'content-disposition'] as const

/**
 * One try to fetch content: bytes are passed on unchanged, with back-pressure. The head is checked before the first byte,
 * so that a client never saves an error as its video.
 */
export class ContentRelay implements UpstreamHandler, Work {
  readonly #call: Call
  readonly #target: TaskTarget
  readonly #dispatcher: Dispatcher
  readonly #source: ContentSource
  readonly #variant: TaskVariant
  readonly #wish: ContentRequest
  readonly #report: (failure: ContentFailure) => void
  readonly key: string
  readonly #started = performance.now()
  #phase: 'queue' | 'connect' | 'first_byte' | 'content' | 'over' = 'connect'
  #since = this.#started
  #controller: UpstreamController | undefined
  #status: number | undefined
  /** Of its note among the call's attempts. */
  #place: number | undefined
  /** The head for the client. It is sent with the first byte: until then another try is possible. */
  #head: { readonly status: number; readonly headers: string[] } | undefined

  constructor(
    call: Call,
    target: TaskTarget,
    source: ContentSource,
    variant: TaskVariant,
    wish: ContentRequest,
    report: (failure: ContentFailure) => void,
  ) {
    this.#call = call
    this.key = call.key
    this.#target = target
    this.#dispatcher = source.dispatcher
    this.#source = source
    this.#variant = variant
    this.#wish = wish
    this.#report = report
  }

  send(request: UpstreamRequest): void {
    this.#call.work = this
    if (this.#phase === 'over') {
      if (this.#source.elsewhere) this.#dispatcher.finished(this.key)
      return
    }
    const dispatched = this.#dispatcher.dispatch(request, this)
    if (dispatched === 'waiting') this.enter('queue')
    else if (dispatched === 'full') this.fail('queue', noConnection('queue'), false)
  }

  // ── called by the connection

  onPlace(): void {
    this.enter('connect')
  }

  onRequestStart(controller: UpstreamController): void {
    this.#controller = controller
    if (this.#phase === 'over') controller.abort(new Error('the call is over'))
    else this.enter('first_byte')
  }

  onResponseStart(controller: UpstreamController, status: number, headers: UpstreamHeaders): void {
    if (this.#phase === 'over') return
    this.#controller = controller
    this.#status = status
    // Partial content only if the client asked for a range.
    const isPart = (status === 206 || status === 416) && this.#wish.headers.length > 0
    if (status === 416 && isPart) this.begin(status, headers, '')
    else if (status !== 200 && !isPart) this.refuse(status, headers)
    else {
      const type = typeOfContent(this.#variant, String(headers['content-type'] ?? ''))
      if (type === undefined || headers['content-encoding'] !== undefined) this.fail('head', malformed(), true)
      else this.begin(status, headers, type)
    }
  }

  onResponseData(_controller: UpstreamController, chunk: Buffer): void {
    if (this.#phase === 'first_byte' && this.#head !== undefined && chunk.length > 0) {
      this.note('ok')
      this.#call.begin(this.#head.status, this.#head.headers)
      this.enter('content')
    }
    if (this.#phase !== 'content') return
    madeBuffers(chunk.length)
    this.#since = performance.now()
    if (!this.#call.write(chunk, this.resume)) this.#controller?.pause()
  }

  onResponseEnd(): void {
    this.#dispatcher.finished(this.key)
    if (this.#phase === 'first_byte') this.fail('body', malformed('it is empty'), true)
    if (this.#phase !== 'content') return
    this.note('ok')
    this.#phase = 'over'
    this.#call.end()
  }

  onResponseError(_controller: UpstreamController, cause: Error): void {
    this.#dispatcher.finished(this.key)
    if (this.#phase === 'over') return
    const { condition, error } = classify(cause, this.#phase === 'connect')
    if (this.#phase === 'content') this.breakOff(error)
    else this.fail(this.#phase, error, condition !== 'descriptors')
  }

  // ── called by the call and its watchdog

  cancel(): void {
    if (this.#phase === 'over') return
    this.note('cancelled')
    this.stop()
  }

  cut(_error: GatewayError): boolean {
    if (this.#phase !== 'content') return false
    this.breakOff(_error)
    return true
  }

  check(now: number): void {
    const { queue, connect, first_byte, idle } = this.#target.timeouts
    const waited = now - this.#since
    if (this.#phase === 'queue' && waited > queue) this.fail('queue', noConnection('connections'), false)
    else if (this.#phase === 'connect' && waited > connect) this.timeOut()
    else if (this.#phase === 'first_byte' && waited > first_byte) this.timeOut()
    else if (this.#phase === 'content' && this.#controller?.paused !== true && waited > idle) this.timeOut()
  }

  // ──

  private readonly resume = (): void => {
    this.#since = performance.now()
    if (this.#phase === 'content') this.#controller?.resume()
  }

  private timeOut(): void {
    const error = new GatewayError('upstream_timeout', 'The upstream did not answer in time.', { phase: this.#phase })
    if (this.#phase === 'content') this.breakOff(error)
    else this.fail(this.#phase, error, true)
  }

  private begin(status: number, headers: UpstreamHeaders, type: string): void {
    const { tag, cached, head } = this.#wish
    const flat = [...inertHeaders(type)]
    for (const name of PASSED) {
      const value = headers[name]
      if (typeof value === 'string' && (status !== 416 || name === 'content-range')) flat.push(name, value)
    }
    if (status === 416) flat.push('content-length', '0')
    else flat.push('content-type', type, 'etag', tag, 'cache-control', cached, 'accept-ranges', 'bytes')
    if (head || status === 416) {
      this.note('ok')
      this.#call.begin(status, flat)
      this.stop()
      this.#call.end()
    } else this.#head = { status, headers: flat }
  }

  private refuse(status: number, headers: UpstreamHeaders): void {
    const { location } = headers
    const error = this.errorOf(status, headers)
    if (error.code === 'upstream_auth') this.#call.kernel.onRefusedCredential(this.#target.upstream.name)
    const moved = REDIRECTS.has(status) && typeof location === 'string'
    this.fail('status', error, status >= 500, moved ? location : undefined)
  }

  private errorOf(status: number, headers: UpstreamHeaders): GatewayError {
    const cause = `upstream status ${status}`
    if (status < 300) return malformed(cause)
    const isGone =
      status === 404 || status === 410 || (!this.#source.hasCredential && (status === 401 || status === 403))
    if (isGone) return new GatewayError('gone', 'The content of this task is no longer kept.', { cause })
    if (status === 409 || status === 425) {
      const wait = retryAfter(headers) ?? this.#target.shape.poll.client_every
      return new GatewayError('not_ready', 'The content is not ready yet. Try again later.', {
        retryAfter: wait,
        cause,
      })
    }
    const error = errorOfStatus(status, headers)
    return error.code === 'upstream_rejected' ? malformed(cause) : error
  }

  private fail(phase: string, error: GatewayError, again: boolean, location?: string): void {
    if (this.#phase === 'over') return
    this.note(phase)
    this.stop()
    this.#report({ error, again, ...(location === undefined ? {} : { location }) })
  }

  /** Part of the content was sent: end the transfer short, so that the client sees that it is incomplete. */
  private breakOff(error: GatewayError): void {
    this.note('reset')
    this.#call.error ??= error
    this.#call.tally.truncated = true
    this.stop()
    this.#call.breakOff()
  }

  private enter(phase: 'queue' | 'connect' | 'first_byte' | 'content'): void {
    this.#phase = phase
    this.#since = performance.now()
  }

  private stop(): void {
    if (this.#phase === 'queue') this.#dispatcher.withdraw(this)
    this.#phase = 'over'
    this.#controller?.abort(new Error('the exchange is over'))
  }

  /** Before the head, which may say who answered, and again at the end. */
  private note(phase: string): void {
    const milliseconds = Math.round((performance.now() - this.#started) * 100) / 100
    const { name: upstream } = this.#target.upstream
    const { attempts } = this.#call
    this.#place ??= attempts.length
    attempts[this.#place] = { upstream, model: '', phase, status: this.#status, milliseconds }
  }
}

/** The media type for the client; undefined if the upstream sent another kind of content. */
export function typeOfContent({ fits, type: usual }: TaskVariant, header: string): string | undefined {
  const said = header.toLowerCase().split(';', 1)[0]?.trim() ?? ''
  if (fits(said)) return said
  return said === '' || said === 'application/octet-stream' || said === 'binary/octet-stream' ? usual : undefined
}

export function expired(): GatewayError {
  return new GatewayError('gone', 'The content of this task has expired.')
}

function malformed(cause?: string): GatewayError {
  return new GatewayError('bad_upstream_response', 'The upstream did not send the content of the task.', {
    phase: 'head',
    cause,
  })
}
