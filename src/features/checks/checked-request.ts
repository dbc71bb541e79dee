import type { CheckedCaller, CheckedRequest } from '../../core/check.js'
import { isHidden, isSecretName, keyHeaders } from '../../core/hidden-headers.js'
import type { Body } from '../../kernel/body.js'
import { documentOfBody } from '../../kernel/body-document.js'
import type { Call } from '../../kernel/call.js'
import { SHOWN_DOCUMENT } from '../../kernel/shown-document.js'
import { IDENTITY } from '../identity/service.js'

const NO_GROUPS: readonly string[] = []

/** What a check sees of a call. Nothing is read before the check asks for it. */
export class CheckedCall implements CheckedRequest {
  readonly #call: Call
  readonly #document: SharedDocument
  #headers: Readonly<Record<string, string>> | undefined
  #abort: AbortController | undefined
  #isOver = false

  constructor(call: Call, document: SharedDocument) {
    this.#call = call
    this.#document = document
  }

  get id(): string {
    return this.#call.id
  }

  get caller(): CheckedCaller {
    const { key: name, caller } = this.#call
    const groups = caller?.policy?.groups ?? NO_GROUPS
    const found = this.#call.get(IDENTITY)
    if (found === undefined) return { name, groups }
    return { name, groups, identity: { provider: found.provider, claims: found.claims ?? {} } }
  }

  get route(): string {
    return this.#call.route?.id ?? ''
  }

  get operation(): string {
    return this.#call.route?.protocol?.name ?? ''
  }

  get model(): string {
    return this.#call.model
  }

  get stream(): boolean {
    return this.#call.stream
  }

  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= shownHeaders(this.#call)
    return this.#headers
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController()
      this.#abort = abort
      this.#call.cancellation.add({ cancel: () => abort.abort() })
      if (this.#isOver) abort.abort()
    }
    return this.#abort.signal
  }

  body(): Promise<unknown> {
    return this.#document.get()
  }

  /** The check has answered, or its time is over: what still works for it is to end. */
  end(): void {
    this.#isOver = true
    this.#abort?.abort()
  }
}

/** The body of a call as all of its checks see it: parsed once, if one of them asks. */
export class SharedDocument {
  readonly #call: Call
  readonly #body: Body
  #held = 0
  #document: Promise<unknown> | undefined

  constructor(call: Call, body: Body) {
    this.#call = call
    this.#body = body
  }

  get(): Promise<unknown> {
    if (this.#document === undefined) {
      this.#held = this.#call.memory.bytes
      this.#document = documentOf(this.#call, this.#body)
    }
    return this.#document
  }

  /** No check needs it any more. */
  release(): void {
    if (this.#document !== undefined) this.#call.memory.shrink(this.#held)
  }
}

/** Without what may carry a secret: by its name, or because the route looks for keys there. */
function shownHeaders({ request, route }: Call): Readonly<Record<string, string>> {
  const hides = { names: keyHeaders(route?.caller ?? []), secrets: [] }
  const shown: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(request.headers)) {
    const text = Array.isArray(value) ? value.join(', ') : value
    if (text !== undefined && !isSecretName(name) && !isHidden(name, text, hides)) shown[name] = text
  }
  return Object.freeze(shown)
}

async function documentOf(call: Call, body: Body): Promise<unknown> {
  if (body.type === 'bytes') {
    const document = await documentOfBody(call, body)
    return call.get(SHOWN_DOCUMENT)?.(document) ?? document
  }
  return body.type === 'form' ? structuredClone(body.document) : undefined
}
