import { ask } from '../api.js'

export interface Answer {
  readonly status: number
  readonly type: string
  /** Of the request, as the log has it. */
  readonly id: string | undefined
  readonly dropped: string | undefined
}

interface Try {
  readonly key: string
  readonly path: string
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly json?: object
  readonly form?: readonly object[]
  readonly signal?: AbortSignal
}

/** Makes a request in the name of a key; the answer is what its client would get. */
export async function attempt({
  signal,
  ...body
}: Try): Promise<{ readonly answer: Answer; readonly response: Response }> {
  const response = await ask('/admin/play', { method: 'POST', body, ...(signal === undefined ? {} : { signal }) })
  const { status, headers } = response
  const answer = {
    status,
    type: headers.get('content-type') ?? '',
    id: headers.get('x-request-id') ?? undefined,
    dropped: headers.get('x-gateway-dropped') ?? undefined,
  }
  return { answer, response }
}

/** The data of the events of a stream, as they come. */
export async function* eventsOf(response: Response): AsyncGenerator<string, void, void> {
  if (response.body === null) return
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/)
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim()
  }
}

/** Bytes of a message beside its headers and its payload: the lengths with their checksum, and the checksum of all. */
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
/** A longer message is no message. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

/** The payloads of the messages of a stream in the framing of AWS, as they come. */
export async function* payloadsOf(response: Response): AsyncGenerator<string, void, void> {
  if (response.body === null) return
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  let rest = new Uint8Array()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const bytes = new Uint8Array(rest.length + value.length)
    bytes.set(rest)
    bytes.set(value, rest.length)
    const view = new DataView(bytes.buffer)
    let at = 0
    while (bytes.length - at >= PRELUDE_BYTES) {
      const length = view.getUint32(at)
      if (length < PRELUDE_BYTES + CHECKSUM_BYTES || length > MAX_MESSAGE_BYTES)
        throw new Error('The stream is broken.')
      if (bytes.length - at < length) break
      const begin = at + PRELUDE_BYTES + view.getUint32(at + 4)
      yield decoder.decode(bytes.subarray(begin, at + length - CHECKSUM_BYTES))
      at += length
    }
    rest = bytes.slice(at)
  }
}

export async function base64Of(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}
