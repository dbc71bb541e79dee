import { randomUUID } from 'node:crypto'
import { isObject, type Json } from '../../core/json.js'
import { play } from '../../features/console/play.js'
import { callerNamed } from '../callers.js'
import { AdminError, type AdminRoute, clientGone, objectOf, type StreamAnswer, TEXT } from '../route.js'

/** Largest request of the console, bytes; files in it are in Base64. */
const MAX_BYTES = 32 * 1024 * 1024
/** At once, of all pages. */
const MAX_AT_ONCE = 8
const METHODS: readonly unknown[] = ['GET', 'POST', 'DELETE']

let under_way = 0

export const playRequest: AdminRoute = {
  method: 'POST',
  path: '/admin/play',
  summary:
    'Makes a request in the name of a key, under its limits; the answer is what its client would get. json: the body; form: fields { name, value } and files { name, filename, type, data } with Base64.',
  body: objectOf(
    {
      key: TEXT,
      method: { type: 'string', enum: ['GET', 'POST', 'DELETE'] },
      path: TEXT,
      json: { type: 'object' },
      form: { type: 'array', items: { type: 'object' } },
    },
    ['key', 'path'],
  ),
  status: 200,
  answer: TEXT,
  stream: 'application/json',
  maxBytes: MAX_BYTES,
  async handle({ body, client, gone }, host): Promise<StreamAnswer> {
    const { key, method = 'POST', path, json, form } = body
    if (
      typeof key !== 'string' ||
      typeof path !== 'string' ||
      !/^\/[\x21-\x7e]*$/.test(path) ||
      !METHODS.includes(method)
    )
      throw new AdminError(
        400,
        'invalid_request',
        'key is a name, path begins with /, and method is GET, POST or DELETE',
      )
    if (host.plan.admin?.console !== true) throw new AdminError(409, 'conflict', 'the console is off')
    if (under_way >= MAX_AT_ONCE) throw new AdminError(429, 'too_many_requests', `at most ${MAX_AT_ONCE} at once`)
    const caller = await callerNamed(key, host)
    const boundary = `console-${randomUUID()}`
    const bytes = Array.isArray(form)
      ? formOf(form, boundary)
      : Buffer.from(json === undefined ? '' : JSON.stringify(json))
    const type = Array.isArray(form) ? `multipart/form-data; boundary=${boundary}` : 'application/json'
    under_way++
    const ended = (): void => {
      under_way--
    }
    const asked = { caller, method: method as string, path, body: bytes, type, client, gone, ended }
    const answer = await play(host.kernel, asked).catch((error: unknown) => {
      throw gone.aborted ? clientGone() : error
    })
    const headers = shown(answer.headers)
    const { 'content-type': answered = 'application/octet-stream' } = headers
    return { status: answer.status, type: answered, headers, pieces: answer.pieces }
  },
}

/** What a page needs to know: the id of the request, and what the gateway says of it. */
function shown(flat: readonly string[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const [name = '', value = ''] = [flat[at]?.toLowerCase(), flat[at + 1]]
    if (name === 'content-type' || name === 'x-request-id' || name.startsWith('x-gateway-')) headers[name] = value
  }
  return headers
}

function formOf(parts: readonly Json[], boundary: string): Buffer {
  const pieces = parts.flatMap(part => {
    if (!isObject(part) || typeof part.name !== 'string') throw wrongPart()
    const name = quoted(part.name)
    if (typeof part.value === 'string')
      return [Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name=${name}\r\n\r\n${part.value}\r\n`)]
    const { filename, type, data } = part
    if (typeof filename !== 'string' || typeof type !== 'string' || typeof data !== 'string') throw wrongPart()
    if (!/^[\w.+-]+\/[\w.+-]+$/.test(type)) throw wrongPart()
    const head = `--${boundary}\r\ncontent-disposition: form-data; name=${name}; filename=${quoted(filename)}\r\ncontent-type: ${type}\r\n\r\n`
    return [Buffer.from(head), Buffer.from(data, 'base64'), Buffer.from('\r\n')]
  })
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)])
}

function quoted(text: string): string {
  return `"${text.replace(/[\r\n"\\]/g, '_').slice(0, 200)}"`
}

function wrongPart(): AdminError {
  return new AdminError(400, 'invalid_request', 'form: each part has name and value, or name, filename, type and data')
}
