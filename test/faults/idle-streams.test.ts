import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { chatEvent } from '../helpers/answers.js'
import { KEY, until, WorkingGateway } from '../helpers/workers.js'

/** Far more of them: `npm run bench:idle`. */
const STREAMS = 600
/** Those of a start, while a process grows by what is of no stream. */
const FIRST = 200
/** Twice the goal, since a process that has only some hundreds has grown by more than they need. */
const MOST_KIB = 128
const PING = ': still there\n\n'

interface SilentUpstream {
  readonly origin: string
  /** Streams that have had their first event. */
  readonly open: readonly ServerResponse[]
}

async function startSilentUpstream(t: Test): Promise<SilentUpstream> {
  const open: ServerResponse[] = []
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chatEvent('first'))
      open.push(response)
    })
  })
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 })
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, open }
}

/** A client that reads what comes. */
class Client {
  readonly socket: Socket
  text = ''
  isClosed = false

  constructor(t: Test, port: number) {
    const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] })
    const head = [
      'POST /v1/chat/completions HTTP/1.1',
      'host: gateway',
      `authorization: Bearer ${KEY}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ]
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('error', () => undefined)
    this.socket.on('data', bytes => {
      this.text += bytes.toString('latin1')
    })
    this.socket.once('close', () => {
      this.isClosed = true
    })
    this.socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
    t.teardown(() => this.socket.destroy())
  }
}

function residentKib(pids: readonly number[]): number {
  const of = (pid: number): number =>
    Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  return pids.reduce((sum, pid) => sum + of(pid), 0)
}

t.test(`F-C5 ${STREAMS} silent streams on two workers stay open, get each ping, and take little memory`, async t => {
  const upstream = await startSilentUpstream(t)
  const gateway = await WorkingGateway.start(
    t,
    `keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams: { up: { kind: openai-compatible, base: "${upstream.origin}", secret: { env: CALLER_KEY } } }
models: { m: up }
store: { type: file, path: ./data }
limits: { connections: 2000, in_flight: 2000, drain: 100ms }
workers: 2
`,
  )
  const clients: Client[] = []
  const open = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) clients.push(new Client(t, gateway.port))
    await until(() => clients.every(({ text }) => text.includes('first')))
  }
  await open(FIRST)
  const pids = (await gateway.workers()).map(({ pid }) => pid)
  t.equal(pids.length, 2)
  const before = residentKib(pids)
  await open(STREAMS - FIRST)
  const each = (residentKib(pids) - before) / (STREAMS - FIRST)
  t.ok(each <= MOST_KIB, `${each.toFixed(0)} KiB each`)
  for (const ping of [1, 2, 3]) {
    for (const response of upstream.open) response.write(PING)
    await until(() => clients.every(({ text }) => text.split(PING).length > ping))
  }
  t.equal(upstream.open.length, STREAMS)
  t.notOk(
    clients.some(({ isClosed }) => isClosed),
    'none was cut',
  )
  for (const { socket } of clients) socket.destroy()
  await until(() => upstream.open.every(({ closed }) => closed))
  await until(async () => (await gateway.workers()).every(({ requests }) => requests === 0))
})
