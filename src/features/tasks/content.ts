import { isOutOfDescriptors, outOfDescriptors } from '../../core/descriptors.js'
import { GatewayError } from '../../core/errors.js'
import type { TaskRoute, TaskTarget, Upstream } from '../../core/plan.js'
import type { TaskVariant } from '../../core/task-kind.js'
import type { Call } from '../../kernel/call.js'
import type { Generation } from '../../kernel/generation.js'
import { classify } from '../../kernel/upstream-errors.js'
import { GuardedHttp } from '../../net/guarded.js'
import { Blocked } from '../../net/media-url.js'
import { CredentialFault } from '../../net/signer.js'
import { mergeQuery } from '../../wire/query.js'
import { conditions } from './content-conditions.js'
import { keptContent } from './content-kept.js'
import { ContentRelay, type ContentRequest, type ContentSource, expired } from './content-relay.js'
import { presenterOf } from './presenters/index.js'
import type { Artifact, Task } from './record.js'
import type { TaskEntry } from './repository.js'
import { generationOf, observed, targetOf, variablesOf } from './upstream.js'

/** The variant of an upstream's only result. */
const ONLY_VARIANT = 'content'

/** Sends a task's result, or the variant that the client asks for. */
export async function content(call: Call, { task }: TaskEntry, { kind, notReady }: TaskRoute): Promise<void> {
  const presenter = presenterOf(kind)
  const [usual = ''] = presenter.variants.keys()
  const name = call.query?.get('variant') || usual
  const variant = presenter.variants.get(name)
  if (variant === undefined) {
    const message = `'variant' must be one of ${[...presenter.variants.keys()].join(', ')}.`
    throw new GatewayError('invalid_parameter', message, { param: 'variant' })
  }
  const artifact = artifactOf(task, name, usual)
  checkState(task, presenter.early && artifact !== undefined, notReady)
  const wish = conditions(call, task, name, variant)
  if (wish === undefined) return
  if (artifact?.kept !== undefined) return await keptContent(call, task, artifact.kept, variant, wish)
  if (task.runs === true) throw new GatewayError('not_found', `The task has no ${name}.`)
  const generation = generationOf(call.kernel, task)
  const target = targetOf(generation.plan, task)
  if (target === undefined)
    throw new GatewayError('unavailable', 'The upstream of this task is switched off.', { retryAfter: 10_000 })
  generation.lease()
  call.cancellation.add({ cancel: () => generation.release() })
  new Fetch(call, generation, task, target, { artifact, name, usual, variant, wish }).start()
}

/** Throws if there is no content: not yet, no longer, or never. `early`: a preliminary result exists. */
function checkState(task: Task, early: boolean, status: number | undefined): void {
  const { state, pace, expires, error } = task
  if (state === 'queued' || state === 'running') {
    if (early) return
    const message = `The task has not ended yet (${task.progress} %). Try again later.`
    throw new GatewayError('not_ready', message, { retryAfter: pace, ...(status === undefined ? {} : { status }) })
  }
  if (state !== 'succeeded') {
    throw new GatewayError('not_found', `The task has no content: it failed (${error?.code ?? state}).`)
  }
  if (expires !== undefined && expires <= Date.now()) throw expired()
}

/** The content to fetch. */
interface Wanted {
  readonly artifact: Artifact | undefined
  /** The variant, and the default one. */
  readonly name: string
  readonly usual: string
  readonly variant: TaskVariant
  readonly wish: ContentRequest
}

function artifactOf({ artifacts }: Task, name: string, usual: string): Artifact | undefined {
  return (
    artifacts.find(({ variant }) => variant === name) ??
    (name === usual ? artifacts.find(({ variant }) => variant === ONLY_VARIANT) : undefined)
  )
}

/** Fetches the content, with retries until something was sent to the client. It never begins the task again. */
class Fetch {
  readonly #call: Call
  readonly #generation: Generation
  readonly #task: Task
  readonly #target: TaskTarget
  readonly #wanted: Wanted
  #url: string | undefined
  #tries = 0
  #hops = 0
  /** A server elsewhere was called: no later hop gets the credential, not even one to the upstream itself. */
  #hasLeftUpstream = false

  constructor(call: Call, generation: Generation, task: Task, target: TaskTarget, wanted: Wanted) {
    this.#call = call
    this.#generation = generation
    this.#task = task
    this.#target = target
    this.#wanted = wanted
    this.#url = wanted.artifact?.url
  }

  start(): void {
    this.try().catch((error: unknown) => this.#call.fail(errorOf(error)))
  }

  private async try(): Promise<void> {
    const source = await this.place()
    const call = this.#call
    const { variant, wish } = this.#wanted
    const relay = new ContentRelay(call, this.#target, source, variant, wish, failure => {
      if (failure.location !== undefined && this.#hops < MAX_REDIRECTS && URL.canParse(failure.location, source.base)) {
        this.#hops++
        this.#url = new URL(failure.location, source.base).href
        this.start()
      } else if (failure.again && ++this.#tries < MAX_TRIES) this.start()
      else call.fail(failure.error)
    })
    const { path, headers, elsewhere } = source
    const request = { method: 'GET', path, headers, body: null }
    const from = { generation: this.#generation, observeTask: call.kernel.observeTask }
    relay.send(elsewhere ? request : observed(request, this.#task, this.#target, from))
  }

  /** The upstream itself, with its credential; for other addresses a guarded connection, which has it for trusted hosts alone. */
  private async place(): Promise<ContentSource> {
    const { upstream, calls, shape, timeouts } = this.#target
    const { pool, headers, origin } = this.#generation.reach(upstream)
    const wanted = [...this.#wanted.wish.headers]
    const here = (path: string): ContentSource => {
      const own = [...headers, ...wanted]
      return { dispatcher: pool, path, headers: own, elsewhere: false, hasCredential: true, base: origin + path }
    }
    if (this.#url === undefined) {
      const { name, usual } = this.#wanted
      if (calls.content === undefined) throw new GatewayError('not_found', `The task has no ${name}.`)
      const path = calls.content.call.target(variablesOf(this.#task, name))
      // The default variant is not named: not every upstream knows the parameter.
      const query = name === usual ? undefined : new URLSearchParams({ variant: name })
      return here(mergeQuery(path, query, () => false))
    }
    const path = this.#hasLeftUpstream ? undefined : pathAt(this.#url, origin)
    if (path !== undefined) return here(path)
    this.#hasLeftUpstream = true
    const isTrusted = this.#hops === 0 && shape.trustedHosts.has(hostOf(this.#url)) && !isSigned(upstream)
    const patience = AbortSignal.any([this.#call.cancellation.signal, AbortSignal.timeout(timeouts.connect)])
    const connection = await this.guard().open(this.#url, patience)
    const own = ['accept-encoding', 'identity', 'user-agent', 'model-gateway', ...wanted]
    const plain = { method: 'GET', path: connection.target, headers: own, body: null }
    const placed = { dispatcher: connection, elsewhere: true, hasCredential: isTrusted, base: connection.url.href }
    if (!isTrusted) return { ...placed, path: plain.path, headers: own }
    try {
      const trusted = { ...plain, headers: [...own, ...headers] }
      const signed = (await pool.signer?.sign(trusted)) ?? trusted
      return { ...placed, path: signed.path, headers: signed.headers }
    } catch (cause) {
      connection.finished()
      throw cause
    }
  }

  private guard(): GuardedHttp {
    const { fetch } = this.#generation.plan.media
    const { allow = [], http = false, ports = [443, 80] } = fetch ?? {}
    const { upstream, timeouts } = this.#target
    const { egress } = this.#generation.reach(upstream)
    return new GuardedHttp({ allow: ['*', ...allow], http, ports, timeoutMs: timeouts.idle, egress })
  }
}

const MAX_TRIES = 3
const MAX_REDIRECTS = 3

/** Path and query, normalized, of a URL on the upstream's own origin or of a relative one; undefined for other origins. */
function pathAt(url: string, origin: string): string | undefined {
  const base = url.startsWith('/') ? origin : undefined
  if (!URL.canParse(url, base)) return undefined
  const parsed = new URL(url, base)
  return parsed.origin === origin ? parsed.pathname + parsed.search : undefined
}

/** Without TLS only a host that is named with its port is trusted. */
function hostOf(url: string): string {
  if (!URL.canParse(url)) return ''
  const { protocol, host, port } = new URL(url)
  return protocol === 'https:' || port !== '' ? host : `${host}:80`
}

/** A signature is for the upstream's own host. */
function isSigned({ source }: Upstream): boolean {
  return source?.of.type === 'aws-sigv4' || source?.of.type === 'module'
}

function errorOf(error: unknown): unknown {
  if (isOutOfDescriptors(error)) return outOfDescriptors(error)
  if (error instanceof CredentialFault) return classify(error, true).error
  if (error instanceof Blocked) {
    return new GatewayError(
      'bad_upstream_response',
      'The upstream keeps the content at an address that may not be called.',
      {
        cause: error,
        phase: 'content',
      },
    )
  }
  if (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')) {
    return new GatewayError('upstream_timeout', 'The content could not be fetched in time.', { phase: 'connect' })
  }
  return error
}
