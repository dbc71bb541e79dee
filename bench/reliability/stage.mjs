// What every goal of bench/reliability.mjs is measured with: gateways as processes, an upstream that does what the requested
// model's name says, and clients. The upstream and the clients share a process, so that times on both sides are of one clock.
import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { freePort } from '../../scripts/free-port.mjs'
import { answers, folder, start, stop } from '../processes.mjs'

export const CALLER = 'caller-canary-6c1f0c5b9d2e4a77'
export const UPSTREAM_SECRET = 'upstream-canary-0d9b3a55f1c84e62'
export const root = name => fileURLToPath(new URL(`../../${name}`, import.meta.url))
export const wait = ms => new Promise(resolve => setTimeout(resolve, ms))
const PATHS = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  generate: undefined,
}
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

let files = 0
/** Gateways of this run that have ended though no one ended them. */
export const deaths = []
const ended = new WeakSet()

/** Events with one word each, of a stream that then says nothing more. */
export const STALLED = 120

/** The way of the sections that every file has. `models` and the rest are the goal's. */
export function yaml(upstreams, models, more = '') {
  const lines = Object.entries(upstreams).map(
    ([name, origin]) =>
      `  ${name}: { kind: openai-compatible, base: "${origin}", secret: { env: UPSTREAM_SECRET } ${origin.more ?? ''}}`,
  )
  const keys = more.includes('\nkeys:') ? '' : 'keys: { caller: { secret: { env: CALLER }, models: ["*"] } }\n'
  const store = more.includes('\nstore:') ? '' : 'store: { type: memory }\n'
  return `version: 1\n${store}${keys}upstreams:\n${lines.join('\n')}\nmodels: ${models}\n${more}`
}

/** A gateway of this text; `write` replaces its file. */
export async function gateway(text, { flags = [], env = {}, ready = '/readyz', spec = [] } = {}) {
  const name = `gateway-${++files}`
  const file = join(folder, `${name}.yaml`)
  const write = changed => {
    writeFileSync(`${file}.new`, changed)
    renameSync(`${file}.new`, file)
  }
  write(text)
  const port = await freePort()
  const all = { PATH: process.env.PATH, CALLER, UPSTREAM_SECRET, ...env }
  const args = [...flags, root('bin/gateway.js'), 'serve', file, '--port', port, ...spec]
  const begin = async () => {
    const stdio = flags.length === 0 ? undefined : ['ipc']
    const ready_ = () => answers(`http://127.0.0.1:${port}${ready}`)
    const one = await start(name, port, process.execPath, args, { env: all, stdio, ready: ready_ })
    one.child.once('exit', (code, signal) => {
      if (!ended.has(one.child)) deaths.push(`${name}: ${signal ?? `exit ${code}`}`)
    })
    return one
  }
  const self = { ...(await begin()), file, write, log: () => logOf(name) }
  self.end = (signal = 'SIGTERM') => {
    ended.add(self.child)
    return stop(self, signal)
  }
  self.again = async () => Object.assign(self, await begin())
  self.ask = async question => {
    self.child.send(question)
    return (await once(self.child, 'message'))[0]
  }
  return self
}

/** With what tells of its heap and its event loop: `ask`. */
export const PROBED = ['--expose-gc', '--import', root('bench/probe.mjs')]

function logOf(name) {
  const lines = readFileSync(join(folder, `${name}.log`), 'utf8').split('\n')
  return lines.filter(line => line.startsWith('{')).map(line => JSON.parse(line))
}

/** Settled requests of a gateway, once there are so many. */
export async function settled(of, count) {
  for (let tries = 0; tries < 200; tries++) {
    const lines = of.log().filter(({ msg }) => msg === 'request')
    if (lines.length >= count) return lines
    await wait(25)
  }
  return of.log().filter(({ msg }) => msg === 'request')
}

/**
 * An upstream; by words in the model's name: `hang` (no head), `head` (a head and no more), `stall` (three events, then nothing),
 * `whole-stall` (half of a whole answer), `down` (503), `late-N` (after N ms). Else an answer, or three events, that repeat the
 * request's `user`. `log` has each request; `closed` of it is the moment at which the gateway let go.
 */
export async function upstream() {
  const log = []
  const self = { log, isDown: false }
  const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
    const parts = []
    req.on('data', part => parts.push(part))
    req.on('error', () => undefined)
    const entry = { at: performance.now(), model: undefined, closed: undefined, sent: 0 }
    log.push(entry)
    res.on('close', () => {
      if (!res.writableFinished) entry.closed = performance.now()
    })
    req.on('end', () => respond(self, entry, req, res, Buffer.concat(parts).toString()))
  })
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 })
  await once(server, 'listening')
  self.port = server.address().port
  self.origin = `http://127.0.0.1:${self.port}`
  self.hits = model => log.filter(one => one.model === model).length
  self.close = () => {
    server.close()
    server.closeAllConnections()
  }
  return self
}

async function respond(self, entry, req, res, text) {
  const body = text.startsWith('{') ? JSON.parse(text) : {}
  const model = body.model ?? /models\/([^:]+)/.exec(req.url)?.[1] ?? ''
  entry.model = model
  entry.isHidden = text.includes('hidden')
  entry.user = body.user
  const isStream = body.stream === true || req.url.includes('streamGenerate')
  const late = /late-(\d+)/.exec(model)?.[1]
  if (late !== undefined) await wait(Number(late))
  if (model.includes('hang')) return
  if (self.isDown || model.includes('down')) {
    res.writeHead(503, { 'content-type': 'application/json' }).end('{"error":{"message":"down"}}')
    return
  }
  const type = isStream ? 'text/event-stream' : 'application/json'
  if (!isStream) {
    const whole = JSON.stringify(wholeOf(req.url, body.user ?? 'said'))
    res.writeHead(200, { 'content-type': type, 'content-length': whole.length })
    if (model.includes('stall')) res.write(whole.slice(0, whole.length >> 1))
    else res.end(whole)
    return
  }
  res.writeHead(200, { 'content-type': type })
  res.flushHeaders()
  if (model.includes('head')) return
  if (model.includes('push')) return void push(res)
  const { events, end } = eventsOf(req.url, body.user ?? 'said')
  for (const event of events) {
    res.write(event)
    entry.sent++
  }
  if (model.includes('stall')) {
    for (let i = events.length; i < STALLED; i++) res.write(events.at(-1))
    return
  }
  const more = Number(/for-(\d+)/.exec(model)?.[1] ?? 0)
  for (let i = 0; i < more && !res.destroyed; i++) {
    await wait(100)
    res.write(events.at(-1))
  }
  res.end(end)
}

/** As fast as it is let, 16 MiB of events. */
function push(res) {
  const many = chunkOf({ content: 'x'.repeat(4096) }).repeat(16)
  for (let left = 256; left > 0 && !res.destroyed; left--) {
    if (res.write(many)) continue
    res.once('drain', () => push(res))
    return
  }
}

const chunkOf = (delta, more = {}) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`

function wholeOf(url, said) {
  if (url.includes('/messages'))
    return {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', stop_sequence: null },
      ...{ content: [{ type: 'text', text: said }], usage: { input_tokens: 10, output_tokens: 5 } },
    }
  if (url.includes('/responses'))
    return {
      ...{
        id: 'resp_1',
        object: 'response',
        created_at: 1,
        status: 'completed',
        model: 'm',
        usage: { input_tokens: 10, output_tokens: 5 },
      },
      output: [
        {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: said, annotations: [] }],
        },
      ],
    }
  if (url.includes('enerateContent'))
    return {
      candidates: [{ content: { role: 'model', parts: [{ text: said }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 },
    }
  const choice = { index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' }
  return { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice], usage: USAGE }
}

/** Three events with content, and what ends the stream. */
function eventsOf(url, said) {
  const named = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  if (url.includes('/messages')) {
    const message = {
      ...wholeOf(url, ''),
      content: [],
      stop_reason: null,
      usage: { input_tokens: 10, output_tokens: 1 },
    }
    const delta = named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: said } })
    const begin =
      named('message_start', { message }) +
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
    return {
      events: [begin + delta, delta, delta],
      end:
        named('content_block_stop', { index: 0 }) +
        named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }) +
        named('message_stop', {}),
    }
  }
  if (url.includes('/responses')) {
    const response = { ...wholeOf(url, ''), status: 'in_progress', output: [], usage: null }
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
    const delta = named('response.output_text.delta', {
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: said,
    })
    const begin =
      named('response.created', { response }) + named('response.output_item.added', { output_index: 0, item })
    return { events: [begin + delta, delta, delta], end: named('response.completed', { response: wholeOf(url, said) }) }
  }
  if (url.includes('enerateContent')) {
    const part = `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ text: said }] }, index: 0 }] })}\n\n`
    return { events: [part, part, part], end: `data: ${JSON.stringify(wholeOf(url, said))}\n\n` }
  }
  return {
    events: [chunkOf({ role: 'assistant', content: said }), chunkOf({ content: said }), chunkOf({ content: said })],
    end: `${chunkOf({}, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: USAGE })}data: [DONE]\n\n`,
  }
}

/** A request of a text protocol: its path and its body. */
export function said(protocol, model, { stream = false, ...more } = {}) {
  if (protocol === 'generate') {
    const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    return { path: `/v1beta/models/${model}:${verb}`, body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] } }
  }
  const turn = { role: 'user', content: 'hi' }
  const body = protocol === 'responses' ? { model, input: 'hi' } : { model, max_tokens: 10, messages: [turn] }
  return { path: PATHS[protocol], body: { ...body, ...(stream && { stream }), ...more } }
}

/** Kept connections for requests of one goal. */
export const keeping = () => new Agent({ keepAlive: true, maxSockets: 1024 })

/** One request to its end: `status` 0 where there was none. `send` hears of the request and its answer. */
export function ask(port, { path, body, key = CALLER, method = 'POST', agent, headers = {}, send = () => undefined }) {
  return new Promise(resolve => {
    const since = performance.now()
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const over = (status, text = '', answer = undefined) =>
      resolve({ status, text, ms: performance.now() - since, headers: answer?.headers ?? {} })
    const length = bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': bytes.length }
    const all = { authorization: `Bearer ${key}`, ...length, ...headers }
    const req = request({ host: '127.0.0.1', port, path, method, headers: all, agent: agent ?? false })
    req.on('error', error => over(0, error.message))
    req.on('response', answer => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', part => {
        text += part
        send(req, answer, text)
      })
      answer.on('end', () => over(answer.complete ? answer.statusCode : 0, text, answer))
      answer.on('error', error => over(0, error.message))
    })
    send(req, undefined, '')
    req.end(bytes)
  })
}

export const chat = (port, model, { agent, key, headers, ...more } = {}) =>
  ask(port, { ...said('chat', model, more), agent, key, headers })

/** Runs `work` so many times, some at once; what each came to. */
export async function inTurns(count, atOnce, work) {
  const results = []
  let next = 0
  const one = async () => {
    while (next < count) {
      const at = next++
      results[at] = await work(at)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, one))
  return results
}

/** Asks without an end, so many at once, until `stop` is called: what each request came to. */
export function pressing(atOnce, work) {
  const results = []
  let isOver = false
  const one = async () => {
    while (!isOver) results.push(await work(results.length))
  }
  const all = Promise.all(Array.from({ length: atOnce }, one))
  const over = async () => {
    isOver = true
    await all
    return results
  }
  return { stop: over, results }
}

export const quantile = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/** A listener that accepts nothing, its backlog full: connecting to it hangs. */
export async function blackHole() {
  const worker = new Worker(
    `const server = require('node:net').createServer()
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('node:worker_threads').parentPort.postMessage(server.address().port)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })`,
    { eval: true },
  )
  const [port] = await once(worker, 'message')
  const fill = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  const close = () => {
    for (const socket of fill) socket.destroy()
    return worker.terminate()
  }
  return { origin: `http://127.0.0.1:${port}`, close }
}

/** An origin at which no one listens. */
export const deadOrigin = async () => `http://127.0.0.1:${await freePort()}`
