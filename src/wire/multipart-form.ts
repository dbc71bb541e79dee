import { fold } from './control-names.js'
import { type MultipartEvent, MultipartReader } from './multipart.js'
import type { PartHead } from './multipart-head.js'
import { type FormLimits, MultipartError } from './multipart-problems.js'
import { PendingBytes } from './pending-bytes.js'
import { SOUND_HEAD_BYTES } from './sound.js'

interface FormOptions {
  /** Names of the fields that decide what happens: each may occur once, as plain text, and in no other spelling. */
  readonly control: readonly string[]
  readonly limits: FormLimits
}

/** A part of a form. `start` and `end` are the absolute byte offsets of its content. */
export interface FormPart {
  readonly name: string
  readonly head: PartHead
  readonly start: number
  readonly end: number
  /** The first {@link SOUND_HEAD_BYTES} of a file; of a field none. */
  readonly beginning: Buffer
}

/** A part without a file name whose type is not media. */
export interface FormField extends FormPart {
  /** Undefined if the part is encoded or not UTF-8; never undefined for a control field. */
  readonly value: string | undefined
}

/** The current part. */
interface OpenPart {
  readonly name: string
  readonly head: PartHead
  readonly start: number
  readonly isField: boolean
  readonly isControl: boolean
  /** What is kept of a file. */
  beginning: Buffer
}

const NOTHING = Buffer.alloc(0)
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Transfer encodings that leave the bytes as they are (RFC 2045 §6.2). */
const IDENTITY = new Set(['7bit', '8bit', 'binary'])
/** Charsets that contain ASCII; other characters must be UTF-8. */
export const ASCII_BASED = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii', 'iso-8859-1', 'latin1', 'windows-1252'])

/**
 * Reads a form (RFC 7578) as it streams: keeps its text fields, up to a limit, and lets its files pass. Fields may come in
 * any order; control fields may follow the files. Its events are those of {@link MultipartReader}.
 */
export class MultipartForm {
  readonly #reader: MultipartReader
  readonly #limits: FormLimits
  readonly #control: ReadonlyMap<string, string>
  readonly #fields: FormField[] = []
  readonly #files: FormPart[] = []
  readonly #seen = new Set<string>()
  readonly #pending = new PendingBytes()
  /** Total bytes of the values of all fields before the current one. */
  #before = 0
  #part: OpenPart | undefined
  #error: MultipartError | undefined

  constructor(boundary: string, { control, limits }: FormOptions) {
    this.#reader = new MultipartReader(boundary, limits)
    this.#limits = limits
    this.#control = new Map(control.map(name => [fold(name), name]))
  }

  /** Complete text fields in order; a name may occur several times. */
  get fields(): readonly FormField[] {
    return this.#fields
  }

  /** Files so far, in order. */
  get files(): readonly FormPart[] {
    return this.#files
  }

  /** The first field of this name, available once the boundary after it has arrived. */
  field(name: string): FormField | undefined {
    return this.#fields.find(field => field.name === name)
  }

  /**
   * Events of this chunk. Throws {@link MultipartError} if the body is malformed, over a limit, or not a form with each
   * control field once; every later call throws the same.
   */
  push(chunk: Uint8Array): readonly MultipartEvent[] {
    return this.follow(() => this.#reader.push(chunk))
  }

  /** Ends the body. */
  end(): readonly MultipartEvent[] {
    return this.follow(() => this.#reader.end())
  }

  private follow(read: () => readonly MultipartEvent[]): readonly MultipartEvent[] {
    if (this.#error !== undefined) throw this.#error
    try {
      const events = read()
      for (const event of events) this.take(event)
      return events
    } catch (error) {
      if (error instanceof MultipartError) this.#error = error
      this.#pending.take()
      throw error
    }
  }

  private take(event: MultipartEvent): void {
    if (event.type === 'part') this.#part = this.begin(event.head, event.start)
    else if (event.type === 'part-end') this.finish(event.end)
    else if (event.type === 'data' && this.#part !== undefined) this.read(this.#part, event.bytes)
  }

  private begin(head: PartHead, start: number): OpenPart {
    const { name } = head
    if (head.disposition !== 'form-data' || name === undefined) {
      throw new MultipartError('disposition', 'A part of the form has no form-data disposition with a name.', {
        at: start,
      })
    }
    const control = this.controlOf(head)
    const isField = isText(head)
    if (control !== undefined) {
      if (head.writtenName !== control) {
        const message = `Unknown field. Did you mean '${control}'? It must be written exactly like that.`
        throw new MultipartError('variant', message, { name: control })
      }
      if (this.#seen.has(control)) {
        throw new MultipartError('duplicate', `The field '${control}' must occur only once.`, { name: control })
      }
      this.#seen.add(control)
      if (!isField || !isPlain(head)) throw notText(control)
    }
    return { name, head, start, isField, isControl: control !== undefined, beginning: NOTHING }
  }

  /** The control field that some reader takes this part for. */
  private controlOf({ name, writtenName }: PartHead): string | undefined {
    for (const reading of readings(name ?? '', writtenName ?? '')) {
      const control = this.#control.get(fold(base(reading)))
      if (control !== undefined) return control
    }
    return undefined
  }

  private read(part: OpenPart, bytes: Buffer): void {
    if (part.isField) this.hold(bytes)
    else if (part.beginning.length < SOUND_HEAD_BYTES) {
      const more = bytes.subarray(0, SOUND_HEAD_BYTES - part.beginning.length)
      part.beginning = Buffer.concat([part.beginning, more])
    }
  }

  private hold(bytes: Buffer): void {
    const { field, fields } = this.#limits
    const length = this.#pending.length + bytes.length
    if (length > field) {
      throw new MultipartError('limit', `A text field of the form is larger than ${field} bytes.`, { limit: 'field' })
    }
    if (this.#before + length > fields) {
      throw new MultipartError('limit', `The text fields of the form are larger than ${fields} bytes in all.`, {
        limit: 'fields',
      })
    }
    this.#pending.append(bytes)
  }

  private finish(end: number): void {
    const part = this.#part
    this.#part = undefined
    if (part === undefined) return
    const { name, head, start, isField, isControl, beginning } = part
    if (!isField) {
      this.#files.push({ name, head, start, end, beginning })
      return
    }
    const bytes = this.#pending.take()
    this.#before += bytes.length
    const value = isPlain(head) ? textOf(bytes, head) : undefined
    if (isControl && value === undefined) throw notText(name)
    this.#fields.push({ name, head, start, end, beginning, value })
  }
}

/**
 * The ways in which readers decode a name: escapes undone as in RFC 822, left as they are, or percent-decoded as browsers
 * write it.
 */
export function* readings(name: string, written: string): Generator<string> {
  yield name
  if (written.includes('\\')) yield written
  if (written.includes('%')) yield percentDecoded(name)
}

/** Strips what some frameworks strip: white space around the name, and brackets that make it a list. */
function base(name: string): string {
  const bracket = name.indexOf('[')
  return (bracket < 0 ? name : name.slice(0, bracket)).trim()
}

function percentDecoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Whether a part is a field for every reader, and not a file. */
export function isText({ filename, extendedFilename, type }: PartHead): boolean {
  if (filename !== undefined || extendedFilename !== undefined) return false
  return type === undefined || type.startsWith('text/') || type === 'application/json'
}

/** Whether the content is the value without any encoding. */
export function isPlain({ encoding, charset }: PartHead): boolean {
  return (encoding === undefined || IDENTITY.has(encoding)) && (charset === undefined || ASCII_BASED.has(charset))
}

/** Whether any text can be written in a part of this charset. */
export function isUnicode(charset: string | undefined): boolean {
  return charset === undefined || charset === 'utf-8' || charset === 'utf8'
}

function textOf(bytes: Buffer, { charset }: PartHead): string | undefined {
  try {
    const text = UTF8.decode(bytes)
    return isUnicode(charset) || text.length === bytes.length ? text : undefined
  } catch {
    return undefined
  }
}

function notText(name: string): MultipartError {
  return new MultipartError('control', `The field '${name}' must be plain text, not a file.`, { name })
}
