/** A part of a multipart body. */
export interface Part {
  readonly name: string
  /** Whether the part is a file, not a field, of a form. */
  readonly isFile: boolean
  readonly filename: string | undefined
  /** The media type in lower case, without parameters; undefined if the part names none. */
  readonly type: string | undefined
  readonly bytes: Buffer
}

const CRLF = '\r\n'

/** The parts of a multipart body (RFC 2046 §5.1, RFC 7578), or undefined if it is malformed or of another subtype. */
export function partsOf(body: Buffer, contentType = '', subtype = 'form-data'): readonly Part[] | undefined {
  const [, actual, quoted, bare] =
    /^\s*multipart\/([\w-]+)\b.*?;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? bare
  if (actual?.toLowerCase() !== subtype || boundary === undefined) return undefined
  const delimiter = Buffer.from(`${CRLF}--${boundary}`)
  const startsWithIt = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))
  let at = startsWithIt ? -2 : body.indexOf(delimiter)
  const parts: Part[] = []
  while (at !== -1) {
    const line = at + delimiter.length
    if (body.toString('latin1', line, line + 2) === '--') return parts
    const next = body.indexOf(delimiter, line)
    const part = next === -1 ? undefined : readPart(body.subarray(line, next))
    if (part === undefined) return undefined
    parts.push(part)
    at = next
  }
  return undefined
}

/** `bytes`: from the end of the boundary to the next one. */
function readPart(bytes: Buffer): Part | undefined {
  const end = bytes.indexOf(CRLF + CRLF)
  if (end === -1) return undefined
  const headers = bytes.toString('utf8', 0, end).split(CRLF).slice(1)
  const header = (name: string): string | undefined =>
    headers
      .find(line => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim()
  const disposition = header('content-disposition') ?? ''
  const type = header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  return {
    name: parameter(disposition, 'name') ?? '',
    filename: parameter(disposition, 'filename'),
    isFile: /;\s*filename\*?=/i.test(disposition) || !/^(text\/.*|application\/json)?$/.test(type ?? ''),
    type,
    bytes: bytes.subarray(end + 4),
  }
}

function parameter(value: string, name: string): string | undefined {
  const [, quoted, bare] = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]*))`, 'i').exec(value) ?? []
  return quoted?.replace(/\\(["\\])/g, '$1') ?? bare
}
