import { createRequire } from 'node:module'

/** The language's standard library has no types for it without those of browsers. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: object }
}

/** What this file uses of the WebAssembly build of llhttp. Pointers are numbers into its memory. */
interface Wasm {
  readonly memory: { readonly buffer: ArrayBuffer }
  malloc(bytes: number): number
  llhttp_alloc(type: number): number
  llhttp_free(parser: number): void
  llhttp_reset(parser: number): void
  llhttp_resume(parser: number): void
  llhttp_execute(parser: number, at: number, bytes: number): number
  llhttp_get_error_pos(parser: number): number
  llhttp_get_error_reason(parser: number): number
  llhttp_errno_name(code: number): number
  llhttp_get_method(parser: number): number
  llhttp_method_name(method: number): number
  llhttp_get_http_major(parser: number): number
  llhttp_get_http_minor(parser: number): number
}

const TYPES = { request: 1, response: 2 } as const
const OK = 0
/** A callback returns it to stop the parser behind the byte that it was called for. */
const PAUSED = 21

/** Bytes that the parser is given at a time: they are copied into its memory. */
const WINDOW_BYTES = 16 * 1024

/** Kinds of marks: a piece of the request's target, of a header's name, of a header's value. */
const TARGET = 0
const NAME = 1
const VALUE = 2

/** What callbacks note, for the caller of `llhttp_execute` to act upon: kind, begin and end of a piece of the head. */
const marks: number[] = []
/** Begin and end of each piece of the body. */
let body: number[] = []
/** Added to an address, it makes an offset in the bytes that are being parsed. */
let shift = 0
let status = 0
let keepsAlive = false
let upgrades = false
let headEnded = false
let messageEnded = false

let loaded: { readonly wasm: Wasm; readonly address: number; window: Uint8Array } | undefined

/**
 * Loads the parser in the package `undici`, once. All its leniency is off. Users of the parser call this when the process
 * starts, since later there may be no descriptor left to read its file.
 */
export function loadParser(): NonNullable<typeof loaded> {
  if (loaded !== undefined) return loaded
  const wasm = new WebAssembly.Instance(moduleOf(), { env: CALLBACKS }).exports as Wasm
  const address = wasm.malloc(WINDOW_BYTES)
  loaded = { wasm, address, window: new Uint8Array(wasm.memory.buffer, address, WINDOW_BYTES) }
  return loaded
}

function moduleOf(): object {
  const require = createRequire(import.meta.url)
  try {
    return new WebAssembly.Module(require('undici/lib/llhttp/llhttp_simd-wasm.js'))
  } catch {
    // Processors without SIMD.
    return new WebAssembly.Module(require('undici/lib/llhttp/llhttp-wasm.js'))
  }
}

/** They only take notes: an exception or a call of the parser in here would break the parser's state. */
const CALLBACKS = {
  wasm_on_message_begin: () => OK,
  wasm_on_status: () => OK,
  wasm_on_url: (_parser: number, at: number, length: number) => mark(TARGET, at, length),
  wasm_on_header_field: (_parser: number, at: number, length: number) => mark(NAME, at, length),
  wasm_on_header_value: (_parser: number, at: number, length: number) => mark(VALUE, at, length),
  wasm_on_headers_complete: (_parser: number, code: number, upgrade: number, keepAlive: number) => {
    status = code
    upgrades = upgrade === 1
    keepsAlive = keepAlive === 1
    headEnded = true
    return PAUSED
  },
  wasm_on_body: (_parser: number, at: number, length: number) => {
    body.push(at + shift, at + shift + length)
    return OK
  },
  wasm_on_message_complete: () => {
    messageEnded = true
    return PAUSED
  },
}

function mark(kind: number, at: number, length: number): number {
  marks.push(kind, at + shift, at + shift + length)
  return OK
}

/**
 * `head`: the head is whole; `end`: the body is; `more`: all bytes were taken and more are needed; `failed`: the bytes are
 * not HTTP/1.1, or too many.
 */
type Step = 'head' | 'end' | 'more' | 'failed'

/**
 * Reads the heads of the messages of one connection, and bodies in chunks. Bodies of a known length, and those that end with
 * the connection, need no parser: their owner counts. The order of calls for a message: `execute` until `head`; for a body
 * in chunks `execute` until `end`; then `next`. After `failed` only `free` may follow.
 *
 * llhttp accepts more than it should in few places, which its callers look at: blank lines before a message, several blanks
 * in a request line, the versions 0.9 and 2.0, RTSP and ICE for HTTP, codings beside `chunked`, and a status below 100.
 */
export class HttpParser {
  readonly #wasm: Wasm
  readonly #maxBytes: number
  /** 0 after `free`. */
  #parser: number
  /** Offset of the first byte that the last `execute` did not take. */
  position = 0
  /** Begin and end of each piece of the body that the last `execute` found in its bytes. */
  readonly body: number[] = []
  /** Flat list of names, in lower case, and values, without blanks around them. As long as this message is read. */
  headers: string[] = []
  /** Of a request. */
  target = ''
  /** Of a response. */
  status = 0
  /** Whether another message may follow on the connection; of a response also that its end is not the connection's. */
  keepsAlive = false
  /** Whether the message asks for another protocol, or agrees to one. */
  upgrades = false
  /** llhttp's name of the error (`HPE_INVALID_CHUNK_SIZE`) and its reason, after `failed`. */
  error = { code: '', reason: '' }
  #last = -1
  #inBody = false
  #isPaused = false
  /** Bytes of the head; in the body, those since the last one that was content. */
  #bytes = 0

  /** `maxBytes`: of a head, of trailers, and of the extensions of a chunk. */
  constructor(type: keyof typeof TYPES, maxBytes: number) {
    this.#wasm = loadParser().wasm
    this.#maxBytes = maxBytes
    this.#parser = this.#wasm.llhttp_alloc(TYPES[type])
  }

  /** Of a request. */
  get method(): string {
    return text(this.#wasm, this.#wasm.llhttp_method_name(this.#wasm.llhttp_get_method(this.#parser)))
  }

  /** `1.1` */
  get version(): string {
    return `${this.#wasm.llhttp_get_http_major(this.#parser)}.${this.#wasm.llhttp_get_http_minor(this.#parser)}`
  }

  /** Takes bytes from `start` to `end`; `position` tells how many. */
  execute(bytes: Buffer, start = 0, end = bytes.length): Step {
    this.body.length = 0
    let at = start
    let step: Step = 'more'
    while (at < end && step === 'more') {
      step = this.#executeWindow(bytes, at, Math.min(end, at + WINDOW_BYTES))
      at = this.position
    }
    return step
  }

  #executeWindow(bytes: Buffer, start: number, end: number): Step {
    const code = this.#run(bytes, start, end)
    const isWhole = code === PAUSED && (headEnded || messageEnded)
    if (!isWhole && code !== OK) return this.#fail(code)
    this.position = isWhole ? this.#wasm.llhttp_get_error_pos(this.#parser) + shift : end
    this.#isPaused = isWhole
    const lastContent = this.body.at(-1) ?? 0
    this.#bytes = lastContent > start ? this.position - lastContent : this.#bytes + this.position - start
    if (this.#bytes > this.#maxBytes) return this.#tooLong()
    if (this.#inBody) return messageEnded ? 'end' : 'more'
    this.#takeMarks(bytes)
    if (!headEnded) return 'more'
    this.#endHead()
    return 'head'
  }

  /** Calls the parser for at most a window of bytes. */
  #run(bytes: Buffer, start: number, end: number): number {
    const { wasm, address, window } = windowOf()
    window.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end))
    marks.length = 0
    body = this.body
    shift = start - address
    headEnded = false
    messageEnded = false
    if (this.#isPaused) wasm.llhttp_resume(this.#parser)
    return wasm.llhttp_execute(this.#parser, address, end - start)
  }

  /** Makes strings of what was marked. The bytes of one head are decoded in one call. */
  #takeMarks(bytes: Buffer): void {
    const [, first = 0] = marks
    const head = bytes.toString('latin1', first, marks.at(-1) ?? first)
    for (let i = 0; i < marks.length; i += 3) {
      const kind = marks[i] ?? NAME
      const piece = head.slice((marks[i + 1] ?? 0) - first, (marks[i + 2] ?? 0) - first)
      if (kind === TARGET) this.target += piece
      else if (kind !== this.#last) this.headers.push(piece)
      else this.headers.push((this.headers.pop() ?? '') + piece)
      this.#last = kind
    }
  }

  #endHead(): void {
    const { headers } = this
    for (let i = 0; i < headers.length; i += 2) {
      headers[i] = lowerCase(headers[i] ?? '')
      headers[i + 1] = trimmed(headers[i + 1] ?? '')
    }
    this.status = status
    this.keepsAlive = keepsAlive
    this.upgrades = upgrades
    this.#inBody = true
    this.#bytes = 0
  }

  #fail(code: number): Step {
    const wasm = this.#wasm
    const reason = text(wasm, wasm.llhttp_get_error_reason(this.#parser))
    this.error = { code: text(wasm, wasm.llhttp_errno_name(code)), reason }
    return 'failed'
  }

  #tooLong(): Step {
    this.error = { code: 'HPE_HEADER_OVERFLOW', reason: `more than ${this.#maxBytes} bytes` }
    return 'failed'
  }

  /** Makes ready for the next message. */
  next(): void {
    this.#wasm.llhttp_reset(this.#parser)
    this.headers = []
    this.target = ''
    this.#last = -1
    this.#inBody = false
    this.#isPaused = false
    this.#bytes = 0
  }

  /** Gives its memory back. Nothing else may be called afterwards. */
  free(): void {
    if (this.#parser !== 0) this.#wasm.llhttp_free(this.#parser)
    this.#parser = 0
  }
}

/** Size of the memory that all parsers share. @testonly */
export function parserMemoryBytes(): number {
  return loadParser().wasm.memory.buffer.byteLength
}

/** The window into the parser's memory. Where that memory has grown, it has another buffer. */
function windowOf(): NonNullable<typeof loaded> {
  const parser = loadParser()
  const { wasm, address } = parser
  if (parser.window.length === 0) parser.window = new Uint8Array(wasm.memory.buffer, address, WINDOW_BYTES)
  return parser
}

/** A string of C. */
function text({ memory }: Wasm, address: number): string {
  if (address === 0) return ''
  const bytes = new Uint8Array(memory.buffer, address)
  return Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString('latin1')
}

/** Names of headers that were seen, as they were written. Most messages have the same ones. */
const lowerCases = new Map<string, string>()
const MAX_LOWER_CASES = 256

function lowerCase(name: string): string {
  const known = lowerCases.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  if (lowerCases.size < MAX_LOWER_CASES && name.length < 64) lowerCases.set(Buffer.from(name).toString(), lower)
  return lower
}

/** Without blanks at its end; llhttp has removed those at its beginning. */
function trimmed(value: string): string {
  let end = value.length
  while (end > 0 && (value.charCodeAt(end - 1) === 0x20 || value.charCodeAt(end - 1) === 0x09)) end--
  return value.slice(0, end)
}
