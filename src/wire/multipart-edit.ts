import { asBuffer } from './bytes.js'
import type { Edit } from './json-splice.js'
import { type FormField, isUnicode } from './multipart-form.js'
import { MultipartError } from './multipart-problems.js'

/**
 * Edits that give a text field another value, and correct its `content-length` if the part has one. Throws {@link
 * MultipartError} if the boundary occurs in the value, or the part's encoding cannot represent it.
 */
export function valueEdits(field: FormField, value: string, boundary: string): readonly Edit[] {
  const bytes = Buffer.from(value)
  const { head, start, end } = field
  if (`\n${bytes.toString('latin1')}`.includes(`\n--${boundary}`)) {
    throw new MultipartError('value', 'The boundary of the body occurs in the new value of a field.')
  }
  if (field.value === undefined || (bytes.length !== value.length && !isUnicode(head.charset))) {
    throw new MultipartError('value', "The new value of a field cannot be written in the part's encoding.")
  }
  const edits = [{ start, end, bytes }]
  const length = head.headers.find(({ name }) => name === 'content-length')
  if (length === undefined) return edits
  return [{ start: length.start, end: length.end, bytes: Buffer.from(String(bytes.length)) }, ...edits]
}

/**
 * Passes a body on with edits that do not overlap; everything else stays byte for byte. It takes the body's bytes, or those
 * of its events in order, from the first byte on in chunks of any size, and stores none of them.
 */
export class MultipartEdit {
  readonly #edits: readonly Edit[]
  #next = 0
  /** Whether the next edit's bytes have been sent, but not all bytes that they replace have passed. */
  #isInside = false
  /** Offset of the next byte. */
  #at = 0

  constructor(edits: readonly Edit[]) {
    this.#edits = edits.toSorted((one, other) => one.start - other.start)
  }

  /** Difference in bytes between the new and the old body. */
  get growth(): number {
    return this.#edits.reduce((sum, { start, end, bytes }) => sum + bytes.length - (end - start), 0)
  }

  /** The output for these bytes. A new value is sent as soon as the byte before it has passed. */
  push(chunk: Uint8Array): readonly Buffer[] {
    const bytes = asBuffer(chunk)
    const base = this.#at
    const stop = base + bytes.length
    const pieces: Buffer[] = []
    const pass = (to: number): void => {
      if (to > this.#at) pieces.push(bytes.subarray(this.#at - base, to - base))
      this.#at = Math.max(this.#at, to)
    }
    for (let edit = this.#edits[this.#next]; edit !== undefined; edit = this.#edits[++this.#next]) {
      if (edit.start > stop) break
      if (!this.#isInside) {
        pass(edit.start)
        if (edit.bytes.length > 0) pieces.push(asBuffer(edit.bytes))
      }
      this.#isInside = edit.end > stop
      this.#at = Math.min(stop, edit.end)
      if (this.#isInside) return pieces
    }
    pass(stop)
    return pieces
  }
}
