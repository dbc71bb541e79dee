import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import OpenAI from 'openai'
import type { Test } from 'tap'
import { type Simulator, type SimulatorOptions, startSimulator } from '../../simulator/src/index.js'

/** A simulator for one test. */
export async function simulator(t: Test, options: SimulatorOptions = {}): Promise<Simulator> {
  const started = await startSimulator(options)
  t.teardown(() => started.close())
  return started
}

/** The official SDK, straight at the simulator. */
export function sdk({ origin }: Simulator, apiKey = 'none needed'): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${origin}/v1`, maxRetries: 0 })
}

export const HELLO = [{ role: 'user' as const, content: 'Hello, simulator.' }]

export const CHAT = '/v1/chat/completions'

export function chatBody(model = 'sim-text', more: object = {}): object {
  return { model, messages: HELLO, ...more }
}

export interface Received {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  readonly text: string
  /** How the connection broke, where it broke before the end of the answer. */
  readonly broken: string | undefined
  readonly informational: readonly number[]
  readonly trailers: Readonly<Record<string, string | undefined>>
}

/** Sends a request and takes all that comes, broken or not, over a connection of its own. */
export function post(
  { port }: Simulator,
  path: string,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const informational: number[] = []
    // Some versions of Node tell of a broken answer on the request, too, and first.
    let fail: (error: NodeJS.ErrnoException) => void = reject
    const sent = open(port, path, headers, 'POST', response => {
      const chunks: Buffer[] = []
      const settle = (broken: string | undefined) => {
        const bytes = Buffer.concat(chunks)
        const { statusCode: status = 0, headers, rawHeaders, trailers } = response
        resolve({ status, headers, rawHeaders, body: bytes, text: String(bytes), broken, informational, trailers })
      }
      fail = error => settle(error.code ?? error.message)
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => settle(undefined))
      response.on('error', error => fail(error))
    })
    sent.on('information', ({ statusCode }) => informational.push(statusCode))
    sent.on('error', error => fail(error))
    sent.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
}

/** A request whose course the test decides itself. */
export function open(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  method: string,
  onResponse: (response: IncomingMessage) => void,
): ClientRequest {
  const all = { 'content-type': 'application/json', ...headers }
  const options = { host: '127.0.0.1', port, path, method, headers: all, agent: false, maxHeaderSize: 131_072 }
  return request(options, onResponse)
}

/** Everything that comes back over a bare connection, until it closes. */
export function exchange({ port }: Simulator, bytes: string): Promise<{ text: string; error: string | undefined }> {
  return new Promise(resolve => {
    let text = ''
    let error: string | undefined
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('latin1')
    socket.on('data', chunk => {
      text += chunk
    })
    socket.on('error', (failure: NodeJS.ErrnoException) => {
      error = failure.code
    })
    socket.on('close', () => resolve({ text, error }))
  })
}

/** The `data` of the events of a stream, framed in the usual way. */
export function dataOf(text: string): readonly string[] {
  return text.split('\n').flatMap(line => (line.startsWith('data: ') ? [line.slice('data: '.length)] : []))
}
