import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type t from 'tap'
import { CHAT_ANSWER } from './answers.js'

/** A request as it reached the upstream. */
export interface Reached {
  readonly target: string
  /** Lines of the head. */
  readonly fields: readonly string[]
  /** `first-0001`: by which a test tells requests apart; empty if the request has none. */
  readonly mark: string
  readonly body: string
}

/** An upstream that reads nothing but the plainest HTTP/1.1, and keeps every byte that is anything else. */
export interface StrictUpstream {
  readonly origin: string
  readonly reached: readonly Reached[]
  /** What connections brought besides such requests. */
  readonly odd: readonly string[]
  /** Bytes of all requests, and of what is odd. */
  readonly counts: { requests: number; odd: number; received: number }
}

const HEAD = /^(?:GET|POST|DELETE) (\/[!-~]*) HTTP\/1\.1\r\n((?:[a-z0-9-]+: [\t\x20-\x7e\x80-\xff]*\r\n)+)\r\n/
export const MARK = /(?:first|second|hidden|victim)-\d{4}/

/** `mayAnswer`: what the answer to the request of a mark waits for. */
export async function startStrictUpstream(
  test: Pick<typeof t, 'teardown'>,
  mayAnswer: (mark: string) => Promise<void> | undefined = () => undefined,
): Promise<StrictUpstream> {
  const reached: Reached[] = []
  const odd: string[] = []
  const counts = { requests: 0, odd: 0, received: 0 }
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, socket => {
    let text = ''
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', bytes => {
      counts.received += bytes.length
      text += bytes.toString('latin1')
      for (let request = take(text); request !== undefined; request = take(text)) {
        counts.requests += request.size
        text = text.slice(request.size)
        reached.push(request)
        const answer = (): unknown => socket.write(answerTo(request))
        const waits = mayAnswer(request.mark)
        if (waits === undefined) answer()
        else void waits.then(answer)
      }
    })
    socket.on('close', () => {
      sockets.delete(socket)
      if (text !== '') odd.push(text)
      counts.odd += text.length
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, reached, odd, counts }
}

/** The whole request that the text begins with. */
function take(text: string): (Reached & { readonly size: number }) | undefined {
  const head = HEAD.exec(text)
  if (head === null) return undefined
  const [{ length }, target = '', lines = ''] = head
  const fields = lines.trimEnd().split('\r\n')
  const framing = fields.filter(line => /^(content-length|transfer-encoding):/.test(line))
  if (framing.length > 1) return undefined
  const [line = 'content-length: 0'] = framing
  const taken =
    line === 'transfer-encoding: chunked' ? chunksOf(text.slice(length)) : lengthOf(line, text.slice(length))
  if (taken === undefined) return undefined
  const { body, size } = taken
  return { target, fields, body, mark: MARK.exec(body)?.[0] ?? '', size: length + size }
}

interface Taken {
  readonly body: string
  readonly size: number
}

function lengthOf(line: string, rest: string): Taken | undefined {
  const size = Number(/^content-length: (\d+)$/.exec(line)?.[1])
  return size <= rest.length ? { body: rest.slice(0, size), size } : undefined
}

function chunksOf(rest: string): Taken | undefined {
  let body = ''
  for (let at = 0; ; ) {
    const [line = '', digits = ''] = /^([0-9a-f]+)\r\n/.exec(rest.slice(at)) ?? []
    const size = Number.parseInt(digits, 16)
    const end = at + line.length + size
    if (line === '' || rest.slice(end, end + 2) !== '\r\n') return undefined
    if (size === 0) return { body, size: end + 2 }
    body += rest.slice(at + line.length, end)
    at = end + 2
  }
}

function answerTo({ mark }: Reached): string {
  const body = JSON.stringify({ ...CHAT_ANSWER, id: `for-${mark}` })
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}
