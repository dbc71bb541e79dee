import { isBounded } from '../../codecs/read.js'
import { GatewayError } from '../../core/errors.js'
import { isObject, type JsonObject } from '../../core/json.js'
import type { ResourceRule } from '../../core/resources.js'
import { answerDocument, answerLease, malformedAnswer } from '../../kernel/answer-document.js'
import type { MemoryLease } from '../../kernel/memory.js'
import type { Relay, Source } from '../../kernel/relay/relay.js'
import type { UpstreamHeaders } from '../../kernel/response-headers.js'
import { joined } from '../../kernel/translate/steps.js'
import { BATCH_NAMES, RESULT_NAMES } from '../batches/result-names.js'
import { UPLOADED_LINES } from '../batches/uploaded-lines.js'
import { withGatewayLinks } from './links.js'
import { idIn, OWNERSHIP } from './ownership-store.js'
import { textAt } from './read-object.js'
import { forget, ownerOf, UNKNOWN } from './route-to-owner.js'
import { openSession } from './upload-session.js'

/**
 * Passes an upstream's answer about a resource on, after its owner was recorded: no client gets an id that the gateway does
 * not know.
 */
export class ResourceRelay implements Relay {
  readonly #attempt: Source
  readonly #rule: ResourceRule
  readonly #status: number
  readonly #headers: string[]
  /** The address where an upload continues, from the upstream. */
  readonly #address: string | undefined
  readonly #chunks: Buffer[] = []
  #size = 0

  constructor(attempt: Source, rule: ResourceRule, status: number, flat: string[], headers: UpstreamHeaders) {
    this.#attempt = attempt
    this.#rule = rule
    this.#status = status
    this.#headers = flat
    const { resumableUpload } = attempt.route
    const address = resumableUpload === undefined ? undefined : headers[resumableUpload.header]
    this.#address = typeof address === 'string' ? address : undefined
  }

  data(chunk: Buffer): void {
    this.#attempt.content()
    this.#size += chunk.length
    this.#chunks.push(chunk)
    if (this.#size > this.#attempt.route.limits.response) this.refuse('It is too large.', 'response')
  }

  end(): void {
    this.answer().catch((cause: unknown) => this.#attempt.call.fail(cause))
  }

  private async answer(): Promise<void> {
    const memory = answerLease(this.#attempt)
    this.#attempt.call.drains.add(this)
    try {
      const body = await joined(this.#chunks, this.#size)
      const document = await this.read(body, memory)
      if (document === undefined) return
      this.#attempt.complete(true)
      await this.finish(body, document)
    } finally {
      memory.end()
      this.abandon()
    }
  }

  /** A call whose client has gone is over once what it made has its owner. */
  abandon(): void {
    this.#attempt.call.drains.delete(this)
  }

  /** Undefined if the answer is invalid, which has been reported: another target may be tried. */
  private async read(body: Buffer, memory: MemoryLease): Promise<JsonObject | undefined> {
    try {
      const document = body.length === 0 ? {} : await answerDocument(body, this.#attempt, memory)
      if (!isObject(document)) throw malformedAnswer('It is not a JSON object.')
      // The document is serialized again to be recorded, which is recursive.
      if (!isBounded(document)) throw malformedAnswer('It is nested too deeply.')
      return document
    } catch (cause) {
      if (!(cause instanceof GatewayError) || cause.code !== 'bad_upstream_response') throw cause
      this.#attempt.failed('bad_response', cause)
      return undefined
    }
  }

  broken(): boolean {
    return false
  }

  settle(): void {}

  private async finish(body: Buffer, document: JsonObject): Promise<void> {
    const { call, exchange, route } = this.#attempt
    // Recorded even if the client has gone: otherwise the resource could never be deleted.
    await this.note(document)
    if (this.#address !== undefined && route.resumableUpload !== undefined) {
      this.#headers.push(
        route.resumableUpload.header,
        await openSession(call, route.resumableUpload, exchange, this.#address),
      )
    }
    const changed = body.length === 0 ? body : (exchange.response?.(body) ?? body)
    const bytes = withGatewayLinks(call, this.#rule.kind, changed, document)
    this.#headers.push('content-length', String(bytes.length))
    call.begin(this.#status, this.#headers)
    call.end(bytes)
  }

  private async note(document: JsonObject): Promise<void> {
    const { call, exchange } = this.#attempt
    const { action, kind, parameter } = this.#rule
    if (call.get(UNKNOWN) === true) return
    const owner = ownerOf(call)
    const ownership = call.kernel.need(OWNERSHIP)
    const batchNames = call.kernel.need(BATCH_NAMES)
    if (action === 'delete') return forget(call, kind, call.params[parameter ?? ''] ?? '')
    const wrapped = kind.wrapped === undefined ? undefined : document[kind.wrapped]
    const object = isObject(wrapped) ? wrapped : document
    const name = textAt(object, kind.id)
    const id = name === undefined ? undefined : idIn(name, kind)
    // An answer about one resource must not record another one.
    if (id === undefined || (action !== 'create' && id !== call.params[parameter ?? ''])) return
    const names = action === 'create' ? call.get(RESULT_NAMES)?.get(exchange.upstream.name) : undefined
    if (names !== undefined) await batchNames.note(owner, id, names)
    const lines = action === 'create' ? call.get(UPLOADED_LINES)?.count : undefined
    await ownership.note(owner, kind, exchange.upstream.keeper, id, object, lines)
  }

  private refuse(why: string, limit?: string): void {
    this.#attempt.failed('bad_response', malformedAnswer(why, limit))
  }
}
