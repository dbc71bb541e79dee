import { hash } from 'node:crypto'
import type { AmountPaths, Demand } from '../core/amounts.js'
import type { Sticky } from '../core/strategy.js'
import type { Asked } from '../core/when.js'
import { demandOfBytes, demandOfForm, demandOfNothing, type ReadFields } from './demand.js'
import { showsImages } from './image-marks.js'
import { parsePath } from './json-path.js'
import { JsonValues } from './json-values.js'
import { firstTurn } from './prompt-prefix.js'

/** Bytes of a first turn that tell a conversation from others. */
const FIRST_TURN_BYTES = 65_536

/** Where requests name their conversation, beside a declared header: the first that has a value. */
const CONVERSATION_HEADERS = ['session_id', 'conversation_id', 'x-session-id', 'x-conversation-id']
const CONVERSATION_PATHS = [
  ['prompt_cache_key'],
  ['conversation'],
  ['conversation', 'id'],
  ['session_id'],
  ['metadata', 'session_id'],
  ['metadata', 'conversation_id'],
]

/** The turn before this one. */
const PREVIOUS = ['previous_response_id']

/** What is known of a request before it is read. */
export interface Request {
  /** A body in JSON. */
  readonly body: Buffer | undefined
  /** A body that is a form. */
  readonly form: ReadFields | undefined
  readonly stream: boolean
  /** Name of the caller's key. */
  readonly key: string
  /** Groups of the key, from the inside out. */
  readonly groups: readonly string[]
  header(name: string): string | undefined
  /** The digest of the conversation that a response belongs to, where it is known. */
  thread?(response: string): Uint8Array | undefined
  /** Where its protocol says how much is asked for. */
  readonly paths: AmountPaths | undefined
}

/** What conditions and strategies ask of a request. Nothing is read before it is asked for. */
export class RequestView implements Asked {
  readonly #request: Request
  #values: JsonValues | undefined
  #demand: Demand | undefined

  constructor(request: Request) {
    this.#request = request
  }

  get stream(): boolean {
    return this.#request.stream
  }

  get key(): string {
    return this.#request.key
  }

  get groups(): readonly string[] {
    return this.#request.groups
  }

  get paths(): AmountPaths | undefined {
    return this.#request.paths
  }

  get demand(): Demand {
    this.#demand ??= this.#readDemand()
    return this.#demand
  }

  get tokens(): number {
    return this.demand.likelyInput
  }

  get tools(): boolean {
    return [['tools'], ['functions']].some(path => Number(this.#at(path)) > 0)
  }

  get images(): boolean {
    const { body } = this.#request
    return body !== undefined && showsImages(body)
  }

  header(name: string): string | undefined {
    return this.#request.header(name)
  }

  body(path: string): unknown {
    return this.#request.form === undefined ? this.#at(parsePath(path)) : this.#request.form.value(path)
  }

  /** The same bytes for requests that are to go to the same target; at least 8. */
  digest({ to, header, prefix }: Sticky): Uint8Array {
    const { body, key } = this.#request
    if (to === 'key') return digestOf('key', key)
    if (to === 'prefix') {
      const turn = body && firstTurn(body, prefix)
      return turn === undefined ? digestOf('key', key) : digestOf('prefix', turn)
    }
    const name = this.#conversation(header)
    if (name !== undefined) return digestOf(`conversation\0${key}`, name)
    const previous = this.#at(PREVIOUS)
    if (typeof previous === 'string' && previous !== '') {
      return this.#request.thread?.(previous) ?? digestOf(`response\0${key}`, previous)
    }
    const turn = body && firstTurn(body, FIRST_TURN_BYTES)
    return turn === undefined ? digestOf('key', key) : digestOf(`turn\0${key}`, turn)
  }

  #conversation(header: string | undefined): string | undefined {
    for (const name of header === undefined ? CONVERSATION_HEADERS : [header, ...CONVERSATION_HEADERS]) {
      const value = this.header(name)
      if (value !== undefined && value !== '') return value
    }
    for (const path of CONVERSATION_PATHS) {
      const value = this.#at(path)
      if (typeof value === 'string' && value !== '') return value
    }
    return undefined
  }

  #at(path: readonly string[]): unknown {
    const { body } = this.#request
    if (body === undefined) return undefined
    this.#values ??= new JsonValues(body)
    try {
      return this.#values.at(path)
    } catch {
      return undefined
    }
  }

  #readDemand(): Demand {
    const { body, form, paths } = this.#request
    if (body !== undefined) return demandOfBytes(body, paths)
    return form === undefined ? demandOfNothing(paths) : demandOfForm(form, paths)
  }
}

function digestOf(kind: string, value: string | Buffer): Uint8Array {
  return typeof value === 'string'
    ? hash('sha256', `${kind}\0${value}`, 'buffer')
    : hash('sha256', Buffer.concat([Buffer.from(`${kind}\0`), value]), 'buffer')
}
