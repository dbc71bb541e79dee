// Measures what metrics of many keys and models need: memory beside the same gateway without metrics, after each key has asked and
// each model has answered, and how long one scrape of all that holds the event loop at a time. Called by metrics.mjs.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../scripts/free-port.mjs'
import { folder, startProbedGateway } from './processes.mjs'

const CONNECTIONS = 32
const SCRAPES = 5
/** Of an answer that has ended, until what it left has been counted, milliseconds. */
const SETTLING_MS = 500
const MIB = 2 ** 20
/** A file of the configuration is at most 1 MiB. */
const KEYS_IN_FILE = 5000

const digest = text => createHash('sha256').update(text).digest('hex')
const keyOf = number => `key ${number} of the bench 0123456789`

export async function measureMemory(upstream, keys, models) {
  const [without, measured] = [
    await gatewayWith(upstream, 'without-many', keys, models, 'off'),
    await gatewayWith(upstream, 'with-many', keys, models, '{ open: true, per_key: true }'),
  ]
  const used = []
  for (const { gateway } of [without, measured]) {
    await askByEachKey(gateway.port, keys, models)
    await new Promise(resolve => setTimeout(resolve, SETTLING_MS))
    used.push(await gateway.ask('heap'))
  }
  const more = name => ((used[1][name] - used[0][name]) / MIB).toFixed(1)
  const size = `${keys.toLocaleString('en')} keys and ${models} models`
  console.log(
    `memory with metrics of ${size}, more than without: ${more('rss')} MiB resident, ${more('heapUsed')} MiB of heap`,
  )
  await measureScrapes(measured, size)
}

async function measureScrapes({ gateway, admin }, size) {
  const [pauses, times] = [[], []]
  let bytes = 0
  for (let scrape = 0; scrape < SCRAPES; scrape++) {
    await gateway.ask('reset')
    const since = performance.now()
    bytes = (await (await fetch(`http://127.0.0.1:${admin}/metrics`)).arrayBuffer()).byteLength
    times.push(performance.now() - since)
    pauses.push((await gateway.ask('pause')).pause)
  }
  const middle = list => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)].toFixed(1)
  const longest = Math.max(...pauses).toFixed(1)
  const text = `${(bytes / MIB).toFixed(1)} MiB in ${middle(times)} ms`
  console.log(
    `a scrape of ${size}: ${text}; longest step of the event loop ${middle(pauses)} ms (median of ${SCRAPES}, at most ${longest})`,
  )
}

async function gatewayWith(upstream, name, keys, models, metrics) {
  const admin = await freePort()
  const file = join(folder, `${name}.yaml`)
  const base = readFileSync(fileURLToPath(new URL('gateway.yaml', import.meta.url)), 'utf8')
  const each = (from, to, line) => Array.from({ length: to - from }, (_, n) => `  ${line(from + n)}\n`).join('')
  const key = n => `k${n}: { secret: { hash: "sha256:${digest(keyOf(n))}" }, models: ["*"] }`
  const parts = []
  for (let from = 0; from < keys; from += KEYS_IN_FILE) {
    parts.push(`${name}-keys-${from}.yaml`)
    writeFileSync(join(folder, parts.at(-1)), `keys:\n${each(from, Math.min(keys, from + KEYS_IN_FILE), key)}`)
  }
  const text = `include: [${parts.join(', ')}]\n${base.replace(/^models:\n.*\n/m, `models:\n${each(0, models, n => `m${n}: bench`)}`)}`
  writeFileSync(file, `${text}admin: { port: ${admin}, secret: { env: BENCH_KEY }, metrics: ${metrics} }\n`)
  return { gateway: await startProbedGateway(upstream.port, file), admin }
}

/** Each key asks once, the models in turn. */
async function askByEachKey(port, keys, models) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let next = 0
  const worker = async () => {
    while (next < keys) {
      const number = next++
      await ask(port, agent, keyOf(number), `m${number % models}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  agent.destroy()
}

function ask(port, agent, key, model) {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello.' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length }
  const options = { port, agent, method: 'POST', path: '/v1/chat/completions', headers }
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', ...options }, answer => {
      answer
        .resume()
        .on('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error(`${answer.statusCode}`))))
    })
      .on('error', reject)
      .end(body)
  })
}
