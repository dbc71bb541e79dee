import type {
  AnswerHeaders,
  ExchangeHandler,
  UpstreamController,
  UpstreamRequest,
} from '../../src/transport/client/handler.js'
import type { ClientPool } from '../../src/transport/client/pool.js'

/** What a handler does when it is called, besides taking notes. */
type Hooks = Partial<Record<'start' | 'head' | 'data' | 'end', (heard: Heard) => void>>

/** Takes notes of one exchange. */
export class Heard implements ExchangeHandler {
  readonly #hooks: Hooks
  #settle: () => void = () => undefined
  /** Settles with the exchange, whichever way. */
  readonly over = new Promise<void>(settle => {
    this.#settle = settle
  })
  /** Calls in their order: `start head data end`. */
  readonly calls: string[] = []
  controller: UpstreamController | undefined
  status = 0
  headers: AnswerHeaders = {}
  readonly chunks: Buffer[] = []
  error: (Error & { code?: string }) | undefined

  constructor(hooks: Hooks = {}) {
    this.#hooks = hooks
  }

  get body(): string {
    return Buffer.concat(this.chunks).toString('latin1')
  }

  onRequestStart(controller: UpstreamController): void {
    this.controller = controller
    this.calls.push('start')
    this.#hooks.start?.(this)
  }

  onResponseStart(_controller: UpstreamController, status: number, headers: AnswerHeaders): void {
    this.calls.push('head')
    this.status = status
    this.headers = headers
    this.#hooks.head?.(this)
  }

  onResponseData(_controller: UpstreamController, chunk: Buffer): void {
    this.calls.push('data')
    this.chunks.push(chunk)
    this.#hooks.data?.(this)
  }

  onResponseEnd(): void {
    this.calls.push('end')
    this.#settle()
    this.#hooks.end?.(this)
  }

  onResponseError(_controller: UpstreamController, cause: Error): void {
    this.calls.push('error')
    this.error = cause
    this.#settle()
  }
}

export type Asked = Partial<UpstreamRequest> & { readonly body?: Uint8Array | null }

/** Sends a request, and takes notes of its answer. */
export function begin(pool: Pick<ClientPool, 'send'>, request: Asked = {}, hooks: Hooks = {}): Heard {
  const heard = new Heard(hooks)
  pool.send({ method: 'GET', path: '/', headers: [], body: null, ...request }, heard)
  return heard
}

/** The same, until the exchange is over. */
export async function ask(pool: Pick<ClientPool, 'send'>, request: Asked = {}, hooks: Hooks = {}): Promise<Heard> {
  const heard = begin(pool, request, hooks)
  await heard.over
  return heard
}
