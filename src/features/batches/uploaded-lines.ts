import type { Plan, Route } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'
import { slot } from '../../kernel/slot.js'
import { LineCount } from '../../wire/line-count.js'
import { MultipartReader } from '../../wire/multipart.js'
import { boundaryOf } from '../../wire/multipart-boundary.js'
import { isPlain, isText } from '../../wire/multipart-form.js'

/** Counts the lines of the file that a request uploads. */
export const UPLOADED_LINES = slot<UploadedLines>('lines of an upload')
/** Number of requests in the file of a batch; absent if unknown. */
export const BATCH_LINES = slot<number>('requests of a batch')

/** Most parts of a form and header lines of a part; size of a part's head, bytes. */
const FORM_LIMITS = { head: 16 * 1024, headers: 32, parts: 64 } as const
/** Files with more lines are not counted. */
const MAX_LINES = 100_000

/** Whether a file uploaded on this route may become a batch whose requests are charged. */
export function mayHoldBatch({ accounting, routes }: Plan, { resource }: Route): boolean {
  if (accounting === undefined || resource?.action !== 'create') return false
  const isBatch = ({ protocol, references }: Route): boolean =>
    protocol?.amounts?.batch === true && references.some(({ kind }) => kind === resource.kind)
  return routes.some(isBatch)
}

/** Counts the lines of a form's only file as it passes. */
export class UploadedLines {
  readonly #lines = new LineCount()
  #reader: MultipartReader | undefined
  #files = 0
  #isFile = false

  constructor({ request }: Pick<Call, 'request'>) {
    try {
      this.#reader = new MultipartReader(boundaryOf(request.headers['content-type']), FORM_LIMITS)
    } catch {
      // It is not a form: its lines are not counted.
    }
  }

  /** Undefined if there is not exactly one file, or it is empty or has too many lines. */
  get count(): number | undefined {
    const { lines } = this.#lines
    return this.#reader !== undefined && this.#files === 1 && lines > 0 ? lines : undefined
  }

  readonly push = (chunk: Buffer): void => {
    try {
      for (const event of this.#reader?.push(chunk) ?? []) {
        if (event.type === 'part') {
          this.#isFile = !isText(event.head)
          if (this.#isFile) this.#files++
          // What is decoded from it has other lines.
          if (this.#isFile && !isPlain(event.head)) this.#reader = undefined
        } else if (event.type === 'data' && this.#isFile) this.#lines.push(event.bytes)
      }
      if (this.#lines.lines > MAX_LINES) this.#reader = undefined
    } catch {
      this.#reader = undefined
    }
  }
}
