import { GatewayError } from '../../core/errors.js'
import type { TaskVariant } from '../../core/task-kind.js'
import type { Call } from '../../kernel/call.js'
import { stored } from '../../kernel/stored.js'
import type { Work } from '../../kernel/watchdog.js'
import { type ContentRequest, expired, inertHeaders, typeOfContent } from './content-relay.js'
import type { Kept, Task } from './record.js'
import { TASKS } from './tasks.js'

/** Sends a result from the store's blobs, in pieces as fast as the client reads. The head waits for the first piece. */
export async function keptContent(
  call: Call,
  task: Task,
  kept: Kept,
  variant: TaskVariant,
  wish: ContentRequest,
): Promise<void> {
  const { tag, cached, head, headers } = wish
  const type = typeOfContent(variant, kept.type)
  if (type === undefined) throw new GatewayError('bad_upstream_response', 'The content of this task cannot be read.')
  const { size } = kept
  const range = rangeOf(headers[1], size)
  const own = ['content-type', type, 'etag', tag, 'cache-control', cached, 'accept-ranges', 'bytes']
  const common = [...own, ...inertHeaders(type)]
  if (range === 'none') {
    call.begin(416, [...common, 'content-range', `bytes */${size}`, 'content-length', '0'])
    call.end()
    return
  }
  const { first, last } = range ?? { first: 0, last: size - 1 }
  const blob = await call.kernel.need(TASKS).results.open(task, kept, { start: first, end: last + 1 })
  if (blob === undefined) throw expired()
  const pieces = blob.pieces[Symbol.asyncIterator]()
  const begun = head ? undefined : await stored(pieces.next())
  const place = range === undefined ? [] : ['content-range', `bytes ${first}-${last}/${size}`]
  call.begin(range === undefined ? 200 : 206, [...common, ...place, 'content-length', String(last - first + 1)])
  if (begun === undefined) call.end()
  else await new Sending(call).send(begun, pieces)
}

/** Sends pieces: the next one is read after the client has taken the last one. */
class Sending implements Work {
  readonly #call: Call
  #resume: () => void = () => undefined
  #over = false

  constructor(call: Call) {
    this.#call = call
  }

  async send(first: IteratorResult<Uint8Array>, rest: AsyncIterator<Uint8Array>): Promise<void> {
    const call = this.#call
    call.work = this
    try {
      for (let next = first; next.done !== true; next = await rest.next()) {
        if (this.#over) return
        const drained = new Promise<void>(resolve => {
          this.#resume = resolve
        })
        if (!call.write(next.value, this.#resume)) await drained
      }
      call.end()
    } catch (cause) {
      // The transfer ends before its length, so the client sees that it is incomplete.
      call.tally.truncated = true
      call.fail(new GatewayError('unavailable', 'The content of this task is gone.', { cause, phase: 'store' }))
    } finally {
      await rest.return?.()
    }
  }

  cancel(): void {
    this.#over = true
    this.#resume()
  }

  cut(error: GatewayError): boolean {
    this.#call.tally.truncated = true
    this.#call.error ??= error
    this.#call.breakOff()
    return true
  }

  check(): void {
    // The store and the client have time limits of their own.
  }
}

/** One byte range (RFC 9110 §14.1.2). Several ranges are answered with the whole content. */
function rangeOf(header: string | undefined, length: number): { first: number; last: number } | 'none' | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  // A range that ends before it begins is invalid, and is ignored.
  if ((from === '' && to === '') || (from !== '' && to !== '' && Number(from) > Number(to))) return undefined
  const first = from === '' ? Math.max(0, length - Number(to)) : Number(from)
  const last = from === '' || to === '' ? length - 1 : Math.min(Number(to), length - 1)
  return first > last || first >= length ? 'none' : { first, last }
}
