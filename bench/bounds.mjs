// Measures what translation holds and how long it keeps the event loop: memory of an open stream per pair of text protocols,
// and the longest pause while a large body of the chat protocol passes to each, and while one of any protocol with 20 MiB of
// base64 in it is relayed: as it is, with the model renamed, and changed by verbs. Memory is what is left after a collection;
// a pause holds all else that the machine does meanwhile.
// usage: node bench/bounds.mjs [--quick]     writes bench/out/bounds.json
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { cores, KEY, startPairUpstream, startProbedGateway, stopAll } from './processes.mjs'
import { PROTOCOLS } from './protocols.mjs'

const quick = process.argv.includes('--quick')
const STREAMS = quick ? 20 : 400
const EVENTS_SEEN = 100
const ROUNDS = quick ? 1 : 5
const LARGE = (quick ? 1 : 19) * 1024 * 1024
const names = Object.keys(PROTOCOLS)
/** Models whose upstream speaks what the client does. */
const RELAYED = ['bench-relay', 'bench-renamed', 'bench-changed', 'bench-made']

const upstream = await startPairUpstream(EVENTS_SEEN)
const gateway = await startProbedGateway(upstream.port)
const memory = await measureMemory()
const pauses = await measurePauses()
const relayed = await measureRelayed()
await stopAll()

mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, quick, memory, pauses, relayed }
writeFileSync(new URL('out/bounds.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)
show('memory: KiB per open stream', 'client \\ upstream', memory, 1)
show(`pause: longest in ms while ${LARGE / 1024 / 1024} MiB pass, median of ${ROUNDS}`, 'body \\ upstream', pauses, 0)
show(`pause: longest in ms while ${quick ? 1 : 20} MiB of base64 are relayed`, 'path \\ model', relayed, 0)

async function measureMemory() {
  const rows = {}
  for (const client of names) {
    rows[client] = {}
    for (const target of names) rows[client][target] = await memoryOf(client, target)
  }
  return rows
}

/** KiB that one stream holds after EVENTS_SEEN events, on the heap and outside. */
async function memoryOf(client, target) {
  const before = await settled()
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => openStream(client, target)))
  const after = held(await gateway.ask('heap'))
  await Promise.all(
    streams.map(socket => {
      socket.destroy()
      return once(socket, 'close')
    }),
  )
  return (after - before) / STREAMS / 1024
}

function held({ heapUsed, external }) {
  return heapUsed + external
}

/** What the gateway holds when nothing of the last streams is left: two looks that agree. */
async function settled() {
  let last = Number.POSITIVE_INFINITY
  for (;;) {
    const now = held(await gateway.ask('heap'))
    if (now > last * 0.999) return now
    last = now
    await setTimeout(200)
  }
}

/** Settles once the socket has been given all events that will come, each as a chunk of its own. */
async function openStream(client, target) {
  const { path, streamPath = path, body } = PROTOCOLS[client]
  const text = JSON.stringify(body(true)).replace('MODEL', target)
  const socket = connect({ host: '127.0.0.1', port: gateway.port })
  await once(socket, 'connect')
  const head = [
    `POST ${streamPath.replace('MODEL', target)} HTTP/1.1`,
    'host: 127.0.0.1',
    `authorization: Bearer ${KEY}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${text}`)
  let pieces = 0
  let isFirst = true
  for await (const bytes of socket.iterator({ destroyOnReturn: false })) {
    if (isFirst && !bytes.toString('latin1').startsWith('HTTP/1.1 200 '))
      throw new Error(`a stream of ${client} on ${target} was answered with ${bytes.toString('latin1')}`)
    isFirst = false
    pieces += bytes.toString('latin1').split(' token"').length - 1
    if (pieces >= EVENTS_SEEN) break
  }
  if (pieces < EVENTS_SEEN) throw new Error(`a stream of ${client} on ${target} ended after ${pieces} events`)
  return socket.on('error', () => undefined).resume()
}

async function measurePauses() {
  const rows = {}
  for (const [kind, messages] of Object.entries(conversations())) {
    rows[kind] = {}
    for (const target of names) rows[kind][target] = await pauseOf(target, messages)
  }
  return rows
}

/** Bodies with an image of 20 MiB in base64, by the path that they go to. */
function pictures(model) {
  const data = 'iVBORw0KGgoA'.repeat(((quick ? 1 : 20) * 1024 * 1024) / 12)
  const url = `data:image/png;base64,${data}`
  const inline = { inlineData: { mimeType: 'image/png', data } }
  const source = { type: 'base64', media_type: 'image/png', data }
  const user = content => [{ role: 'user', content: [content] }]
  return {
    '/v1/chat/completions': { model, messages: user({ type: 'image_url', image_url: { url } }) },
    '/v1/responses': { model, store: false, input: user({ type: 'input_image', image_url: url, detail: 'auto' }) },
    '/v1/messages': { model, max_tokens: 100, messages: user({ type: 'image', source }) },
    [`/v1beta/models/${model}:generateContent`]: { contents: [{ role: 'user', parts: [inline] }] },
    '/v1/embeddings': { model, input: [{ image: data }] },
    '/v1/images/generations': { model, prompt: 'the same in green', image: url },
  }
}

async function measureRelayed() {
  const rows = {}
  for (const model of RELAYED) {
    for (const [path, body] of Object.entries(pictures(model))) {
      const row = path.replace(model, '{model}')
      rows[row] = { ...rows[row], [model]: await pauseBy(path, JSON.stringify(body)) }
    }
  }
  return rows
}

function conversations() {
  const turns = (count, text) =>
    Array.from({ length: count }, (_, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: text }))
  const url = `data:image/png;base64,${'iVBORw0KGgoA'.repeat(LARGE / 12)}`
  return {
    'one image': [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    '201 turns': turns(201, 'word '.repeat(LARGE / 201 / 5)),
    '201 turns, escapes': turns(201, 'w\u00f6rd\n"'.repeat(LARGE / 201 / 9)),
    '2001 turns': turns(2001, 'word '.repeat(LARGE / 2001 / 5)),
    '20001 turns': turns(20_001, 'word '.repeat(LARGE / 20_001 / 5)),
  }
}

/** The longest pause in milliseconds, the median of ROUNDS, after a first one that no one counts. */
function pauseOf(target, messages) {
  return pauseBy(
    '/v1/chat/completions',
    JSON.stringify({ model: `bench-${target}`, max_completion_tokens: 100, messages }),
  )
}

async function pauseBy(path, body) {
  const found = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    await gateway.ask('reset')
    const answer = await fetch(`http://127.0.0.1:${gateway.port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body,
    })
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
    await answer.arrayBuffer()
    const { pause } = await gateway.ask('pause')
    if (round > 0) found.push(pause)
  }
  return found.toSorted((a, b) => a - b)[Math.floor(found.length / 2)]
}

function show(what, corner, rows, digits) {
  console.log(`\n${what}`)
  const columns = Object.keys(Object.values(rows)[0])
  const wide = Math.max(20, ...Object.keys(rows).map(row => row.length + 1))
  console.log(corner.padEnd(wide) + columns.map(name => name.padStart(14)).join(''))
  for (const [row, cells] of Object.entries(rows)) {
    console.log(row.padEnd(wide) + columns.map(name => cells[name].toFixed(digits).padStart(14)).join(''))
  }
}
