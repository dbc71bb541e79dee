import { CR, DELETE, LF, TAB } from '../core/ascii.js'
import { MultipartError } from './multipart-problems.js'
import { isToken, type Parameter, parseParameters, skipSpace, trim } from './parameters.js'

/** One header of a part. Each character of the value is one byte. */
interface PartHeader {
  /** In lower case. */
  readonly name: string
  /** Without surrounding white space. */
  readonly value: string
  /** Absolute byte offsets of the value. */
  readonly start: number
  readonly end: number
}

/** The head of a part. Missing headers are undefined. */
export interface PartHead {
  readonly headers: readonly PartHeader[]
  /** The kind in `content-disposition`, in lower case: `form-data`. */
  readonly disposition: string | undefined
  readonly name: string | undefined
  /** The name as written, escapes included. */
  readonly writtenName: string | undefined
  /** As the client sent it; never open a file by that name. Invalid UTF-8 becomes U+FFFD. */
  readonly filename: string | undefined
  /** The value of `filename*` as written. It is not decoded: RFC 7578 forbids it, although some clients send it. */
  readonly extendedFilename: string | undefined
  /** `content-type` as sent. */
  readonly contentType: string | undefined
  /** The media type of `content-type`, in lower case. */
  readonly type: string | undefined
  /** The charset of `content-type`, in lower case. */
  readonly charset: string | undefined
  /** `content-transfer-encoding`, lower-case. */
  readonly encoding: string | undefined
}

/** Headers that decide how a part is read: each may occur once. */
const DECISIVE = new Set(['content-disposition', 'content-type', 'content-transfer-encoding', 'content-length'])

/** Not the shared decoder: this one keeps a byte order mark, which is part of a name. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads a part's headers: lines that each end with CRLF. `at` is the absolute offset of the first. Throws {@link
 * MultipartError}: folded lines (RFC 822), control characters, and duplicate headers and parameters are refused, because
 * readers disagree on them.
 */
export function parseHead(bytes: Buffer, at: number, most: number): PartHead {
  const headers = readLines(bytes, at, most)
  const found = new Map<string, PartHeader>()
  for (const header of headers) {
    if (!DECISIVE.has(header.name)) continue
    if (found.has(header.name)) {
      throw new MultipartError('head', `A part has more than one ${header.name} header.`, { at: header.start })
    }
    found.set(header.name, header)
  }
  const type = readType(found.get('content-type'))
  return {
    headers,
    ...readDisposition(found.get('content-disposition')),
    contentType: found.get('content-type')?.value,
    type: type?.value,
    charset: type?.parameters.get('charset')?.value.toLowerCase(),
    encoding: found.get('content-transfer-encoding')?.value.toLowerCase(),
  }
}

function readLines(bytes: Buffer, base: number, most: number): readonly PartHeader[] {
  const headers: PartHeader[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = lineEnd(bytes, start, base)
    if (headers.length === most) {
      throw new MultipartError('limit', `A part has more than ${most} headers.`, { at: base + start, limit: 'headers' })
    }
    headers.push(readLine(bytes, start, end, base))
    start = end + 2
  }
  return headers
}

/** End of the line that begins at `start`. The caller has checked that every LF follows a CR. */
function lineEnd(bytes: Buffer, start: number, base: number): number {
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === CR && bytes[at + 1] === LF) return at
    if ((byte < 0x20 && byte !== TAB) || byte === DELETE) {
      throw new MultipartError('head', 'A header of a part contains a control character.', { at: base + at })
    }
  }
  return bytes.length
}

function readLine(bytes: Buffer, start: number, end: number, base: number): PartHeader {
  const line = bytes.toString('latin1', start, end)
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(0, colon))
  if (colon < 0 || !isToken(name)) {
    throw new MultipartError('head', 'A header of a part is not of the form "name: value" on one line.', {
      at: base + start,
    })
  }
  const value = trim(line.slice(colon + 1))
  const from = base + start + skipSpace(line, colon + 1)
  return { name: name.toLowerCase(), value, start: from, end: from + value.length }
}

function readType(header: PartHeader | undefined): ReturnType<typeof parseParameters> {
  // Some writers omit the type but send the header.
  if (header === undefined || header.value === '') return undefined
  const type = parseParameters(header.value)
  if (type !== undefined) return type
  throw new MultipartError('head', 'The content-type of a part is malformed.', { at: header.start })
}

type Disposition = Pick<PartHead, 'disposition' | 'name' | 'writtenName' | 'filename' | 'extendedFilename'>

const NO_DISPOSITION: Disposition = {
  disposition: undefined,
  name: undefined,
  writtenName: undefined,
  filename: undefined,
  extendedFilename: undefined,
}

function readDisposition(header: PartHeader | undefined): Disposition {
  if (header === undefined) return NO_DISPOSITION
  const read = parseParameters(header.value)
  if (read === undefined) throw malformed(header)
  const { value, parameters } = read
  for (const [key, parameter] of parameters) {
    // RFC 2231 would allow a second name next to the first.
    if (key.startsWith('name*') || (!parameter.quoted && !isToken(parameter.value))) throw malformed(header)
  }
  const name = parameters.get('name')
  const filename = parameters.get('filename')
  return {
    disposition: value,
    name: name === undefined ? undefined : strictText(name, header),
    writtenName: name?.written,
    filename: filename === undefined ? undefined : Buffer.from(filename.value, 'latin1').toString('utf8'),
    extendedFilename: extended(parameters),
  }
}

function extended(parameters: ReadonlyMap<string, Parameter>): string | undefined {
  for (const [key, { written }] of parameters) if (key.startsWith('filename*')) return written
  return undefined
}

function strictText({ value }: Parameter, header: PartHeader): string {
  try {
    return UTF8.decode(Buffer.from(value, 'latin1'))
  } catch {
    throw new MultipartError('disposition', 'The name of a part is not UTF-8.', { at: header.start })
  }
}

function malformed({ start }: PartHeader): MultipartError {
  return new MultipartError('disposition', 'The content-disposition of a part is malformed.', { at: start })
}
